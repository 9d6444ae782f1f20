"""Whether values of parameters fit the schemas that declare them."""

import functools
import json
import sys
from collections.abc import Mapping
from typing import Any

from circlet.config import schema
from circlet.config.experiment import INT32_MAX
from circlet.config.schema import Schema
from circlet.errors import ConfigError


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
    schema.check(values, whole, where)
    for name, value in values.items():
        if not is_finite(value):
            raise ConfigError(f"{where}.{name}: {schema.shown(value)} must be finite")


def _bounded(declared: Schema) -> Schema:
    """Return a parameter's schema, with integers limited to those that fit a table's column."""
    if declared.get("type") == "integer":
        return {"maximum": INT32_MAX} | declared
    return declared | ({"items": _bounded(declared["items"])} if "items" in declared else {})


@functools.cache
def _validator(text: str) -> Any:
    return schema.validator(json.loads(text)).is_valid


def is_finite(value: Any) -> bool:
    """Return whether a value is not inf, NaN or an integer that is too large for a float."""
    return not isinstance(value, int | float) or abs(value) <= sys.float_info.max
