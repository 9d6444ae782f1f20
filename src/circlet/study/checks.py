"""Rules about a study as a whole: each raises ConfigError naming the key."""

import itertools
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from circlet.config import schema
from circlet.config.collection import Needs
from circlet.config.model import Milestone
from circlet.errors import ConfigError, check_exist, unknown
from circlet.study import limits, milestones, plots, registry, swept
from circlet.study.declarations import RESERVED, Table, declared
from circlet.study.interventions import list_interventions
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.validation import varied


def check(study: Study) -> None:
    """Check all rules that need the points of a study."""
    _ = study.points  # raises an error if two are the same
    _check_derived_metrics(study)
    _check_compared(study)
    _check_more_seeds(study)
    _check_milestones(study)
    limits.check_blocks(study.points)
    if study.config.figures:  # default figures need no check
        plots.of(study)
    _check_roles(study)


def _check_derived_metrics(study: Study) -> None:
    """Check that listed tables have derived metrics with unique names, and that runs log enough."""
    modules = registry.modules(study.collections, "tables").items()
    tables = {name: declared(Table, module) for name, module in modules}
    seen: dict[tuple[str, str], str] = {}
    for i, table in enumerate(study.config.derived_metrics):
        where = f"derived_metrics.{i}"
        available = [name for name, declaration in tables.items() if declaration.derived_metrics]
        check_exist(where, "table of derived metrics", available, [table])
        declaration = tables[table]
        systems, logs = declaration.systems or study.systems, set(declaration.logs) - {"runs"}
        for system, name in itertools.product(systems, declaration.derived_metrics):
            if (other := seen.setdefault((system, name), table)) != table:
                raise ConfigError(f"derived_metrics: {table} and {other} both have {name!r}")
        points = [point for point in study.points if point.system.name in systems]
        if not any(all(k in p.logs and p.n_logged(k) for k in logs) for p in points):
            raise ConfigError(
                f"{where}: {table} needs an experiment of {' or '.join(systems)} that logs "
                f"{' and '.join(sorted(logs))}"
            )
    for system in study.systems:
        outcomes = [outcome.name for outcome in study.outcomes(system)]
        taken = [*outcomes, *study.specs[system].metrics]
        if twice := [name for name in study.derived_metrics(system) if taken.count(name) > 1]:
            raise ConfigError(f"derived_metrics: {twice[0]} is also an outcome of {system}")


def _check_compared(study: Study) -> None:
    """Check that some points differ only in the parameter that `compare` names."""
    for name, experiment in study.config.experiments.items():
        points = study.experiment(name)
        for parameter, ends in experiment.compare.items():
            if any(swept.pairs(points, parameter, ends)):
                continue
            where = f"experiments.{name}.compare.{parameter}"
            for end in ends:
                _check_value(where, points, parameter, end)
            first, *_ = (p for p in points if swept.value(p, parameter) == ends[0])
            differing = min(
                (
                    [entry.name for entry in swept.swept([first, p]) if entry.name != parameter]
                    for p in points
                    if swept.value(p, parameter) == ends[1]
                ),
                key=len,
            )
            others = plots.listed(differing)
            raise ConfigError(
                f"{where}: no two points differ in {parameter} alone; those with "
                f"{' and '.join(map(swept.text, ends))} also differ in {others}: add cases with "
                f"the same {others}, or remove this entry"
            )


def _check_more_seeds(study: Study) -> None:
    for name, experiment in study.config.experiments.items():
        values = [point.values for point in study.experiment(name)]
        for i, more in enumerate(experiment.seeds.more):
            if not any(map(more.applies_to, values)):
                where = f"experiments.{name}.seeds.more.{i}.where"
                for key, value in more.where.items():
                    _check_value(f"{where}.{key}", study.experiment(name), key, value)
                raise ConfigError(f"{where}: no point has all of these values")


def _check_value(where: str, points: list[Point], name: str, value: Any) -> None:
    if all(point.values.get(name) != value for point in points):
        there = schema.shown([*dict.fromkeys(swept.value(point, name) for point in points)])
        raise ConfigError(f"{where}: no point has {value!r} (there are: {there[1:-1]})")


