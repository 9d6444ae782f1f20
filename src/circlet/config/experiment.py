"""The keys of an experiment: their types, defaults, bounds and descriptions.

The JSON schema of `circlet.config.schema` and the tables of config/README.md are generated from
these, as from the other keys of a config (`circlet.config.model`).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

INT32_MAX = 2**31 - 1  # of integers in columns, and of the values of a column of lists

# $ alone would allow a line break at the end.
Name = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$(?!\n)", max_length=100)]
Count = Annotated[int, Meta(ge=1, le=INT32_MAX)]
Index = Annotated[int, Meta(ge=0, le=INT32_MAX)]
Arguments = dict[str, Any]
"""Values of parameters by name; the parameters' own schemas, which systems declare, check them."""

UNIQUE = Meta(extra_json_schema={"uniqueItems": True})


class Keys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Keys of a mapping in a config."""


class Schedule(Keys, frozen=True, kw_only=True):
    """A set of at most a million steps."""

    every: Annotated[Count | UnsetType, Meta(description="Every multiple of this number.")] = UNSET
    every_epochs: Annotated[
        Count | UnsetType,
        Meta(description="The end of every n-th epoch, for a system with batches."),
    ] = UNSET
    until: Annotated[
        Index | UnsetType,
        Meta(description="The last step of `every`; the other keys are not limited."),
    ] = UNSET
    per_decade: Annotated[
        Annotated[int, Meta(ge=1, le=1000)] | UnsetType,
        Meta(
            description="This many steps per factor of ten, evenly spaced on a logarithmic scale; "
            "at most 1000 (use `every` for more)."
        ),
    ] = UNSET
    at: Annotated[
        Annotated[tuple[Index, ...], Meta(max_length=10_000)] | UnsetType,
        Meta(description="These steps, at most 10 000."),
    ] = UNSET


LogSchedule = Annotated[
    Schedule | None,
    Meta(examples=[{"every": 10}], extra_json_schema={"dependentRequired": {"until": ["every"]}}),
]


class Logs(Keys, frozen=True, kw_only=True):
    """Schedules by kind of log; what is not given has the default of its system."""

    curves: Annotated[
        LogSchedule | UnsetType,
        Meta(description="Losses and accuracies."),
    ] = UNSET
    signals: Annotated[
        LogSchedule | UnsetType, Meta(description="The signal of every frequency.")
    ] = UNSET
    embeddings: Annotated[
        LogSchedule | UnsetType,
        Meta(description="The embedding vectors. The explorer's animation shows these steps."),
    ] = UNSET
    gradients: Annotated[
        LogSchedule | UnsetType,
        Meta(
            description="The norm of the loss gradient with respect to the embedding, by frequency."
        ),
    ] = UNSET
    gradient_norms: Annotated[
        LogSchedule | UnsetType,
        Meta(
            description="The norm of the loss gradient with respect to each part of the network, "
            "on the whole train set."
        ),
    ] = UNSET
    parameters: Annotated[
        LogSchedule | UnsetType,
        Meta(
            description="All weights and biases. Films, `structure_step` and the causes of spikes "
            "of transformers need them often: `{every_epochs: 1}` (0.75 MB per run of 1000 "
            "epochs). In the explorer the regions of a classifier, and all panels of a "
            "transformer, have one frame per logged step of them."
        ),
    ] = UNSET

    @classmethod
    def of(cls, schedules: Mapping[str, Schedule | None]) -> "Logs":
        """Return the logs that have these schedules by kind."""
        return cls(**schedules)

    @property
    def schedules(self) -> dict[str, Schedule | None]:
        """Schedules by kind of log; null writes no rows."""
        all_kinds = ((kind, getattr(self, kind)) for kind in self.__struct_fields__)
        return {kind: schedule for kind, schedule in all_kinds if schedule is not UNSET}


class MoreSeeds(Keys, frozen=True, kw_only=True):
    """More seeds at some points."""

    where: Annotated[
        Annotated[Arguments, Meta(min_length=1)], Meta(description="Parameters of these points.")
    ]
    count: Annotated[Count, Meta(description="Number of seeds there.")]

    def is_about(self, values: Arguments) -> bool:
        """Whether a point with these values has these seeds."""
        return all(values.get(name) == value for name, value in self.where.items())


SharedSeed = Index | Annotated[list[Index], Meta(min_length=1, max_length=10_000), UNIQUE] | None


class Seeds(Keys, frozen=True, kw_only=True):
    """The seeds of the runs at every point."""

    count: Annotated[
        Count, Meta(description="Number of seeds, a multiple of `block` if that is given.")
    ]
    first: Annotated[
        Index, Meta(description="The first seed, also a multiple of `block` if that is given.")
    ] = 0
    more: Annotated[
        Annotated[list[MoreSeeds], Meta(max_length=10_000)],
        Meta(
            description="More seeds at some points, `[{where: {weight_decay: 1}, count: 200}]`. If "
            "several entries match a point, the largest `count` is used."
        ),
    ] = []
    embedding: Annotated[
        SharedSeed,
        Meta(
            description="One seed of the initial embedding for all runs; a list makes a point for "
            "each; null: each run has its own."
        ),
    ] = None
    network: Annotated[SharedSeed, Meta(description="The same for the initial network.")] = None
    data: Annotated[SharedSeed, Meta(description="The same for the train and test set.")] = None
    order: Annotated[
        SharedSeed,
        Meta(
            description="The same for the order of batches and the dropout masks, for a system "
            "that has batches."
        ),
    ] = None


Numbers = Annotated[list[int | float], Meta(min_length=2, max_length=3)]
Values = Annotated[list[Any], Meta(min_length=1, max_length=10_000)]


class Range(Keys, frozen=True, kw_only=True):
    """Values of a swept parameter that are not listed one by one; one of these keys."""

    linspace: Annotated[
        Numbers | UnsetType,
        Meta(
            description="The first and last value and how many, evenly spaced and rounded to four "
            "digits."
        ),
    ] = UNSET
    logspace: Annotated[
        Numbers | UnsetType,
        Meta(
            description="The same on a logarithmic scale: `weight_decay: {logspace: [0.01, 1, 5]}`."
        ),
    ] = UNSET
    range: Annotated[
        Numbers | UnsetType,
        Meta(
            description="First, end and step (default 1), whole numbers, end excluded: "
            "`p: {range: [5, 60, 6]}`."
        ),
    ] = UNSET
    uniform: Annotated[
        Numbers | UnsetType,
        Meta(
            description="Smallest and largest value, between which `sample` draws; for an integer "
            "parameter both are included."
        ),
    ] = UNSET
    loguniform: Annotated[
        Numbers | UnsetType, Meta(description="The same on a logarithmic scale.")
    ] = UNSET
    choice: Annotated[
        Annotated[list[int | float | str | bool], Meta(min_length=1, max_length=10_000)]
        | UnsetType,
        Meta(description="Values from which `sample` draws."),
    ] = UNSET


Points = Annotated[int, Meta(ge=1, le=20_000)]


class Sample(Keys, frozen=True, kw_only=True):
    """How many points are drawn at random."""

    count: Annotated[Points, Meta(description="Number of points.")]
    seed: Annotated[Index, Meta(description="The seed that draws the points.")] = 0


Intervention = Annotated[
    dict[str, Arguments], Meta(min_length=1, max_length=1, examples=[{"freeze": {}}])
]
"""Its name, and its arguments."""


class Experiment(Keys, frozen=True, kw_only=True):
    """A system, its parameters, a sweep, seeds, and what to log."""

    system: Annotated[
        str, Meta(description="What is trained or simulated; a file of `systems/` in a collection.")
    ]
    parameters: Annotated[
        Arguments,
        Meta(description="Parameters shared by all points; see the tables below."),
    ] = {}
    sweep: Annotated[
        dict[
            str,
            Annotated[
                Values | Range, Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})
            ],
        ],
        Meta(
            description="A grid: for each parameter its values, at most 10 000: a list, or one of "
            "the forms below. Every combination is a point."
        ),
    ] = {}
    sample: Annotated[
        Points | Sample | UnsetType,
        Meta(
            description="Random search: the number of points, or `{count: 200, seed: 1}`. A larger "
            "count keeps the points drawn before. Each is combined with every point of the rest of "
            "`sweep`."
        ),
    ] = UNSET
    cases: Annotated[
        Annotated[
            list[Annotated[Arguments, Meta(min_length=1)]], Meta(min_length=1, max_length=10_000)
        ]
        | UnsetType,
        Meta(
            description="Points listed one by one, each a set of parameters: for values that "
            "belong together. Combined with every point of `sweep`."
        ),
    ] = UNSET
    steps: Annotated[
        Count | UnsetType,
        Meta(
            description="Optimiser steps of a training run, or time steps of a simulation. Step 0 "
            "is the initial state."
        ),
    ] = UNSET
    epochs: Annotated[
        Count | UnsetType,
        Meta(
            description="Instead of `steps`, for a system with batches: "
            "number of passes over the train set. Points with different batch sizes then have "
            "different numbers of steps."
        ),
    ] = UNSET
    dtype: Annotated[
        Literal["float32", "float64"],
        Meta(description="Floating-point type. May also be listed in `sweep` or `cases`."),
    ] = "float32"
    products: Annotated[
        Literal["float32", "tf32", "bfloat16"],
        Meta(
            description="Rounding of the factors of all matrix products, forward and backward, "
            "with dtype `float32`: `tf32` (10 bits of mantissa) or `bfloat16` (7); `float32` means "
            "no rounding. Sums, weights, moments and the gradient of the loss with respect to the "
            "logits stay float32, and logs are measured without rounding. Steps take 1.4 to 3 "
            "times as long (docs/speed.md). May also be listed in `sweep` or `cases`."
        ),
    ] = "float32"
    block: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(
            description="Seeds per block, at most a million; see Blocks, below. `null`: circlet "
            "chooses it by the cost of a run."
        ),
    ] = None
    seeds: Annotated[Seeds, Meta(description="The runs at every point.", examples=[{"count": 20}])]
    compare: Annotated[
        Annotated[
            dict[str, Annotated[list[Any], Meta(min_length=2, max_length=2)]], Meta(max_length=20)
        ],
        Meta(
            description="Two values of a swept parameter to compare: "
            "`{learning_rate: [0.01, 0.003]}`; several parameters may be listed. The outcomes of "
            "runs with the same seed are subtracted, separately at each combination of the other "
            "swept parameters. The differences are in the table `comparisons` and the figure "
            "`forest`."
        ),
    ] = {}
    keep_state: Annotated[
        bool,
        Meta(
            description="Whether runs save their final state with that of the optimiser, in "
            "`state.pt` beside their logs. If you then raise `steps`, training continues from "
            "there, with the same numbers as one long run, provided that the steps so far were "
            "logged as the new `log` requires."
        ),
    ] = False
    interventions: Annotated[
        Annotated[list[Intervention], Meta(max_length=10)],
        Meta(
            description="Transforms of the initial state, in the order in which they act; see "
            "below. An argument with a list of values makes a point for each."
        ),
    ] = []
    log: Annotated[
        Logs,
        Meta(
            description="What is logged at which steps. A kind that is left out has its system's "
            "default; null writes none of it. Otherwise the first and the last step are always "
            "written, and for signals also steps 0 to 10."
        ),
    ] = Logs()

    @property
    def grid(self) -> dict[str, list[Any]]:
        """The values of each parameter of the sweep, when no ranges are left in it."""
        return {name: values for name, values in self.sweep.items() if isinstance(values, list)}

    @property
    def listed_cases(self) -> list[Arguments]:
        """Its cases; without any, one that sets nothing."""
        return self.cases or [{}]

    @property
    def swept(self) -> set[str]:
        """Names of the parameters that its sweep or its cases list."""
        return set(self.sweep).union(*self.listed_cases)
