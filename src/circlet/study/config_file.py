"""Read and check a study's config: strict YAML, then the JSON schema with its defaults.

A config may be wrong in any way: reading it always ends soon, either successfully or with a
ConfigError of one line.
"""

import copy
import difflib
import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from circlet.errors import ConfigError
from circlet.lazy_import import load

HERE = Path(__file__).parent

MOST_SHOWN = 5  # most unknown keys in a message
MOST_ERRORS = 1000  # of which the most relevant is shown

# The parser in C, where PyYAML has it, is ten times as fast.
_Loader: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class StrictLoader(_Loader):
    """YAML that refuses a key given twice, instead of silently keeping the last."""


def _unique_keys(loader: StrictLoader, node: yaml.MappingNode) -> dict:
    keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
    if twice := [key for key, count in keys.items() if count > 1]:
        line = node.start_mark.line + 1
        raise ConfigError(f"{shown(twice[0])} is given twice in the block at line {line}")
    return loader.construct_mapping(node, deep=True)


StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_keys)


def flow(value: Any) -> str:
    """A value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False)
    return text.removesuffix("...\n").strip()


def shown(value: Any, most: int = 80) -> str:
    """A value in a message: on one line, and not all of a long one."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def read(path: str | Path) -> dict[str, Any]:
    """Read one config file.

    Folders of collections, which it gives relative to itself, become full paths. Raises ConfigError
    if it is missing, is no YAML, repeats a key, or is larger than the schema's ``x-limits``.
    """
    most = limit("bytes")
    try:
        with Path(path).open("rb") as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise ConfigError(
                f"is longer than {most} bytes; a config should not be: check that it is the right "
                "file"
            )
        text = content.decode("utf-8-sig")
        _check_document(text)
        config = yaml.load(text, Loader=StrictLoader)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}") from error
    except RecursionError:
        raise ConfigError("is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: 2024-13-45 is not a date
        text = str(error).replace('in "<unicode string>",', "at")
        raise ConfigError(f"not YAML: {text}") from error
    except (LookupError, AttributeError, TypeError) as error:  # of PyYAML, as for `!!bool 5`
        raise ConfigError("not YAML: a value does not fit its tag (!!bool, !!int)") from error
    if not isinstance(config, dict):
        raise ConfigError("a config must be a mapping of keys to values, see config/README.md")
    folders = config.get("collections")
    if isinstance(folders, list) and all(isinstance(folder, str) for folder in folders):
        here = Path(path).resolve().parent
        config["collections"] = [str(here / folder) for folder in folders]
    return config


def collections(path: str | Path) -> list[str]:
    """The folders of collections that a config file names, without looking at the rest of it."""
    try:
        own = {key: v for key, v in read(path).items() if key == "collections"}
        return check(own, {"properties": {"collections": schema()["properties"]["collections"]}})[
            "collections"
        ]
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _check_document(text: str) -> None:
    """Whether a document is within the limits, with each alias as large as what it stands for.

    Looks at the events of the parser alone: the composer is recursive, and a document of nothing
    but brackets would end the process.
    """
    deepest, most = limit("depth"), limit("nodes")
    known: dict[str | None, tuple[int, int]] = {}  # nodes and height of what has an anchor
    above: list[list] = []  # of each collection that is open: its anchor, nodes before it, height
    nodes = 0
    for event in yaml.parse(text, Loader=_Loader):
        added, height = 1, 0
        if isinstance(event, yaml.AliasEvent):
            if any(event.anchor == anchor for anchor, _, _ in above):
                raise ConfigError(f"{shown(event.anchor)} contains itself")
            added, height = known.get(event.anchor, (1, 0))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before, height = above.pop()
            added = 0
            known[anchor] = (nodes - before, height)
        elif isinstance(event, yaml.CollectionStartEvent):
            above.append([event.anchor, nodes, 0])
        elif isinstance(event, yaml.ScalarEvent):
            line = event.start_mark.line + 1 if event.start_mark else 0
            _check_text(event.value, f"line {line}")
            known[event.anchor] = (1, 0)
        else:
            continue
        nodes += added
        if above and not isinstance(event, yaml.CollectionStartEvent):
            above[-1][2] = max(above[-1][2], height + 1)
        _check_nodes(nodes, most)
        _check_depth(len(above) + height, deepest)


def _check_nodes(found: int, most: int) -> None:
    if found > most:
        raise ConfigError(
            f"has more than {most} keys and values (an alias counts as everything that it expands "
            "to)"
        )


def _check_depth(found: int, most: int) -> None:
    if found > most:
        raise ConfigError(f"is nested more than {most} levels deep")


def _check_text(text: str, where: str) -> None:
    if len(text) > limit("text"):
        raise ConfigError(f"{where}: {shown(text)} is longer than {limit('text')} characters")


def check_content(config: Any) -> None:
    """Whether a config is within the limits, whatever it was read from, and its integers are."""
    deepest, most, nodes = limit("depth"), limit("nodes"), 0
    waiting: list[tuple[Any, tuple]] = [(config, ())]
    while waiting:
        value, path = waiting.pop()
        nodes += 1
        _check_nodes(nodes, most)
        _check_depth(len(path), deepest)
        if isinstance(value, str):
            _check_text(value, _dotted(path))
        if isinstance(value, int) and value.bit_length() > 63:
            raise ConfigError(f"{_dotted(path)}: an integer of more than 64 bits is too large")
        if isinstance(value, dict):
            waiting += ((item, path) for item in value)
            waiting += ((item, (*path, key)) for key, item in value.items())
        elif isinstance(value, list | tuple | set):
            waiting += ((item, (*path, i)) for i, item in enumerate(value))


def _unique_items(validator, wanted, instance, schema):
    """Whether no two items are the same; jsonschema's own takes hours for 20 000 mixed ones."""
    if wanted and isinstance(instance, list) and len({repr(v) for v in instance}) < len(instance):
        yield load("jsonschema").ValidationError(f"{shown(instance)} lists a value twice")


@functools.cache
def _validator() -> Any:
    """The class of validators; jobs import none."""
    library = load("jsonschema")
    checks = {"uniqueItems": _unique_items}
    return library.validators.extend(library.Draft202012Validator, checks)


def validator(schema: dict[str, Any]) -> Any:
    """What tells whether something fits a schema."""
    return _validator()(schema)


@functools.cache
def schema(name: str = "config") -> dict[str, Any]:
    """The JSON schema of a config, or of another file of ours; not to be changed."""
    return yaml.load((HERE / f"{name}.schema.yaml").read_text(encoding="utf-8"), Loader=_Loader)


def logs() -> dict[str, Any]:
    """JSON schemas of the schedules of all logs that a config can name."""
    known = schema()["$defs"]
    return dict.fromkeys(known["experiment"]["properties"]["log"]["properties"], known["schedule"])


def arithmetic() -> dict[str, Any]:
    """JSON schemas of the settings of an experiment that may be swept as parameters are."""
    known = schema()["$defs"]["experiment"]["properties"]
    return {name: known[name] for name in ("dtype", "products")}


def limit(name: str) -> int:
    """One of the limits of a study as a whole, ``x-limits`` of the schema."""
    return schema()["x-limits"][name]["maximum"]


def _looks_like_a_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return isinstance(text, str)


def _number(value: Any) -> str:
    """A number, or a text that should be one, as YAML reads it; empty if it is none."""
    if _looks_like_a_number(value):
        value = int(float(value)) if float(value).is_integer() else float(value)
    return flow(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _dotted(path: Iterable[Any]) -> str:
    """A path of keys and indices in a message: ``experiments.e.steps``."""
    parts = (shown(part) if isinstance(part, str) else str(part) for part in path)
    return ".".join(part.strip("'") for part in parts)


def _explain(error, prefix: str) -> str:
    """One line for one schema error: the key, what is wrong, and what would be right."""
    key = _dotted((prefix, *error.absolute_path) if prefix else error.absolute_path)
    given = shown(error.instance)
    message = error.message.replace(repr(error.instance), given, 1)
    match error.validator:
        case "additionalProperties":
            unknown = sorted(map(str, error.instance.keys() - error.schema["properties"].keys()))
            known = ", ".join(sorted(error.schema["properties"]))
            named = ", ".join(map(shown, unknown[:MOST_SHOWN]))
            more = f" and {len(unknown) - MOST_SHOWN} more" if len(unknown) > MOST_SHOWN else ""
            near = difflib.get_close_matches(unknown[0], error.schema["properties"], 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            text = f"unknown key {named}{more} ({hint}known: {known})"
        case "maxLength" | "maxProperties" | "maxItems":
            unit = "characters" if isinstance(error.instance, str) else "entries"
            text = f"has {len(error.instance)} {unit}, at most {error.validator_value} are allowed"
        case _ if "propertyNames" in error.absolute_schema_path:
            text = f"{given} is not a valid name (lower-case letters, digits and underscores)"
        case "pattern" if key == "results":
            text = f"{given} is not a plain path (letters, digits and . _ - /, not - at the start)"
        case "required":
            lacking = [repr(name) for name in error.validator_value if name not in error.instance]
            text = f"needs {' and '.join(lacking)}"
        case "dependentRequired":
            text = "`until` limits `every`, which is not given"
        case "type" if isinstance(error.instance, list) and prefix.endswith(".parameters"):
            text = f"{given} is a list: what varies goes under `sweep`"
        case "exclusiveMaximum" | "exclusiveMinimum":
            side = "below" if error.validator == "exclusiveMaximum" else "above"
            text = f"{given} must be {side} {error.validator_value}"
        case "minProperties" | "minItems":
            n, least = len(error.instance), error.validator_value
            text = f"has {n} entries, at least {least} are needed" if n else "is empty"
        case "type" if error.validator_value in ("array", ["array", "object"]):
            hint = f": write [{_number(error.instance)}]" if _number(error.instance) else ""
            text = f"{given} must be a list{hint}"
        case "type" if _looks_like_a_number(error.instance):
            text = f"{message}: YAML reads it as text, write {_number(error.instance)}"
        case "type" if error.validator_value == "object" and error.instance is None:
            text = "has no value: write {} for none"
        case "type" if "object" in error.validator_value:
            such = error.schema.get("examples", [])
            hint = f", such as {flow(such[0])}" if such else ""
            text = f"{given} must be a mapping of keys to values{hint}"
        case _:
            text = message
    return f"{key}: {text}" if key else text


def _relevance(error) -> tuple:
    """A key to sort schema errors by: the last is the one to show.

    jsonschema has one of its own, which cannot compare paths whose keys are numbers and texts.
    """
    ranks = {int: 0, bool: 0, str: 1}
    path = [
        (ranks[type(part)], part) if type(part) in ranks else (2, repr(part))
        for part in error.absolute_path
    ]
    return -len(path), path


def check(instance: Any, schema: dict[str, Any], prefix: str = "") -> Any:
    """A copy of an instance with the schema's defaults filled in and integers as such.

    Raises ConfigError with the most relevant violation, as one line that names the key.
    """
    # Enough to find the most relevant one; a list of 100 000 wrong values has as many errors.
    first = itertools.islice(validator(schema).iter_errors(instance), MOST_ERRORS)
    errors = sorted(first, key=_relevance)
    # A misspelt key is also a missing one; the misspelling is what to fix.
    unknown = [error for error in errors if error.validator == "additionalProperties"]
    if errors:
        raise ConfigError(_explain((unknown or errors)[-1], prefix))
    return filled(instance, schema)


def filled(instance: Any, schema: dict[str, Any]) -> Any:
    """A copy of an instance with the schema's defaults filled in and integers as such."""
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
