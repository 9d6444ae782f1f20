"""Targets: the tables, figures and pages of a study, and what each is made from.

`circlet.study.declarations` has what their modules declare.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from circlet.errors import ConfigError
from circlet.study import contributions, cost, fingerprint, plots, registry
from circlet.study.declarations import (
    Figure,
    Inputs,
    PlotKind,
    Table,
    declared,
    in_order,
    literals,
)
from circlet.study.plan import Study
from circlet.study.plots import Plot

FEW_RUNS, LITTLE_MB = 2000, 1200  # up to these limits most tables take seconds
FOR_PAGES = 1000  # priority of what no figure needs: report and explorer would wait for it
# Modules that write the file of a table or figure from what its module returns.
MAKERS = {"tables": "circlet.analysis.make", "figures": "circlet.plotting.make"}


@dataclass(frozen=True)
class Target:
    """A table, a figure or a page of a study."""

    kind: str  # tables, figures or pages
    name: str
    module: str
    study: Study  # the part of the study that it depends on
    tables: tuple["Target", ...]  # the tables that it is made from
    inputs: list[Path]
    outputs: list[Path]

    @cached_property
    def code(self) -> str:
        """Fingerprint of the code that makes it."""
        return code_of(self.kind, self.module, self.study)

    @property
    def footer(self) -> dict[str, Any]:
        """Metadata for the footer of its file: config, code, key and number of missing blocks."""
        experiments, blocks = self.study.config.experiments, self.study.missing.items()
        missing = sum(len(names) for (name, _), names in blocks if name in experiments)
        made = {"study": msgspec.to_builtins(self.study.config), "code": self.code, "key": self.key}
        return made | ({"missing_blocks": missing} if missing else {})

    @cached_property
    def key(self) -> str:
        """Fingerprint of all that it is made from: config, code, and the keys of its tables."""
        missing = sorted((*point, sorted(names)) for point, names in self.study.missing.items())
        made = [self.module, self.study.json, missing, self.code, self.table_keys]
        return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def table_keys(self) -> dict[str, str]:
        """Keys that its tables must have: those given to the job, or else those of the plan."""
        return {t.name: self.study.keys.get(t.name) or t.key for t in self.tables}

    @property
    def is_small(self) -> bool:
        """Whether it is too small for a cluster job: a table of many runs or much memory is not."""
        runs = sum(point.count for point in self.study.points)
        return self.kind != "tables" or (runs <= FEW_RUNS and self.memory_mb <= LITTLE_MB)

    @property
    def memory_mb(self) -> int:
        """Memory (MB) that its job needs: 1000, and a record per run of each log that it reads."""
        logs = literals(self.module).get("LOGS", ())
        return 1000 + math.ceil(
            sum(
                point.count * cost.record_bytes(point, kind)
                for point in (self.study.points if logs else ())
                for kind in set(logs) & set(point.logs)
            )
            / 1e6
        )

    @property
    def job_log(self) -> Path:
        """Text log of the job that makes it."""
        return self.study.results / "job_logs" / self.kind / f"{self.name}.log"


def _roles(inputs: Inputs, study: Study) -> list[str]:
    optional = inputs.optional_roles
    if isinstance(optional, str):
        reproduced, name = study.reproduce, optional
        optional = tuple(r for r in reproduced if name == "all" or name in study.roles[r].tables)
    return [role for role in (*inputs.roles, *optional) if role in study.reproduce]


def _experiments(inputs: Inputs, study: Study) -> list[str]:
    """Return the names of a target's experiments; none if the study lacks a required role."""
    if inputs.roles or inputs.optional_roles:
        roles, needed = _roles(inputs, study), set(inputs.roles)
        has_optional = not inputs.optional_roles or bool(set(roles) - needed)
        complete = needed <= set(roles) and has_optional
        return [study.reproduce[role] for role in roles] if complete else []
    return study.of_systems(inputs.systems or study.systems)


def _possible(inputs: Inputs, study: Study, made: set[str]) -> bool:
    return set(inputs.tables) <= made and bool(_experiments(inputs, study))


