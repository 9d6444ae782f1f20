"""Markdown tables of keys, parameters and modules, and the JSON schema of a config."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import yaml
from msgspec import structs

from circlet.config import schema
from circlet.config.collection import Needs
from circlet.config.experiment import Experiment, Keys, Schedule
from circlet.config.model import Config, FigureOptions, Milestone
from circlet.lazy_import import load
from circlet.publish.data import described
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
# Keys with inner keys, which the table of the enclosing mapping lists, too.
INNER = ("seeds", "more", "sweep", "sample", "log")


def described_schema(kind: type[Keys]) -> schema.Schema:
    """Return the JSON schema of some keys, with the texts after them as their descriptions."""
    (reference, _), definitions = msgspec.json.schema_components([kind, FigureOptions])
    kinds = {struct.__name__: struct for struct in Keys.__subclasses__()}
    for name, definition in definitions.items():
        [declared] = ast.parse(inspect.getsource(kinds[name])).body
        texts = [node.value.value for node in declared.body[1:] if isinstance(node, ast.Expr)]
        properties = definition["properties"]
        for field, text in zip(structs.fields(kinds[name]), texts, strict=True):
            key = field.encode_name
            properties[key] = {"description": " ".join(text.split())} | properties[key]
    return schema.plain(reference, definitions)


def keys(kind: str) -> str:
    """Return the keys of a part of a config as a Markdown table."""
    rows = [*_rows(described_schema(KINDS[kind]))]
    columns = [0, 1, 2] if any(default for _, default, _ in rows) else [0, 2]
    head = ("key", "default", "meaning")
    lines = [head, ("---",) * 3, *rows]
    return "\n".join(f"| {' | '.join(line[i] for i in columns)} |" for line in lines)


def _rows(declared: schema.Schema, above: str = "") -> Iterator[tuple[str, str, str]]:
    for name, key in declared["properties"].items():
        default = f"`{schema.flow(key['default'])}`" if "default" in key else ""
        yield f"`{above}{name}`", default, key["description"]
        if name in INNER:
            inner = key if "properties" in key else key.get("items") or key["additionalProperties"]
            yield from _rows(inner, f"{above}{name}.")


def limit(name: str) -> str:
    """Return a limit of a whole study."""
    return f"{getattr(limits, f'MAX_{name.upper()}'):,}".replace(",", " ")


def json_schema() -> str:
    """Return the schema of a config as YAML, for editors and for catalogs of workflows."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "a circlet study"}
    text = yaml.safe_dump(head | described_schema(Config), sort_keys=False, width=100)
    return f"# Written by docs/render.py from src/circlet/config.\n{text}"


def systems() -> dict[str, SystemSpec]:
    """Return the systems of circlet, in the order of its collections."""
    return {n: s for c in registry.SHIPPED for n, s in declared_systems.Systems([c]).items()}


def allowed(parameter: Parameter) -> str:
    """Return the values that a parameter may have, as Markdown."""
    limits = parameter.limits
    if parameter.type == "boolean":
        return "`true`, `false`"
    if "enum" in limits:
        return ", ".join(f"`{word}`" for word in limits["enum"])
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {limits[key]}" for key, sign in signs.items() if key in limits]
    return ", ".join(bounds) or "any number"


def roles() -> str:
    """Return the roles of circlet's collections as Markdown tables: what they need and provide."""
    parts = []
    for collection in registry.SHIPPED:
        by_system: dict[str, dict[str, list[tuple[str, str]]]] = {}
        for name, role in collection.roles.items():
            same = by_system.setdefault(role.needs.system, {}).setdefault(role.description, [])
            same.append((f"`{name}`", _needs(role.needs)))
        for system, by_description in by_system.items():
            lines = [f"{collection.metadata.short}, `{system}`:", ""]
            lines += ["| role | may vary | provides |", "|---" * 3 + "|"]
            for text, same in by_description.items():
                names, needs = ("<br>".join(column) for column in zip(*same, strict=True))
                lines.append(f"| {names} | {needs} | {text} |")
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _needs(needs: Needs) -> str:
    """Return what an experiment with a role may vary, and what else it must have."""
    varies = (
        ", ".join(varied if " " in varied else f"`{varied}`" for varied in needs.varies)
        or "nothing"
    )
    swept = {varied.partition("_")[0] for varied in needs.varies}
    others = [f"`{name}`" for name in needs.interventions if name not in swept]
    others += [f"{key} = {value}" for key, value in needs.holds.items()]
    others += [f"{kind} at every epoch" for kind in needs.every_epoch]
    if needs.every_signal:
        others.append(f"signals at every step to {needs.every_signal}")
    defaults = systems()[needs.system].logs
    others += [f"the log `{kind}`" for kind in needs.logs if defaults[kind].schedule is None]
    return f"{varies}; needs {', '.join(others)}" if others else varies


