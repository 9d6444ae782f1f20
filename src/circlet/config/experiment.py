"""The keys of an experiment: their types, defaults, bounds and descriptions.

The JSON schema of `circlet.config.schema` and the tables of config/README.md are generated from
these, as from the other keys of a config (`circlet.config.model`). The text after a key is its
description there.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

INT32_MAX = 2**31 - 1  # largest integer in a column, and most values in a column of lists

Name = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$", max_length=100)]
Count = Annotated[int, Meta(ge=1, le=INT32_MAX)]
Index = Annotated[int, Meta(ge=0, le=INT32_MAX)]
Arguments = dict[str, Any]
"""Values of parameters by name; the parameters' own schemas, which systems declare, check them."""

UNIQUE = Meta(extra_json_schema={"uniqueItems": True})


class Keys(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Keys of a mapping in a config."""


class Schedule(Keys, frozen=True, kw_only=True):
    """Steps at which a log is written, at most a million."""

    every: Count | UnsetType = UNSET
    """All multiples of this number."""
    every_epochs: Count | UnsetType = UNSET
    """The last step of every n-th epoch (systems with batches)."""
    until: Index | UnsetType = UNSET
    """The step at which `every` ends."""
    per_decade: Annotated[int, Meta(ge=1, le=1000)] | UnsetType = UNSET
    """Steps per factor of ten, evenly spaced on a logarithmic scale; at most 1000."""
    at: Annotated[tuple[Index, ...], Meta(max_length=10_000)] | UnsetType = UNSET
    """A list of steps, at most 10 000."""


LogSchedule = Annotated[
    Schedule | None,
    Meta(examples=[{"every": 10}], extra_json_schema={"dependentRequired": {"until": ["every"]}}),
]


class Logs(Keys, frozen=True, kw_only=True):
    """Schedules by kind of log; other kinds keep their defaults."""

    curves: LogSchedule | UnsetType = UNSET
    """Losses and accuracies."""
    signals: LogSchedule | UnsetType = UNSET
    """Signal of every frequency."""
    embeddings: LogSchedule | UnsetType = UNSET
    """Embedding vectors. The explorer animates these steps."""
    gradients: LogSchedule | UnsetType = UNSET
    """Norm of the loss gradient with respect to the embedding, by frequency."""
    gradient_norms: LogSchedule | UnsetType = UNSET
    """Norm of the loss gradient with respect to each part of the network, on the whole train
    set."""
    parameters: LogSchedule | UnsetType = UNSET
    """All weights and biases. The explorer animates classifiers and transformers at these steps. To
    find when a clustering head forms and what causes loss spikes, log every epoch
    (`{every_epochs: 1}`, 0.75 MB per run of 1000 epochs)."""

    @property
    def schedules(self) -> dict[str, Schedule | None]:
        """Schedules by kind of log; null writes no rows."""
        all_kinds = ((kind, getattr(self, kind)) for kind in self.__struct_fields__)
        return {kind: schedule for kind, schedule in all_kinds if schedule is not UNSET}


class MoreSeeds(Keys, frozen=True, kw_only=True):
    """More seeds at some points."""

    where: Annotated[Arguments, Meta(min_length=1)]
    """Values of parameters, or of arguments of interventions: `scale_factor` is the argument
    `factor` of `scale`."""
    count: Count
    """Number of seeds at these points."""

    def applies_to(self, values: Arguments) -> bool:
        """Return whether this entry applies to a point with these values (`Point.values`)."""
        return all(values.get(name) == value for name, value in self.where.items())


SharedSeed = Index | Annotated[list[Index], Meta(min_length=1, max_length=10_000), UNIQUE] | None


class Seeds(Keys, frozen=True, kw_only=True):
    """The seeds of the runs at every point."""

    count: Count
    """Number of seeds per point; a multiple of `block`, if set."""
    first: Index = 0
    """First seed; a multiple of `block`, if set."""
    more: Annotated[list[MoreSeeds], Meta(max_length=10_000)] = []
    """Larger numbers of seeds at some points: `[{where: {weight_decay: 1}, count: 200}]`. If
    several entries match a point, the largest number applies."""
    embedding: SharedSeed = None
    """One seed for the initial embeddings of all runs. A list makes one point per seed. `null`:
    each run uses its own seed."""
    network: SharedSeed = None
    """As `embedding`, for the other initial weights."""
    data: SharedSeed = None
    """As `embedding`, for the train and test sets."""
    order: SharedSeed = None
    """As `embedding`, for the order of batches and the dropout masks."""


Numbers = Annotated[list[int | float], Meta(min_length=2, max_length=3)]
Values = Annotated[list[Any], Meta(min_length=1, max_length=10_000)]


class Range(Keys, frozen=True, kw_only=True):
    """Values of a swept parameter, computed or drawn at random; one of these keys."""

    linspace: Numbers | UnsetType = UNSET
    """`[first, last, number of values]`: evenly spaced, rounded to four digits."""
    logspace: Numbers | UnsetType = UNSET
    """As `linspace`, on a logarithmic scale."""
    range: Numbers | UnsetType = UNSET
    """`[first, end, step]`: whole numbers below `end`. Default step: 1."""
    uniform: Numbers | UnsetType = UNSET
    """`[low, high]`: draws random values between these bounds."""
    loguniform: Numbers | UnsetType = UNSET
    """As `uniform`, on a logarithmic scale."""
    choice: (
        Annotated[list[int | float | str | bool], Meta(min_length=1, max_length=10_000)] | UnsetType
    ) = UNSET
    """A list from which values are drawn at random."""


Points = Annotated[int, Meta(ge=1, le=20_000)]


class Sample(Keys, frozen=True, kw_only=True):
    """Random search over the ranges of a sweep."""

    count: Points
    """Number of random points."""
    seed: Index = 0
    """Seed of the random draws."""


Intervention = Annotated[
    dict[str, Arguments], Meta(min_length=1, max_length=1, examples=[{"freeze": {}}])
]
"""Its name, and its arguments."""


class Experiment(Keys, frozen=True, kw_only=True):
    """A system, its parameters, a sweep, seeds and logs."""

    system: str
    """The network or simulation: one of the systems below, or one of your collection, such as
    `mine.sums`."""
    parameters: Arguments = {}
    """Parameter values of all points; other parameters keep their defaults."""
    sweep: dict[
        str,
        Annotated[Values | Range, Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})],
    ] = {}
    """Values of each swept parameter, at most 10 000: a list or one of the next six forms."""
    sample: Points | Sample | UnsetType = UNSET
    """Number of random points, or `{count: 200, seed: 1}`. If you raise the number, earlier points
    stay. Each random point is combined with all listed values of `sweep`."""
    cases: (
        Annotated[
            list[Annotated[Arguments, Meta(min_length=1)]], Meta(min_length=1, max_length=10_000)
        ]
        | UnsetType
    ) = UNSET
    """Sets of parameter values, each combined with every point of `sweep`."""
    steps: Count | UnsetType = UNSET
    """Optimiser steps of a training, or time steps of a simulation; step 0 is the initial state."""
    epochs: Count | UnsetType = UNSET
    """In place of `steps`, for systems with batches: passes over the train set."""
    dtype: Literal["float32", "float64"] = "float32"
    """Floating-point type: `float32` or `float64`. `sweep` can list both."""
    products: Literal["float32", "tf32", "bfloat16"] = "float32"
    """Precision of the factors of matrix products, forward and backward: `float32` (no rounding),
    `tf32` (10 bits of mantissa) or `bfloat16` (7 bits). Sums, weights, the gradient with respect to
    the logits, and logged values stay float32. circlet rounds the factors and multiplies them in
    float32; real hardware may add in another order. `tf32` and `bfloat16` use no kernel, take 1.4
    to 3.1 times as long as PyTorch with float32, and need dtype `float32`. `sweep` can list
    several."""
    block: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """Seeds per block, at most a million. `null`: circlet chooses."""
    seeds: Annotated[Seeds, Meta(examples=[{"count": 20}])]
    """The seeds of the runs at every point."""
    compare: Annotated[
        dict[str, Annotated[list[Any], Meta(min_length=2, max_length=2)]], Meta(max_length=20)
    ] = {}
    """Two values to compare, for each swept parameter or argument of an intervention:
    `{learning_rate: [0.01, 0.003], change_weight_decay: [1, 0.1]}`. The table `comparisons` and the
    figure `forest` show the differences between runs with the same seed, separately for each
    combination of other swept parameters."""
    keep_state: bool = False
    """Whether to save the final state of runs. If you later raise `steps`, training continues from
    this state, and the results equal those of one long run. Training starts anew if the old logs
    lack a step that the new `log` needs."""
    interventions: Annotated[list[Intervention], Meta(max_length=10)] = []
    """Changes of how runs start or train, applied in this order. If an argument is a list of
    values, each value makes a point."""
    log: Logs = Logs()
    """Schedules by kind of log; other kinds keep their defaults. Each log has the first and the
    last step (`signals` also steps 0 to 10). A kind with the schedule `{}` has only these steps,
    and a kind with `null` has no log."""

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