def _made(study: Study) -> set[str]:
    listed = study.config.derived_metrics
    modules = registry.modules(study.collections, "tables")
    tables = {name: declared(Table, module) for name, module in modules.items()}
    allowed = {n: t for n, t in tables.items() if n in listed or not t.derived_metrics}
    made = set[str]()
    while new := {n for n, table in allowed.items() if _possible(table, study, made)} - made:
        made |= new
    return made


def code_of(kind: str, module: str, study: Study) -> str:
    """Return the fingerprint of the code and the files that make a target."""
    module_names, files, _ = contributions.of_collections(module, study)
    makers = [MAKERS[kind]] if kind in MAKERS else []
    # Declarations of systems decide the names of runs and the columns of tables.
    systems = registry.modules(study.collections, "systems")
    module_names += [systems[name] for name in study.systems]
    uses = literals(module).get("USES", ())
    if "equations" in uses:
        module_names += [study.specs[name].equations for name in study.systems]
    texts: list[str] = []
    if "captions" in uses:
        texts = [contributions.caption(name, study) for name in sorted(names(study)[1])]
        texts += [contributions.description(study.specs[name]) for name in sorted(study.systems)]
    return fingerprint.digest(module, *makers, *module_names, data=tuple(files), texts=tuple(texts))


def _target(kind: str, name: str, module: str, study: Study, made: dict[str, Target]) -> Target:
    declaration = declared(Table if kind == "tables" else Figure, module)
    keys = {*declaration.config}
    if isinstance(declaration, Table) and declaration.derived_metrics:
        keys.add("derived_metrics")
    part = study.subset(_experiments(declaration, study), _roles(declaration, study), keys)
    in_part = _made(part)  # the tables that its job knows
    tables = tuple(made[table] for table in _reads(declaration, module, part) if table in in_part)
    needed = set(declaration.tables)
    for contributed in contributions.of_collections(module, part).modules:
        needed |= set(contributions.declared_tables(contributed))
    if missing := (needed & made.keys()) - in_part:
        roles = made[min(missing)].study.reproduce
        raise ConfigError(
            f"{name}: is made from the table {min(missing)}, but not from the same experiments; "
            f"give both the same SYSTEMS, or the same roles ({' or '.join(roles) or 'it has none'})"
        )
    logs = [
        block.log(log)
        for block in (part.blocks if declaration.logs else ())
        for log in declaration.logs
        if log in block.point.logs
    ]
    if kind == "tables":
        outputs = [study.table(name)]
    else:
        outputs = [study.folder / "figures" / f"{name}.{end}" for end in ("svg", "png")]
    inputs = logs + [table.outputs[0] for table in tables]
    return Target(kind, name, module, part, tables, inputs, outputs)


def _reads(inputs: Inputs, module: str, study: Study) -> list[str]:
    """Return the names of the tables that a target is made from if the study has them."""
    contributed = contributions.of_collections(module, study).tables
    table_names = [*inputs.tables, *inputs.optional_tables, *contributed]
    return list(dict.fromkeys(table_names))


def names(study: Study) -> tuple[list[str], list[str]]:
    """Return the names of the tables and of the figures that the study yields."""
    made = _made(study)
    figures = registry.modules(study.collections, "figures").items()
    drawn = [n for n, m in figures if _possible(declared(Figure, m), study, made)]
    return sorted(made), [*(plot.name for plot in plots.of(study)), *drawn]


def tables(study: Study) -> list[Target]:
    """Return all tables that the study yields, by name."""
    return [target for _, target in sorted(_tables(study).items())]


@lru_cache(maxsize=8)
def _tables(study: Study) -> dict[str, Target]:
    """Return all tables that the study yields, by name, each after those that it is made from."""
    names, by_name = _made(study), registry.modules(study.collections, "tables")
    reads = {
        name: [
            t for t in _reads(declared(Table, by_name[name]), by_name[name], study) if t in names
        ]
        for name in sorted(names)
    }
    made: dict[str, Target] = {}
    for name in in_order(reads):
        made[name] = _target("tables", name, by_name[name], study, made)
    return made