def parameters(system: SystemSpec) -> str:
    """Return the parameters of a system as a Markdown table, its logs and its requirements."""
    lines = ["| parameter | default | allowed | meaning |", "|---" * 4 + "|"]
    for name, spec in system.parameters.items():
        text = spec.description.replace("+-", "±")
        for word in spec.limits.get("enum", ()):
            text = re.sub(rf"\b{word}:", f"`{word}`:", text)
        lines.append(
            f"| `{name}` | `{points.canonical(spec.default)}` | {allowed(spec)} | {text} |"
        )
    schedules = {kind: log.schedule for kind, log in system.logs.items()}
    written = (f"`{kind}`: `{schema.flow(schedule)}`" for kind, schedule in schedules.items())
    lines += ["", f"Logs by default: {', '.join(written)}."]
    if rules := ", ".join(f"`{rule.text}`" for rule in system.requires):
        lines += ["", f"Required: {rules}."]
    return "\n".join(lines)


def packages() -> list[str]:
    """Return the paths of circlet and its subpackages, without those of collections."""
    folder = ROOT / "src/circlet"
    names = (path.parent.relative_to(folder).as_posix() for path in folder.rglob("__init__.py"))
    return sorted("" if name == "." else name for name in names if "collections/" not in name)


def modules(package: str) -> str:
    """Return the modules of a package as a Markdown table, with the start of each docstring."""
    folder = ROOT / "src/circlet" / package
    lines = ["| module | contents |", "|---|---|"]
    for file in sorted(folder.glob("*.py")):
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        summary = " ".join(text.split("\n\n")[0].split()).replace("``", "`")
        if summary and file.name != "__main__.py":
            lines.append(f"| [{file.name}](../{file.relative_to(ROOT)}) | {summary} |")
    return "\n".join(lines)


def datasets() -> str:
    """Return the frozen studies as a Markdown table: tables, rows and size of each."""
    lines = ["| frozen study | tables | rows | MB |", "|---|---|---|---|"]
    for config in sorted((ROOT / "docs/studies").glob("*/config.yaml")):
        files = [*config.parent.glob("tables/*.parquet")]
        rows = sum(pq.read_metadata(file).num_rows for file in files)
        size = sum(file.stat().st_size for file in files) / 1e6
        lines.append(
            f"| `docs/studies/{config.parent.name}` | {len(files)} | {rows} | {size:.1f} |"
        )
    return "\n".join(lines)


MAX_COLUMNS = 6  # most columns of a table to list


def tables(package: str) -> str:
    """Return the tables of a collection as a Markdown table: meaning and first columns of each."""
    collection = next(c for c in registry.SHIPPED if c.package == package)
    lines = ["| table | content | first columns |", "|---|---|---|"]
    for name, module in collection.modules("tables").items():
        meaning = described(module)
        file = registry.path_of(module).relative_to(ROOT)
        columns = ", ".join(_first_columns(module))
        lines.append(f"| [`{name}`](../{file}) | {meaning} | {columns} |")
    return "\n".join(lines)


def _first_columns(module: str) -> list[str]:
    """Return the first columns that a table declares, without seeds, counts and ends."""
    declared = [field.name for field in load(module).COLUMNS]
    derived = {f"{name}_{end}" for name in declared for end in ("low", "high", "n")}
    derived |= {"low", "high"} if "estimate" in declared else set()
    names = [n for n in declared if n not in derived | {"n_runs", "n_planned"} and "seed" not in n]
    more = hasattr(load(module), "columns") or len(names) > MAX_COLUMNS
    return [f"`{name}`" for name in names[:MAX_COLUMNS]] + ["…"] * more
