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
    milestones = dict(USUAL)
    for name, configured in config.milestones.items():
        if configured is None and name in USUAL:
            del milestones[name]
        else:
            milestones[name] = _changed(USUAL.get(name, Milestone()), configured or Milestone())
    return milestones


def _changed(usual: Milestone, configured: Milestone) -> Milestone:
    """Return a usual milestone changed as given; a threshold or a delay replaces the usual one."""
    changes = {k: value for k, value in structs.asdict(configured).items() if value is not UNSET}
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
    crossed = {name for name, milestone in milestones.items() if milestone.metric in system.metrics}
    return {
        name: milestone
        for name, milestone in milestones.items()
        if name in crossed or {milestone.start, milestone.end} <= crossed
    }


def outcomes(config: Config, system: SystemSpec) -> tuple[Outcome, ...]:
    """Return the milestones of a system as outcomes."""
    return tuple(
        Outcome(name, milestone.label or name.replace("_", " "), "time", "milestones", unit="steps")
        for name, milestone in of_system(config, system).items()
    )
