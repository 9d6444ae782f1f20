"""The keys of an experiment: their types, defaults, bounds and descriptions.

The JSON schema of `circlet.config.schema` and the tables of config/README.md are generated from
these, as from the other keys of a config (`circlet.config.model`).
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

INT32_MAX = 2**31 - 1  # largest integer in a column, and most values in a column of lists

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
    """Steps at which a log is written, at most a million."""

    every: Annotated[Count | UnsetType, Meta(description="All multiples of this number.")] = UNSET
    every_epochs: Annotated[
        Count | UnsetType,
        Meta(description="The last step of every n-th epoch (systems with batches)."),
    ] = UNSET
    until: Annotated[
        Index | UnsetType,
        Meta(description="The step at which `every` ends."),
    ] = UNSET
    per_decade: Annotated[
        Annotated[int, Meta(ge=1, le=1000)] | UnsetType,
        Meta(
            description="Steps per factor of ten, evenly spaced on a logarithmic scale; at most "
            "1000."
        ),
    ] = UNSET
    at: Annotated[
        Annotated[tuple[Index, ...], Meta(max_length=10_000)] | UnsetType,
        Meta(description="A list of steps, at most 10 000."),
    ] = UNSET


LogSchedule = Annotated[
    Schedule | None,
    Meta(examples=[{"every": 10}], extra_json_schema={"dependentRequired": {"until": ["every"]}}),
]


class Logs(Keys, frozen=True, kw_only=True):
    """Schedules by kind of log; other kinds keep their defaults."""

    curves: Annotated[
        LogSchedule | UnsetType,
        Meta(description="Losses and accuracies."),
    ] = UNSET
    signals: Annotated[LogSchedule | UnsetType, Meta(description="Signal of every frequency.")] = (
        UNSET
    )
    embeddings: Annotated[
        LogSchedule | UnsetType,
        Meta(description="Embedding vectors. The explorer animates these steps."),
    ] = UNSET
    gradients: Annotated[
        LogSchedule | UnsetType,
        Meta(description="Norm of the loss gradient with respect to the embedding, by frequency."),
    ] = UNSET
    gradient_norms: Annotated[
        LogSchedule | UnsetType,
        Meta(
            description="Norm of the loss gradient with respect to each part of the network, on "
            "the whole train set."
        ),
    ] = UNSET
    parameters: Annotated[
        LogSchedule | UnsetType,
        Meta(
            description="All weights and biases. The explorer animates classifiers and "
            "transformers at these steps. To find when a clustering head forms and what causes "
            "loss spikes, log every epoch (`{every_epochs: 1}`, 0.75 MB per run of 1000 epochs)."
        ),
    ] = UNSET

    @property
    def schedules(self) -> dict[str, Schedule | None]:
        """Schedules by kind of log; null writes no rows."""
        all_kinds = ((kind, getattr(self, kind)) for kind in self.__struct_fields__)
        return {kind: schedule for kind, schedule in all_kinds if schedule is not UNSET}


class MoreSeeds(Keys, frozen=True, kw_only=True):
    """More seeds at some points."""

    where: Annotated[
        Annotated[Arguments, Meta(min_length=1)],
        Meta(
            description="Values of parameters, or of arguments of interventions: `scale_factor` "
            "is the argument `factor` of `scale`."
        ),
    ]
    count: Annotated[Count, Meta(description="Number of seeds at these points.")]

    def is_about(self, values: Arguments) -> bool:
        """Return whether this entry applies to a point with these values (`Point.values`)."""
        return all(values.get(name) == value for name, value in self.where.items())


SharedSeed = Index | Annotated[list[Index], Meta(min_length=1, max_length=10_000), UNIQUE] | None


class Seeds(Keys, frozen=True, kw_only=True):
    """The seeds of the runs at every point."""

    count: Annotated[
        Count, Meta(description="Number of seeds per point; a multiple of `block`, if set.")
    ]
    first: Annotated[Index, Meta(description="First seed; a multiple of `block`, if set.")] = 0
    more: Annotated[
        Annotated[list[MoreSeeds], Meta(max_length=10_000)],
        Meta(
            description="Larger numbers of seeds at some points: `[{where: {weight_decay: 1}, "
            "count: 200}]`. If several entries match a point, the largest number applies."
        ),
    ] = []
    embedding: Annotated[
        SharedSeed,
        Meta(
            description="One seed for the initial embeddings of all runs. A list makes one point "
            "per seed. `null`: each run uses its own seed."
        ),
    ] = None
    network: Annotated[
        SharedSeed, Meta(description="As `embedding`, for the other initial weights.")
    ] = None
    data: Annotated[
        SharedSeed, Meta(description="As `embedding`, for the train and test sets.")
    ] = None
    order: Annotated[
        SharedSeed,
        Meta(description="As `embedding`, for the order of batches and the dropout masks."),
    ] = None


Numbers = Annotated[list[int | float], Meta(min_length=2, max_length=3)]
Values = Annotated[list[Any], Meta(min_length=1, max_length=10_000)]


class Range(Keys, frozen=True, kw_only=True):
    """Values of a swept parameter, computed or drawn at random; one of these keys."""

    linspace: Annotated[
        Numbers | UnsetType,
        Meta(
            description="`[first, last, number of values]`: evenly spaced, rounded to four digits."
        ),
    ] = UNSET
    logspace: Annotated[
        Numbers | UnsetType,
        Meta(description="As `linspace`, on a logarithmic scale."),
    ] = UNSET
    range: Annotated[
        Numbers | UnsetType,
        Meta(description="`[first, end, step]`: whole numbers below `end`. Default step: 1."),
    ] = UNSET
    uniform: Annotated[
        Numbers | UnsetType,
        Meta(description="`[low, high]`: draws random values between these bounds."),
    ] = UNSET
    loguniform: Annotated[
        Numbers | UnsetType, Meta(description="As `uniform`, on a logarithmic scale.")
    ] = UNSET
    choice: Annotated[
        Annotated[list[int | float | str | bool], Meta(min_length=1, max_length=10_000)]
        | UnsetType,
        Meta(description="A list from which values are drawn at random."),
    ] = UNSET


Points = Annotated[int, Meta(ge=1, le=20_000)]


class Sample(Keys, frozen=True, kw_only=True):
    """Random search over the ranges of a sweep."""

    count: Annotated[Points, Meta(description="Number of random points.")]
    seed: Annotated[Index, Meta(description="Seed of the random draws.")] = 0


Intervention = Annotated[
    dict[str, Arguments], Meta(min_length=1, max_length=1, examples=[{"freeze": {}}])
]
"""Its name, and its arguments."""


class Experiment(Keys, frozen=True, kw_only=True):
    """A system, its parameters, a sweep, seeds and logs."""

    system: Annotated[
        str,
        Meta(
            description="The network or simulation: one of the systems below, or one of your "
            "collection, such as `mine.sums`."
        ),
    ]
    parameters: Annotated[
        Arguments,
        Meta(description="Parameter values of all points; other parameters keep their defaults."),
    ] = {}
    sweep: Annotated[
        dict[
            str,
            Annotated[
                Values | Range, Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})
            ],
        ],
        Meta(
            description="Values of each swept parameter, at most 10 000: a list or one of the "
            "next six forms."
        ),
    ] = {}
    sample: Annotated[
        Points | Sample | UnsetType,
        Meta(
            description="Number of random points, or `{count: 200, seed: 1}`. If you raise the "
            "number, earlier points stay. Each random point is combined with all listed values of "
            "`sweep`."
        ),
    ] = UNSET
    cases: Annotated[
        Annotated[
            list[Annotated[Arguments, Meta(min_length=1)]], Meta(min_length=1, max_length=10_000)
        ]
        | UnsetType,
        Meta(description="Sets of parameter values, each combined with every point of `sweep`."),
    ] = UNSET
    steps: Annotated[
        Count | UnsetType,
        Meta(
            description="Optimiser steps of a training, or time steps of a simulation; step 0 is "
            "the initial state."
        ),
    ] = UNSET
    epochs: Annotated[
        Count | UnsetType,
        Meta(
            description="In place of `steps`, for systems with batches: passes over the train set."
        ),
    ] = UNSET
    dtype: Annotated[
        Literal["float32", "float64"],
        Meta(description="Floating-point type: `float32` or `float64`. `sweep` can list both."),
    ] = "float32"
    products: Annotated[
        Literal["float32", "tf32", "bfloat16"],
        Meta(
            description="Precision of the factors of matrix products, forward and backward: "
            "`float32` (no rounding), `tf32` (10 bits of mantissa) or `bfloat16` (7 bits). Sums, "
            "weights, the gradient with respect to the logits, and logged values stay float32. "
            "circlet rounds the factors and multiplies them in float32; real hardware may add in "
            "another order. `tf32` and `bfloat16` use no kernel, take 1.4 to 3.1 times as long as "
            "PyTorch with float32, and need dtype `float32`. `sweep` can list several."
        ),
    ] = "float32"
    block: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="Seeds per block, at most a million. `null`: circlet chooses."),
    ] = None
    seeds: Annotated[
        Seeds, Meta(description="The seeds of the runs at every point.", examples=[{"count": 20}])
    ]
    compare: Annotated[
        Annotated[
            dict[str, Annotated[list[Any], Meta(min_length=2, max_length=2)]], Meta(max_length=20)
        ],
        Meta(
            description="Two values to compare, for each swept parameter or argument of an "
            "intervention: `{learning_rate: [0.01, 0.003], change_weight_decay: [1, 0.1]}`. The "
            "table `comparisons` and the figure `forest` show the differences between runs with "
            "the same seed, separately for each combination of other swept parameters."
        ),
    ] = {}
    keep_state: Annotated[
        bool,
        Meta(
            description="Whether to save the final state of runs. If you later raise `steps`, "
            "training continues from this state, and the results equal those of one long run. "
            "Training starts anew if the old logs lack a step that the new `log` needs."
        ),
    ] = False
    interventions: Annotated[
        Annotated[list[Intervention], Meta(max_length=10)],
        Meta(
            description="Changes of how runs start or train, applied in this order. If an argument "
            "is a list of values, each value makes a point."
        ),
    ] = []
    log: Annotated[
        Logs,
        Meta(
            description="Schedules by kind of log; other kinds keep their defaults. Each log has "
            "the first and the last step (`signals` also steps 0 to 10). A kind with the schedule "
            "`{}` has only these steps, and a kind with `null` has no log."
        ),
    ] = Logs()

    @property
    def grid(self) -> dict[str, list[Any]]:
        """The values of each parameter of the sweep, when no ranges are left in it."""
        return {name: values for name, values in self.sweep.items() if isinstance(values, list)}

    @property
    def listed_cases(self) -> list[Arguments]:
        """Its cases; if there are none, one empty case."""
        return self.cases or [{}]

    @property
    def swept(self) -> set[str]:
        """Names of the parameters that its sweep or its cases list."""
        return set(self.sweep).union(*self.listed_cases)
