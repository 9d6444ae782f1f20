"""Derived metrics: numbers of a run at logged steps, in tables that are made only if listed.

A module in ``tables`` of a collection that declares ``DERIVED_METRICS`` is a table of them, with a
row per run and logged step. It costs time and needs logs that are not written by default, so it is
made only if ``derived_metrics`` in the config lists it. Then the value of each at the last step is
an outcome of the table's systems, and trajectories can show it at all steps.
"""

from collections.abc import Iterable

from circlet.study import registry
from circlet.study.declarations import literals
from circlet.study.registry import Collection
from circlet.systems.spec import Metric, Outcome


def tables(collections: Iterable[Collection]) -> dict[str, str]:
    """Return the modules of all tables of derived metrics of some collections, by name."""
    modules = registry.modules(collections, "tables").items()
    return {name: module for name, module in modules if "DERIVED_METRICS" in literals(module)}


def of_system(
    collections: Iterable[Collection], listed: Iterable[str], system: str
) -> dict[str, tuple[Metric, str]]:
    """Return the derived metrics of runs of a system by name: what they are, and their table.

    ``listed`` are the tables that a config lists.
    """
    metrics: dict[str, tuple[Metric, str]] = {}
    modules = registry.modules(collections, "tables")
    for table in listed:
        declared = literals(modules[table])
        if system in declared.get("SYSTEMS", (system,)):
            meanings = declared["DERIVED_METRICS"].items()
            metrics |= {name: (Metric(*meaning), table) for name, meaning in meanings}
    return metrics


def outcomes(metrics: dict[str, tuple[Metric, str]]) -> tuple[Outcome, ...]:
    """Return derived metrics, as `of_system` returns them, as outcomes."""
    return tuple(
        Outcome(name, name.replace("_", " "), "mean", table, unit=metric.unit)
        for name, (metric, table) in metrics.items()
    )
