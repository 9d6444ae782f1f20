"""Markdown tables and the JSON schema of a config, generated from its types."""

from collections.abc import Iterator
from typing import Any

import yaml

from circlet.config import reading, schema
from circlet.config.experiment import Experiment, Schedule
from circlet.config.model import Config, FigureOptions, Milestone
from circlet.study import limits

KINDS = {
    "config": Config,
    "experiment": Experiment,
    "schedule": Schedule,
    "milestone": Milestone,
    "figure": FigureOptions,
}
# Keys of mappings that the table of what they are in has, too.
INNER = ("seeds", "more", "sweep", "sample", "log")


def keys(kind: str) -> str:
    """The keys of a part of a config as a Markdown table."""
    lines = ["| key | default | meaning |", "|---|---|---|"]
    lines += _rows(schema.of(KINDS[kind]))
    return "\n".join(lines)


def _rows(declared: schema.Schema, above: str = "") -> Iterator[str]:
    for name, key in declared["properties"].items():
        default = f"`{_written(key['default'])}`" if "default" in key else ""
        yield f"| `{above}{name}` | {default} | {key['description']} |"
        inner = {**key.get("additionalProperties", {}), **key} if _is_mapping(key) else key
        inner = inner.get("items", inner) if name == "more" else inner
        if name in INNER and isinstance(inner, dict) and "properties" in inner:
            yield from _rows(inner, f"{above}{name}.")


def _is_mapping(key: schema.Schema) -> bool:
    return isinstance(key.get("additionalProperties"), dict)


def _written(value: Any) -> str:
    """A default as YAML has it."""
    return schema.flow(value)


def limit(name: str) -> str:
    """A limit of a whole study."""
    most = reading.MAX_BYTES if name == "bytes" else getattr(limits, f"MAX_{name.upper()}")
    return f"{most:,}".replace(",", " ")


def json_schema() -> str:
    """The schema of a config as YAML, for editors and for catalogs of workflows."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "a circlet study"}
    text = yaml.safe_dump(head | schema.of(Config), sort_keys=False, width=100)
    return f"# Written by docs/render.py from src/circlet/config.\n{text}"
