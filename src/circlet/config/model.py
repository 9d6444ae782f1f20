"""The keys of a config as a whole: their types, defaults, bounds and descriptions.

A config is decoded once, after it was checked against the schema that follows from these types;
the config of a job is decoded without a check.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from circlet.config.experiment import UNIQUE, Experiment, Keys, Name

Folder = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_./][A-Za-z0-9_./-]*$", max_length=1000)]


class Milestone(Keys, frozen=True, kw_only=True):
    """A step at which something first happens in a run, or the time between two of them."""

    metric: str | UnsetType = UNSET
    """A metric of the log `curves`, such as `test_accuracy`."""
    above: float | UnsetType = UNSET
    """The milestone is the first logged step with a metric above this value."""
    below: float | UnsetType = UNSET
    """The milestone is the first logged step with a metric below this value."""
    start: str | UnsetType = field(default=UNSET, name="from")
    """For a delay, in place of `metric`: the milestone that begins it."""
    end: str | UnsetType = field(default=UNSET, name="to")
    """The milestone that ends the delay."""
    label: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET
    """The name in figures."""


class FigureOptions(Keys, frozen=True, kw_only=True):
    """Options of a figure of an experiment: ``{heat: phase, x: d}``."""

    x: str | UnsetType = UNSET
    """Swept parameter on the x axis (`heat`, `curves`)."""
    y: str | UnsetType = UNSET
    """Swept parameter on the y axis (`heat`)."""
    by: str | UnsetType = UNSET
    """Swept parameter shown by colour (`curves`, `trajectories`)."""
    facet: str | Annotated[list[str], Meta(min_length=1, max_length=2), UNIQUE] | UnsetType = UNSET
    """Swept parameter with one panel per value, or a list of two (`heat`, `curves`,
    `trajectories`)."""
    show: Annotated[list[str], Meta(min_length=1, max_length=12), UNIQUE] | UnsetType = UNSET
    """Outcomes, or metrics for `trajectories`. Default: the first three outcomes and the delay."""
    name: Name | UnsetType = UNSET
    """Name of the file. Default: `experiment_kind`."""


Experiments = Annotated[dict[Name, Experiment], Meta(max_length=1000)]


class Config(Keys, frozen=True, kw_only=True):
    """What to train or simulate, and which experiment reproduces which published result."""

    results: Folder
    """Folder for all output. Each study needs its own, such as `results/mine`."""
    collections: Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=100)] = []
    """Folders of your collections, relative to this file, or names of installed collections. Names
    begin with that of the folder: `mine.sums` is the system `sums` in the folder `mine`."""
    experiments: Annotated[Experiments, Meta(min_length=1)]
    """Experiments by name (lower-case letters, digits, underscores); at most 1000."""
    parents: Experiments = {}
    """Experiments with parents of runs, which this study does not train itself. Copy their logs
    from another study: `cp -a results/a/logs/NAME results/b/logs/`."""
    milestones: Annotated[dict[Name, Milestone | None], Meta(max_length=100)] = {}
    """Steps at which a metric first crosses a threshold, and delays between such steps."""
    derived_metrics: Annotated[list[str], Meta(max_length=100), UNIQUE] = []
    """Tables of further metrics, such as `progress_measures`; their columns become outcomes."""
    checkpoints: Annotated[str, Meta(pattern=r"^[a-z0-9]+://\S+$", max_length=1000)] | None = None
    """An address, such as `s3://bucket/checkpoints`, to which jobs copy their checkpoints and final
    states. Use it if a machine loses its disk when a job is stopped. You can also set it in a
    profile: `config: [checkpoints=s3://bucket/checkpoints]`."""
    figures: (
        Annotated[
            list[
                Annotated[
                    dict[str, str | list[str]],
                    Meta(min_length=1, max_length=10, extra_json_schema={"x-figure": True}),
                ]
            ],
            Meta(max_length=1000),
        ]
        | None
    ) = None
    """Figures of experiments, in the order of the report. `null`: circlet chooses them from the
    sweeps; `[]`: none."""
    reproduce: dict[str, str] = {}
    """The experiment for each role. Without an experiment, a role has no tables and figures. The
    scorecard then shows the verdicts of circlet's stored studies on the role's claims, but does not
    count them."""

    @property
    def located(self) -> Iterator[tuple[str, Experiment]]:
        """All experiments and parents, each after its path in the config."""
        yield from (
            (f"experiments.{name}", experiment) for name, experiment in self.experiments.items()
        )
        yield from ((f"parents.{name}", experiment) for name, experiment in self.parents.items())


def experiment_of(figure: Mapping[str, Any]) -> str:
    """Return the experiment of an entry of `figures`; empty if it names none."""
    options = FigureOptions.__struct_fields__
    return next((str(figure[key]) for key in figure if key not in options), "")
