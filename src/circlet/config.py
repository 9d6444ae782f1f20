"""Read and check a study's config: strict YAML, then the JSON schema with its defaults."""

import copy
import functools
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import relevance

from circlet.errors import ConfigError

SCHEMA = Path(__file__).parents[2] / "workflow" / "schemas" / "config.schema.yaml"


class _StrictLoader(yaml.SafeLoader):
    """YAML that refuses a key given twice, instead of silently keeping the last."""


def _unique_keys(loader: _StrictLoader, node: yaml.MappingNode) -> dict:
    keys = [key.value for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            line = node.start_mark.line + 1
            raise ConfigError(f"{key!r} is given twice in the block at line {line}")
    return loader.construct_mapping(node, deep=True)


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_keys)


def read(path: str | Path) -> dict[str, Any]:
    """Read one config file; raises ConfigError if it is missing, no YAML, or repeats a key."""
    try:
        config = yaml.load(Path(path).read_bytes(), Loader=_StrictLoader)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: 2024-13-45 is no date
        raise ConfigError(f"not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(config, dict):
        raise ConfigError("a config is a mapping of keys, see config/README.md")
    return config


@functools.cache
def schema() -> dict[str, Any]:
    """The JSON schema of a config; not to be changed."""
    return yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))


def _looks_like_a_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return isinstance(text, str)


def _explain(error, prefix: str) -> str:
    """One line for one schema error: the key, what is wrong, and what would be right."""
    key = ".".join([prefix, *map(str, error.absolute_path)]).strip(".")
    match error.validator:
        case "additionalProperties":
            unknown = sorted(map(str, error.instance.keys() - error.schema["properties"].keys()))
            known = ", ".join(sorted(error.schema["properties"]))
            text = f"unknown key {', '.join(map(repr, unknown))} (known: {known})"
        case "pattern" | "type" if key == "experiments" and error.parent is None:
            text = f"{error.instance!r} is no name (lower-case letters, digits and underscores)"
        case "pattern":
            text = f"{error.instance!r} is no plain path (letters, digits and . _ - /)"
        case "dependentRequired":
            text = "`until` limits `every`, which is not given"
        case "type" if isinstance(error.instance, list) and prefix.endswith(".parameters"):
            text = f"{error.instance!r} is a list: what varies goes under `sweep`"
        case "minProperties" | "minItems":
            text = "is empty"
        case "type" if "e" in str(error.instance) and _looks_like_a_number(error.instance):
            text = f"{error.message}: YAML reads it as text, write a dot and a sign, as in 1.0e-4"
        case "type" if error.validator_value == "array":
            text = f"{error.instance!r} is no list: write [{error.instance}]"
        case "type" if error.validator_value == "object" and error.instance is None:
            text = "has no value: write {} for none"
        case "type" if error.validator_value == "object":
            text = f"{error.instance!r} is no mapping of keys to values"
        case _:
            text = error.message
    return f"{key}: {text}" if key else text


def check(instance: Any, schema: dict[str, Any], prefix: str = "") -> Any:
    """A copy of an instance with the schema's defaults filled in and integers as such.

    Raises ConfigError with the most relevant violation, as one line that names the key.
    """
    validator = Draft202012Validator(schema)
    errors = sorted(validator.iter_errors(instance), key=relevance)
    # A misspelt key is also a missing one; the misspelling is what to mend.
    unknown = [error for error in errors if error.validator == "additionalProperties"]
    if errors:
        raise ConfigError(_explain((unknown or errors)[-1], prefix))
    return _fill(copy.deepcopy(instance), schema, schema)


def _fill(instance: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[-1]] | schema
    if isinstance(instance, float) and "integer" in schema.get("type", ()):
        return int(instance)  # 300.0 is an integer to the schema, but not to Python
    if isinstance(instance, list) and "items" in schema:
        return [_fill(item, schema["items"], root) for item in instance]
    if isinstance(instance, dict):
        for key, sub in schema.get("properties", {}).items():
            if "default" in sub:
                instance.setdefault(key, copy.deepcopy(sub["default"]))
            if key in instance:
                instance[key] = _fill(instance[key], sub, root)
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            for key in instance.keys() - schema.get("properties", {}).keys():
                instance[key] = _fill(instance[key], others, root)
    return instance


def validate(config: dict[str, Any]) -> dict[str, Any]:
    """A config with all defaults filled in; raises ConfigError naming the offending key."""
    return check(config, schema())
