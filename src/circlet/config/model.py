"""The keys of a config as a whole: their types, defaults, bounds and descriptions.

A config is decoded once, after it was checked against the schema that follows from these types;
what a job gets is decoded without a check.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from circlet.config.experiment import UNIQUE, Experiment, Keys, Name

# $ alone would allow a line break at the end.
Folder = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_./][A-Za-z0-9_./-]*$(?!\n)", max_length=1000)]


class Milestone(Keys, frozen=True, kw_only=True):
    """A step at which something first happens in a run, or the time between two of them."""

    metric: Annotated[
        str | UnsetType, Meta(description="A metric of the log `curves`, such as test_accuracy.")
    ] = UNSET
    above: Annotated[
        float | UnsetType,
        Meta(
            description="The milestone is the first logged step at which the metric is above this."
        ),
    ] = UNSET
    below: Annotated[
        float | UnsetType,
        Meta(
            description="The milestone is the first logged step at which the metric is below this."
        ),
    ] = UNSET
    start: Annotated[
        str | UnsetType,
        Meta(description="In place of a metric: the milestone at which a delay begins."),
    ] = field(default=UNSET, name="from")
    end: Annotated[str | UnsetType, Meta(description="The milestone at which the delay ends.")] = (
        field(default=UNSET, name="to")
    )
    label: Annotated[
        Annotated[str, Meta(max_length=200)] | UnsetType, Meta(description="Its name in figures.")
    ] = UNSET


class FigureOptions(Keys, frozen=True, kw_only=True):
    """What a figure of an experiment shows where, beside its kind: ``{heat: phase, x: d}``."""

    x: Annotated[
        str | UnsetType,
        Meta(description="The swept parameter along the x axis (`heat`, `curves`)."),
    ] = UNSET
    y: Annotated[
        str | UnsetType, Meta(description="The swept parameter along the y axis (`heat`).")
    ] = UNSET
    by: Annotated[
        str | UnsetType,
        Meta(description="The swept parameter shown by colour (`curves`, `trajectories`)."),
    ] = UNSET
    facet: Annotated[
        str | Annotated[list[str], Meta(min_length=1, max_length=2), UNIQUE] | UnsetType,
        Meta(
            description="The swept parameter with a panel for each value, or a list of two "
            "(`heat`, `curves`, `trajectories`). Swept parameters that are not named fill the "
            "remaining places."
        ),
    ] = UNSET
    show: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=12), UNIQUE] | UnsetType,
        Meta(
            description="Outcomes, or for `trajectories` metrics; by default the first three "
            "outcomes and the delay."
        ),
    ] = UNSET
    name: Annotated[
        Name | UnsetType, Meta(description="Name of its file; by default `experiment_kind`.")
    ] = UNSET


Experiments = Annotated[dict[Name, Experiment], Meta(max_length=1000)]


class Config(Keys, frozen=True, kw_only=True):
    """What to train or simulate, and which experiment reproduces which published result."""

    results: Annotated[
        Folder,
        Meta(
            description="Folder for everything that the study writes. Two studies need two "
            "folders, neither in a folder that the other one makes."
        ),
    ]
    collections: Annotated[
        Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=100)],
        Meta(
            description="Folders of collections of your own, relative to this file: systems, "
            "tables and figures beside those of circlet. The name of a folder is the first part "
            "of all names in it: `mine.quadratic`."
        ),
    ] = []
    experiments: Annotated[
        Annotated[Experiments, Meta(min_length=1)],
        Meta(
            description="The experiments by name (lower-case letters, digits, underscores); at "
            "most 1000, as each is a rule of the workflow."
        ),
    ]
    parents: Annotated[
        Experiments,
        Meta(
            description="Experiments that others start from (`of`, below) but that this study does "
            "not run. Same form as `experiments`. Their logs must be in `results`: copy them from "
            "the study that runs them, `cp -a results/a/logs/NAME results/b/logs/`. It is simpler "
            "to list them under `experiments`: in a study that has run them they do not run again."
        ),
    ] = {}
    milestones: Annotated[
        Annotated[dict[Name, Milestone | None], Meta(max_length=100)],
        Meta(description="Steps at which something first happens in a run, see below."),
    ] = {}
    derived_metrics: Annotated[
        Annotated[list[str], Meta(max_length=100), UNIQUE],
        Meta(
            description="Tables of derived metrics, such as `progress_measures`, which are made "
            "only if they are listed here, see below."
        ),
    ] = []
    notify: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(description="A command that runs when the study has ended, see below."),
    ] = None
    figures: Annotated[
        Annotated[
            list[
                Annotated[
                    dict[str, str | list[str]],
                    Meta(
                        min_length=1,
                        max_length=10,
                        extra_json_schema={"x-figure": True},
                    ),
                ]
            ],
            Meta(max_length=1000),
        ]
        | None,
        Meta(
            description="Figures of experiments, in the order of the report, see below. `null`: "
            "they follow from the sweep of each experiment; `[]`: none."
        ),
    ] = None
    reproduce: Annotated[
        dict[str, str],
        Meta(
            description="The experiment that each published table or figure is made from. A table "
            "or figure that is not listed is not made, and its claims are not run: the scorecard "
            "lists the verdicts of frozen studies for them, uncounted."
        ),
    ] = {}

    @property
    def located(self) -> Iterator[tuple[str, Experiment]]:
        """All experiments and parents, each with where it is in the config."""
        yield from ((f"experiments.{name}", one) for name, one in self.experiments.items())
        yield from ((f"parents.{name}", one) for name, one in self.parents.items())


def experiment_of(figure: Mapping[str, Any]) -> str:
    """The experiment of an entry of `figures`; empty if it names none."""
    options = FigureOptions.__struct_fields__
    return next((str(figure[key]) for key in figure if key not in options), "")
