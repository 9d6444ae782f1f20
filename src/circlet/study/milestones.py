"""Milestones: steps at which a metric of a run first crosses a threshold, as the config says.

They are outcomes of every system that has the metric, of kind ``time``, in the table
``milestones``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from circlet.errors import ConfigError, unknown
from circlet.study.own_collections import RESERVED
from circlet.systems.spec import Outcome, SystemSpec

if TYPE_CHECKING:
    from circlet.study.plan import Study

USUAL: dict[str, dict[str, Any]] = {
    "memorised_step": {
        "metric": "train_accuracy",
        "above": 0.99,
        "label": "step of memorising",
    },
    "generalised_step": {
        "metric": "test_accuracy",
        "above": 0.99,
        "label": "step of generalising",
    },
    "delay": {
        "from": "memorised_step",
        "to": "generalised_step",
        "label": "delay of generalising (steps)",
    },
}


def given(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """All milestones of a study: the usual ones, changed as the config says, and its own."""
    own = config["milestones"]
    found = {name: USUAL.get(name, {}) | (own.get(name) or {}) for name in USUAL | own}
    return {name: what for name, what in found.items() if own.get(name, what) is not None}


def check(study: "Study") -> None:
    """Raise ConfigError if one is neither a threshold nor a delay, or nothing has its metric, or if
    something else has its name.
    """
    own, every = study.config["milestones"], given(study.config)
    metrics = {m for s in study.known.values() for m in s.metrics} if own else set()
    used = [study.known[name] for name in study.systems]
    taken = {one.name: "an outcome of a system" for system in used for one in system.outcomes}
    columns = [*RESERVED, *study.parameters, *(m for system in used for m in system.metrics)]
    taken |= dict.fromkeys(columns, "a column of tables")
    taken |= {f"{name}_after": f"a column of the milestone {name}" for name in every}
    for name, what in every.items():
        where = f"milestones.{name}"
        if name in taken:
            raise ConfigError(
                f"{where}: is also {taken[name]}; choose another name, or remove the milestone "
                f"with `{name}: null`"
            )
        if {"from", "to"} <= what.keys():
            if extra := what.keys() & {"metric", "above", "below"}:
                raise ConfigError(f"{where}: with from and to, remove {min(extra)}")
            for end in ("from", "to"):
                steps = [name for name, one in every.items() if "metric" in one]
                if what[end] not in steps:
                    said = unknown("milestone with a metric", what[end], steps)
                    raise ConfigError(f"{where}.{end}: {said}")
        elif "metric" not in what or ("above" in what) == ("below" in what):
            raise ConfigError(
                f"{where}: must have a metric, and either above or below; or from and to"
            )
        elif name in own and what["metric"] not in metrics:
            raise ConfigError(
                f"{where}.metric: no system has a metric {what['metric']!r} (there are: "
                f"{', '.join(sorted(metrics))})"
            )


def of(config: Mapping[str, Any], system: SystemSpec) -> dict[str, dict[str, Any]]:
    """The milestones that runs of a system can have."""
    every = given(config)
    has = {name for name, what in every.items() if what.get("metric") in system.metrics}
    return {
        name: what
        for name, what in every.items()
        if name in has or {what.get("from"), what.get("to")} <= has
    }


def outcomes(config: Mapping[str, Any], system: SystemSpec) -> tuple[Outcome, ...]:
    """The same as outcomes."""
    return tuple(
        Outcome(
            name, what.get("label") or name.replace("_", " "), "time", "milestones", unit="steps"
        )
        for name, what in of(config, system).items()
    )
