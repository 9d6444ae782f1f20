"""Measures: numbers of a run at logged steps, in tables that are made only if listed.

A module in ``tables`` of a collection that declares ``MEASURES`` is a table of measures, a row per
run and logged step. It costs time and needs logs that are not written by default, so it is made
only if ``measures`` in the config lists it. Then the value of each measure at the last step is an
outcome of the table's systems, and trajectories can show the measure at all steps.
"""

from typing import TYPE_CHECKING

from circlet.errors import ConfigError, unknown
from circlet.study.declarations import declared, literals
from circlet.systems.spec import Metric, Outcome

if TYPE_CHECKING:
    from circlet.study.plan import Study


def tables(study: "Study") -> dict[str, str]:
    """Modules of all tables of measures, by name, whether the study asks for them or not."""
    every = {n: m for c in study.collections for n, m in c.modules("tables").items()}
    return {name: module for name, module in every.items() if "MEASURES" in literals(module)}


def of(study: "Study", system: str) -> dict[str, tuple[Metric, str]]:
    """The measures that runs of a system have, by name: what they are, and their table."""
    found: dict[str, tuple[Metric, str]] = {}
    for table in study.config["measures"]:
        says = literals(tables(study)[table])
        if system in says.get("SYSTEMS", (system,)):
            found |= {name: (Metric(*is_), table) for name, is_ in says["MEASURES"].items()}
    return found


def outcomes(study: "Study", system: str) -> tuple[Outcome, ...]:
    """The same as outcomes."""
    return tuple(
        Outcome(name, name.replace("_", " "), "mean", table, unit=metric.unit)
        for name, (metric, table) in of(study, system).items()
    )


def check(study: "Study") -> None:
    """Raise ConfigError if the config asks for a table that does not exist, or a name is taken."""
    known = tables(study) if study.config["measures"] else {}
    for i, name in enumerate(study.config["measures"]):
        if name not in known:
            raise ConfigError(f"measures.{i}: {unknown('table of measures', name, known)}")
        declared("tables", known[name])
    for system in study.systems:
        own = [one.name for one in study.outcomes(system)]
        taken = [*own, *study.known[system].metrics]
        if twice := [name for name in of(study, system) if taken.count(name) > 1]:
            raise ConfigError(f"measures: {twice[0]} is also an outcome of {system}")


def check_logs(study: "Study") -> None:
    """Raise ConfigError if no experiment has the logs of a table that a whole study asks for."""
    for i, name in enumerate(study.config["measures"]):
        says = literals(tables(study)[name])
        logs = set(says.get("LOGS", ())) - {"runs"}
        systems = says.get("SYSTEMS", study.systems)
        points = [point for point in study.points if point.system.name in systems]
        if not any(all(k in p.logs and p.n_logged(k) for k in logs) for p in points):
            raise ConfigError(
                f"measures.{i}: {name} needs an experiment of {' or '.join(systems)} that logs "
                f"{' and '.join(sorted(logs))}"
            )
