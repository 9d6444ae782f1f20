"""Markdown tables of keys, parameters and modules, and the JSON schema of a config."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from circlet.config import reading, schema
from circlet.config.experiment import Experiment, Schedule
from circlet.config.model import Config, FigureOptions, Milestone
from circlet.lazy_import import load
from circlet.study import declared_systems, limits, points, registry
from circlet.systems.spec import Parameter, SystemSpec

ROOT = Path(__file__).parents[1]

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
        default = f"`{schema.flow(key['default'])}`" if "default" in key else ""
        yield f"| `{above}{name}` | {default} | {key['description']} |"
        if name in INNER:
            inner = key if "properties" in key else key.get("items") or key["additionalProperties"]
            yield from _rows(inner, f"{above}{name}.")


def limit(name: str) -> str:
    """A limit of a whole study."""
    most = reading.MAX_BYTES if name == "bytes" else getattr(limits, f"MAX_{name.upper()}")
    return f"{most:,}".replace(",", " ")


def json_schema() -> str:
    """The schema of a config as YAML, for editors and for catalogs of workflows."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "a circlet study"}
    text = yaml.safe_dump(head | schema.of(Config), sort_keys=False, width=100)
    return f"# Written by docs/render.py from src/circlet/config.\n{text}"


def systems() -> dict[str, SystemSpec]:
    """The systems of circlet, in the order of its collections."""
    return {n: s for c in registry.SHIPPED for n, s in declared_systems.Systems([c]).items()}


def allowed(parameter: Parameter) -> str:
    """The values that a parameter may have."""
    limits = parameter.limits
    if parameter.type == "boolean":
        return "`true`, `false`"
    if "enum" in limits:
        return ", ".join(f"`{word}`" for word in limits["enum"])
    words = {
        "minimum": "at least", "exclusiveMinimum": "above",
        "maximum": "at most", "exclusiveMaximum": "below",
    }  # fmt: skip
    said = [f"{word} {limits[key]}" for key, word in words.items() if key in limits]
    return ", ".join(said) or "any number"


def parameters(system: SystemSpec) -> str:
    """The parameters of a system as a Markdown table, and what must hold of them."""
    lines = ["| parameter | default | allowed | meaning |", "|---" * 4 + "|"]
    for name, one in system.parameters.items():
        text = one.description.replace("+-", "±")
        for word in one.limits.get("enum", ()):
            text = re.sub(rf"\b{word}:", f"`{word}`:", text)
        lines.append(f"| `{name}` | `{points.canonical(one.default)}` | {allowed(one)} | {text} |")
    schedules = {kind: log.schedule for kind, log in system.logs.items()}
    written = (f"`{kind}`: `{schema.flow(schedule)}`" for kind, schedule in schedules.items())
    lines += ["", f"Logs by default: {', '.join(written)}."]
    if rules := ", ".join(f"`{rule.text}`" for rule in system.requires):
        lines += ["", f"Required: {rules}."]
    return "\n".join(lines)


def packages() -> list[str]:
    """The package itself, and all in it but those of collections."""
    folder = ROOT / "src/circlet"
    found = (path.parent.relative_to(folder).as_posix() for path in folder.rglob("__init__.py"))
    return sorted("" if name == "." else name for name in found if "collections/" not in name)


def modules(package: str) -> str:
    """The modules of a package as a Markdown table, each with the start of its docstring."""
    folder = ROOT / "src/circlet" / package
    lines = ["| module | contents |", "|---|---|"]
    for file in sorted(folder.glob("*.py")):
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        said = " ".join(text.split("\n\n")[0].split()).replace("``", "`")
        if said and file.name != "__main__.py":
            lines.append(f"| [{file.name}](../{file.relative_to(ROOT)}) | {said} |")
    return "\n".join(lines)


MAX_COLUMNS = 6  # of a table that a page names


def tables(package: str) -> str:
    """The tables of a collection as a Markdown table: meaning and first columns of each."""
    collection = next(c for c in registry.SHIPPED if c.package == package)
    lines = ["| table | content | first columns |", "|---|---|---|"]
    for name, module in collection.modules("tables").items():
        text = (load(module).__doc__ or "").split("\n\n")[0].partition(": ")[2]
        meaning = " ".join(text.split()).removesuffix(".").replace("``", "`").replace("R^2", "R²")
        file = registry.path_of(module).relative_to(ROOT)
        columns = ", ".join(_first_columns(module))
        lines.append(f"| [`{name}`](../{file}) | {meaning} | {columns} |")
    return "\n".join(lines)


def _first_columns(module: str) -> list[str]:
    """The first columns that a table declares, without seeds, counts and ends of intervals."""
    every = [field.name for field in load(module).COLUMNS]
    derived = {f"{name}_{end}" for name in every for end in ("low", "high", "n")}
    derived |= {"low", "high"} if "estimate" in every else set()
    names = [n for n in every if n not in derived | {"n_runs", "n_planned"} and "seed" not in n]
    more = hasattr(load(module), "columns") or len(names) > MAX_COLUMNS
    return [f"`{name}`" for name in names[:MAX_COLUMNS]] + ["…"] * more
