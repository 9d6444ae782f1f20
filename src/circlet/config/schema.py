"""The JSON schema of a config, generated from its types, and messages about violations of it.

jsonschema finds all errors of a config, and the most relevant one is shown; msgspec, which decodes
the config, stops at the first error and does not name the experiment.
"""

import functools
import json
import math
import sys
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, TypeVar, cast

import msgspec
import yaml

from circlet.config.experiment import INT32_MAX
from circlet.config.model import FigureOptions
from circlet.errors import ConfigError, did_you_mean
from circlet.lazy_import import load

T = TypeVar("T")
Schema = dict[str, Any]

_SWEPT = "what varies goes under `sweep`"


@functools.cache
def of(kind: Hashable) -> Schema:
    """Return the JSON schema of a config or another file of ours; not to be changed."""
    (reference, _), definitions = msgspec.json.schema_components([kind, FigureOptions])
    return plain(reference, definitions)


def plain(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return a schema without references, with lists of types in place of alternatives."""
    if "$ref" in schema:
        definition = definitions[schema["$ref"].rsplit("/", 1)[-1]]
        schema = definition | {key: value for key, value in schema.items() if key != "$ref"}
    made = {key: value for key, value in schema.items() if key not in ("title", "anyOf")}
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(made.get(key), dict):
            made[key] = plain(made[key], definitions)
    if "properties" in made:
        made["properties"] = {k: plain(v, definitions) for k, v in made["properties"].items()}
    if made.get("type") == "object" and made.get("additionalProperties") is not False:
        # A pattern alone would allow the number 2024 as a key.
        made["propertyNames"] = made.get("propertyNames", {}) | {"type": "string"}
    if made.pop("x-figure", False):
        options = plain(definitions["FigureOptions"], definitions)
        made["properties"] = options["properties"]
        made["additionalProperties"] = {"type": "string"}
    if "anyOf" not in schema:
        return made
    types: list[str] = []
    for alternative in (plain(option, definitions) for option in schema["anyOf"]):
        type_names = alternative.pop("type")
        types += [type_names] if isinstance(type_names, str) else type_names
        made = alternative | made
    types = [name for name in types if name != "integer" or "number" not in types]
    return made | {"type": types if len(types) > 1 else types[0]}


def flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False)
    return text.removesuffix("...\n").strip()


def shown(value: Any) -> str:
    """Return a value for a message, on one line of at most 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def validator(schema: Schema) -> Any:
    """Return a validator for a schema; its library is imported only now, as jobs need none."""
    return load("jsonschema").Draft202012Validator(schema)


def check(instance: Any, schema: Schema, prefix: str = "") -> None:
    """Raise ConfigError with the most relevant violation, as one line that names the key."""
    errors = sorted(
        validator(schema).iter_errors(instance),
        key=lambda error: (-len(error.absolute_path), list(map(str, error.absolute_path))),
    )
    # A misspelt key is also a missing one; the misspelling is what to fix.
    unknown = [error for error in errors if error.validator == "additionalProperties"]
    if errors:
        raise ConfigError(_explain((unknown or errors)[-1], prefix))
    _check_finite(prefix, instance)


def _check_finite(where: str, value: Any) -> None:
    """Raise ConfigError if some number is not finite; schemas of JSON cannot say so."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            _check_finite(f"{where}.{key}" if where else str(key), part)
    elif not is_finite(value):
        raise ConfigError(f"{where}: {shown(value)} must be finite")


def check_list(where: str, schemas: Mapping[str, Schema], name: str, values: list[Any]) -> None:
    """Check that a parameter may have each of these values."""
    is_valid = _validator(json.dumps(_bounded(schemas[name]))) if name in schemas else None
    for value in values:
        if not (is_valid and is_valid(value) and is_finite(value)):
            check_values(where, schemas, {name: value})  # says what is wrong


def check_values(where: str, schemas: Mapping[str, Schema], values: Mapping[str, Any]) -> None:
    """Raise ConfigError unless each of these parameters exists and may have its value."""
    properties = {name: _bounded(declared) for name, declared in schemas.items()}
    whole = {"type": "object", "additionalProperties": False, "properties": properties}
    check(values, whole, where)


def _bounded(declared: Schema) -> Schema:
    """Return a parameter's schema, with integers limited to those that fit a table's column."""
    if declared.get("type") == "integer":
        return {"maximum": INT32_MAX} | declared
    return declared | ({"items": _bounded(declared["items"])} if "items" in declared else {})


@functools.cache
def _validator(text: str) -> Any:
    return validator(json.loads(text)).is_valid


def is_finite(value: Any) -> bool:
    """Return whether a value is not inf, NaN or an integer that is too large for a float."""
    return not isinstance(value, int | float) or abs(value) <= sys.float_info.max


def read(instance: Any, kind: type[T]) -> T:
    """Check the content of a file, and decode it; raises ConfigError."""
    check(instance, of(cast(Hashable, kind)))
    return decoded(instance, kind)


def decoded(instance: Any, kind: type[T]) -> T:
    """Decode checked content; 300.0 is an integer to the schema, and becomes one."""
    return msgspec.convert(instance, kind, strict=False)


def _looks_like_a_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return isinstance(text, str)


def _number(value: Any) -> str:
    """Return a number, or a text that looks like one, as YAML; empty for other values."""
    if _looks_like_a_number(value):
        value = int(float(value)) if float(value).is_integer() else float(value)
    return flow(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _dotted(path: Iterable[Any]) -> str:
    """Return a path of keys and indices in a message: ``experiments.e.steps``."""
    parts = (shown(part) if isinstance(part, str) else str(part) for part in path)
    return ".".join(part.strip("'") for part in parts)


def _explain(error: Any, prefix: str) -> str:
    """Return one line about a schema error: the key, what is wrong, and what would be right."""
    key = ".".join(filter(None, (prefix, _dotted(error.absolute_path))))
    if error.validator == "additionalProperties":
        allowed = error.schema.get("properties", {})
        text = unknown_keys(sorted(map(str, error.instance.keys() - allowed.keys())), allowed)
    elif "propertyNames" in error.absolute_schema_path:
        name = shown(error.instance)
        text = f"{name} is not a valid name (lower-case letters, digits and underscores)"
    elif error.validator == "type":
        text = _wrong_type(error, prefix)
    else:
        text = _broken_limit(error)
    return f"{key}: {text}" if key else text


def unknown_keys(unknown: list[str], allowed: Collection[str]) -> str:
    """Return an error text for unknown keys: the nearest known key, and all known keys."""
    named = ", ".join(map(shown, unknown))
    hint = did_you_mean(unknown[0], allowed)
    return f"unknown key {named} ({hint}known: {', '.join(sorted(allowed))})"


def _wrong_type(error: Any, prefix: str) -> str:
    value, expected = error.instance, error.validator_value
    types = {expected} if isinstance(expected, str) else {*expected} - {"null"}
    text, message = shown(value), _message(error).replace(", 'null'", "")
    if isinstance(value, list) and prefix.endswith(".parameters"):
        return f"{text} is a list: {_SWEPT}"
    if value is None:
        is_mapping = types == {"object"}
        return f"has no value: {'write {} for none' if is_mapping else 'give one, or leave it out'}"
    if types in ({"array"}, {"array", "object"}):
        return f"{text} must be a list" + (f": write [{_number(value)}]" if _number(value) else "")
    if _looks_like_a_number(value):
        return f"{message}: YAML reads it as text, write {_number(value)}"
    if "object" in types:
        such = error.schema.get("examples", [])
        hint = f", such as {flow(such[0])}" if such else ""
        return f"{text} must be a mapping of keys to values{hint}"
    return message


def _broken_limit(error: Any) -> str:
    value = error.instance
    match error.validator:
        case "maxLength" | "maxProperties" | "maxItems":
            unit = "characters" if isinstance(value, str) else "entries"
            return f"has {len(value)} {unit}, at most {error.validator_value} are allowed"
        case "exclusiveMaximum" | "exclusiveMinimum":
            side = "below" if error.validator == "exclusiveMaximum" else "above"
            return f"{shown(value)} must be {side} {error.validator_value}"
        case "required":
            missing = [repr(name) for name in error.validator_value if name not in value]
            return f"needs {' and '.join(missing)}"
        case "dependentRequired":
            return "`until` limits `every`, which is not given"
        case "enum" if isinstance(value, list):
            return f"{shown(value)} is a list: {_SWEPT}"
        case "pattern" if list(error.absolute_path) == ["results"]:
            text = f"{shown(value)} is not a plain path (letters, digits and . _ - /, not - first)"
            is_address = "://" in str(value)
            where = "; an address goes into a profile (docs/cluster.md, without a shared disk)"
            return text + (where if is_address else "")
    return _message(error)


def _message(error: Any) -> str:
    """Return the message of jsonschema, with a long value shortened."""
    return str(error.message).replace(repr(error.instance), shown(error.instance), 1)