def _check_milestones(study: Study) -> None:
    """Check that milestones are thresholds or delays, with existing metrics and free names."""
    configured, milestone_of = study.config.milestones, milestones.of_config(study.config)
    metrics = {m for s in study.specs.values() for m in s.metrics} if configured else set()
    used = [study.specs[name] for name in study.systems]
    taken = {
        outcome.name: "an outcome of a system" for system in used for outcome in system.outcomes
    }
    columns = [*RESERVED, *study.parameters, *(m for system in used for m in system.metrics)]
    taken |= dict.fromkeys(columns, "a column of tables")
    taken |= {f"{name}_after": f"a column of the milestone {name}" for name in milestone_of}
    for name, milestone in milestone_of.items():
        where = f"milestones.{name}"
        if name in taken:
            raise ConfigError(
                f"{where}: is also {taken[name]}; choose another name, or remove the milestone "
                f"with `{name}: null`"
            )
        if name in configured and configured[name] is None:
            raise ConfigError(f"{where}: {unknown('milestone to remove', name, milestones.USUAL)}")
        if milestone.start and milestone.end and milestone.start != milestone.end:
            _check_delay(where, milestone, milestone_of, is_usual=name not in configured)
        elif (
            not milestone.metric
            or (milestone.above is UNSET) == (milestone.below is UNSET)
            or milestone.start
            or milestone.end
        ):
            raise ConfigError(
                f"{where}: must have a metric, and either above or below; or from and to"
            )
        elif name in configured and milestone.metric not in metrics:
            raise ConfigError(
                f"{where}.metric: no system has a metric {milestone.metric!r} (there are: "
                f"{', '.join(sorted(metrics))})"
            )


def _check_delay(
    where: str, delay: Milestone, milestone_of: dict[str, Milestone], is_usual: bool
) -> None:
    for key in ("above", "below", "metric"):
        if getattr(delay, key) is not UNSET:
            raise ConfigError(f"{where}: with from and to, remove {key}")
    steps = [name for name, milestone in milestone_of.items() if milestone.metric]
    for key, name in (("from", delay.start), ("to", delay.end)):
        if name not in steps:
            message = unknown("milestone with a metric", str(name), steps)
            remedy = f"; remove this usual one, too, with `{where.rpartition('.')[2]}: null`"
            raise ConfigError(f"{where}.{key}: {message}{remedy if is_usual else ''}")


def _check_roles(study: Study) -> None:
    for role, name in study.config.reproduce.items():
        where = f"reproduce.{role}"
        if role not in study.roles:
            raise ConfigError(f"reproduce: {schema.unknown_keys([role], study.roles)}")
        check_exist(where, "experiment", study.config.experiments, [name])
        for needed, instead in _unmet(study, name, study.roles[role].needs):
            raise ConfigError(f"{where}: needs an experiment {needed}, {name} {instead}")


def _unmet(study: Study, name: str, needs: Needs) -> Iterator[tuple[str, str]]:
    """Yield requirements of a role that an experiment fails: (required, what it has instead)."""
    experiment, points = study.config.experiments[name], study.experiment(name)
    if experiment.system != needs.system:
        yield f"with {needs.system}", "is not"
        return
    if others := varied(experiment) - set(needs.varies):
        only = " and ".join(sorted(needs.varies)) or "nothing"
        yield f"that varies only {only}", f"varies {', '.join(sorted(others))}"
    names = {name for name, _ in list_interventions(experiment.interventions)}
    if names != set(needs.interventions):
        needed = " and ".join(needs.interventions) or "no intervention"
        yield f"with {needed}", f"has {' and '.join(sorted(names)) or 'none'}"
    if needs.argument and f"keep_{needs.argument}" not in points[0].keys:
        yield f"that keeps {needs.argument} frequencies", "does not"
    for key, value in needs.holds.items():
        if any(point.parameters[key] != _value(point, value) for point in points):
            yield f"with {key} = {value}", "is not"
    for kind in needs.every_epoch:
        if not all(point.logs_every_epoch(kind) for point in points):
            yield f"that logs {kind} of every epoch", "does not"
    if needs.every_signal:
        dense = range(min(needs.every_signal, points[0].steps) + 1)
        if not set(dense) <= set(points[0].steps_logged("signals")):
            yield f"that logs signals of every step to {dense[-1]}", "does not"
    for kind in needs.logs:
        if points[0].schedules[kind] is None:
            yield f"that logs {kind}", "does not"


def _value(point: Point, needed: Any) -> Any:
    """Return a parameter's required value: ``needed``, or the value of the parameter it names."""
    return point.parameters.get(needed, needed) if isinstance(needed, str) else needed
