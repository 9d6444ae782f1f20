"""Milestones: steps at which a metric of a run first crosses a threshold, as the config says.

They are outcomes of every system that has the metric, of kind ``time``, in the table
``milestones``.
"""

from msgspec import UNSET, structs

from circlet.config.model import Config, Milestone
from circlet.systems.spec import Outcome, SystemSpec

USUAL = {
    "memorised_step": Milestone(metric="train_accuracy", above=0.99, label="step of memorising"),
    "generalised_step": Milestone(metric="test_accuracy", above=0.99, label="step of generalising"),
    "delay": Milestone(
        start="memorised_step", end="generalised_step", label="delay of generalising (steps)"
    ),
}


def of_config(config: Config) -> dict[str, Milestone]:
    """Return all milestones of a study: the usual ones, changed as the config says, and others."""
    found = dict(USUAL)
    for name, given in config.milestones.items():
        if given is None and name in USUAL:
            del found[name]
        else:
            found[name] = _changed(USUAL.get(name, Milestone()), given or Milestone())
    return found


def _changed(usual: Milestone, given: Milestone) -> Milestone:
    """Return a usual milestone changed as given; a threshold or a delay replaces the usual one."""
    changes = {k: value for k, value in structs.asdict(given).items() if value is not UNSET}
    if changes.keys() & {"start", "end"}:
        usual = Milestone(label=usual.label, start=usual.start, end=usual.end)
    elif changes.keys() & {"metric", "above", "below"}:
        usual = structs.replace(usual, start=UNSET, end=UNSET)
    if changes.keys() & {"above", "below"}:
        usual = structs.replace(usual, above=UNSET, below=UNSET)
    return structs.replace(usual, **changes)


def of_system(config: Config, system: SystemSpec) -> dict[str, Milestone]:
    """Return the milestones that runs of a system can have."""
    milestones = of_config(config)
    crossed = {name for name, one in milestones.items() if one.metric in system.metrics}
    return {
        name: one
        for name, one in milestones.items()
        if name in crossed or {one.start, one.end} <= crossed
    }


def outcomes(config: Config, system: SystemSpec) -> tuple[Outcome, ...]:
    """Return the milestones of a system as outcomes."""
    return tuple(
        Outcome(name, one.label or name.replace("_", " "), "time", "milestones", unit="steps")
        for name, one in of_system(config, system).items()
    )