def figures(study: Study) -> list[Target]:
    """Return all figures of the study: plots of its experiments, then figures of collections."""
    made, by_name = _tables(study), registry.modules(study.collections, "figures")
    drawn = [_plot(plot, study, made) for plot in plots.of(study)]
    return drawn + [
        _target("figures", name, module, study, made)
        for name, module in by_name.items()
        if _possible(declared(Figure, module), study, set(made))
    ]


def _plot(plot: Plot, study: Study, made: dict[str, Target]) -> Target:
    declaration = declared(PlotKind, plot.module)
    part = study.subset([plot.experiment], (), declaration.config)
    part = replace(part, config=structs.replace(part.config, figures=[plot.spec]))
    tables = tuple(made[name] for name in declaration.tables)
    outputs = [study.folder / "figures" / f"{plot.name}.{end}" for end in ("svg", "png")]
    inputs = [table.outputs[0] for table in tables]
    return Target("figures", plot.name, plot.module, part, tables, inputs, outputs)


def ordered(study: Study) -> list[Target]:
    """Return all targets of a study, each after those that it is made from."""
    drawn = figures(study)
    return [*_tables(study).values(), *drawn, report(study, drawn), explorer(study)]


def with_dependencies(target: Target) -> list[Target]:
    """Return a target and all tables that it is made from, directly or not."""
    targets = [target]
    for child in targets:  # grows during the loop
        targets += [table for table in child.tables if table not in targets]
    return targets


def report(study: Study, drawn: Sequence[Target] | None = None) -> Target:
    """Return the report page of the study."""
    drawn = figures(study) if drawn is None else drawn
    return _page("report", study, [figure.outputs[0] for figure in drawn])


def explorer(study: Study) -> Target:
    """Return the explorer page of the study."""
    return _page("explorer", study)


def _page(name: str, study: Study, shown: Sequence[Path] = ()) -> Target:
    """Return the target of a page, made from its tables that the study yields and some figures."""
    module = f"circlet.pages.{name}"
    reads = {
        *literals(module)["OPTIONAL_TABLES"],
        *contributions.of_collections(module, study).tables,
    }
    tables = tuple(table for table in _tables(study).values() if table.name in reads)
    inputs = [table.outputs[0] for table in tables] + [*shown]
    outputs = [study.folder / f"{name}.html"]
    return Target("pages", name, module, study, tables, inputs, outputs)


def trained_for(target: Target) -> set[str]:
    """Return the experiments whose logs a target needs, and their parents."""
    configs = [t.study.config for t in with_dependencies(target) if "LOGS" in literals(t.module)]
    return {name for config in configs for name in (*config.experiments, *config.parents)}


def priorities(study: Study, drawn: Sequence[Target]) -> tuple[dict[str, int], dict[str, int]]:
    """Return priorities that produce figures early; jobs with larger numbers run first.

    A figure and the tables that it needs precede figures that need more training. ``drawn`` are the
    study's figures. The first result has the priority of each experiment by name, the second that
    of each target that a figure needs, by ``kind/name``.
    """
    seconds = {
        name: sum(cost.cpu_seconds(b) for point in study.experiment(name) for b in point.blocks)
        for name in study.config.experiments
    }
    needed = {figure.name: trained_for(figure) & seconds.keys() for figure in drawn}
    takes = {name: sum(seconds[e] for e in names) for name, names in needed.items()}
    experiments: dict[str, int] = {}
    others: dict[str, int] = {}
    for figure in sorted(drawn, key=lambda figure: -takes[figure.name]):
        rank = 1 + sum(longer > takes[figure.name] for longer in takes.values())
        # Later figures, which need less, determine the ranks of what they share.
        experiments |= dict.fromkeys(needed[figure.name], rank)
        others |= {f"{t.kind}/{t.name}": rank for t in with_dependencies(figure)}
    return experiments, others
