"""Roles: which experiment a published table or figure is made from, and what it must be for that.

The roles of a collection are in its ``collection.yaml``.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from circlet.errors import ConfigError, unknown
from circlet.study import config_file, interventions
from circlet.study.validation import varied

if TYPE_CHECKING:
    from circlet.study.plan import Study
    from circlet.study.points import Point


def check(study: "Study") -> None:
    """Whether every experiment of ``reproduce`` can be what its figure or table is made from."""
    known = {"properties": {role: {} for role in study.roles}, "additionalProperties": False}
    config_file.check(study.reproduce, known, "reproduce")
    for role, name in study.reproduce.items():
        where = f"reproduce.{role}"
        if name not in study.config["experiments"]:
            said = unknown("experiment", name, study.config["experiments"])
            raise ConfigError(f"{where}: {said}")
        for wanted, has in _unmet(study, name, study.roles[role]["needs"]):
            raise ConfigError(f"{where}: needs an experiment {wanted}, {name} {has}")


def _value(point: "Point", wanted: Any) -> Any:
    """What a parameter must be: a value, or that of the parameter of this name."""
    return point.parameters.get(wanted, wanted) if isinstance(wanted, str) else wanted


def _unmet(study: "Study", name: str, needs: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a role needs and an experiment has not, as (needed, what it has instead)."""
    settings, point = study.config["experiments"][name], study.experiment(name)[0]
    if settings["system"] != needs["system"]:
        yield f"with {needs['system']}", "is not"
        return
    allowed = set(needs["varies"])
    if others := varied(settings) - allowed:
        only = " and ".join(sorted(allowed)) or "nothing"
        yield f"that varies only {only}", f"varies {', '.join(sorted(others))}"
    acts = {act for act, _ in interventions.list_interventions(settings["interventions"])}
    if acts != set(needs.get("interventions", ())):
        wanted = " and ".join(needs.get("interventions", ())) or "no intervention"
        yield f"with {wanted}", f"has {' and '.join(sorted(acts)) or 'none'}"
    if "argument" in needs and f"keep_{needs['argument']}" not in point.keys:
        yield f"that keeps {needs['argument']} frequencies", "does not"
    start = study.reproduce.get(needs.get("from", ""))  # a part of a study may lack it
    if start and point.parent and point.parent.experiment != start:
        yield f"that starts from {start}", f"starts from {point.parent.experiment}"
    for key, value in needs.get("holds", {}).items():
        if any(p.parameters[key] != _value(p, value) for p in study.experiment(name)):
            yield f"with {key} = {value}", "is not"
    for kind in needs.get("every_epoch", ()):
        for p in study.experiment(name):
            logged = set(p.steps_logged(kind))
            if not all(step in logged for step in range(0, p.steps + 1, p.steps_per_epoch)):
                yield f"that logs {kind} of every epoch", "does not"
                return
    if "every_signal" in needs:
        dense = range(min(needs["every_signal"], point.steps) + 1)
        logged = set(point.steps_logged("signals"))
        if not all(step in logged for step in dense):
            yield f"that logs signals of every step to {dense[-1]}", "does not"
    for kind in needs.get("logs", ()):
        if settings["log"][kind] is None:
            yield f"that logs {kind}", "does not"
