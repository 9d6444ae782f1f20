"""Types of the declaration of a system. Importing them does not import torch."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

SHARE = "0..1"
"""The unit of shares."""

Formula = Callable[..., float]
"""A number that follows from the parameters: ``lambda p, d, **_: p * d``."""


@dataclass(frozen=True)
class Parameter:
    """A parameter: its JSON schema, and its default."""

    type: Literal["integer", "number", "string", "boolean"]
    description: str
    default: Any
    label: str = ""  # puts the parameter into the name of every point
    limits: Mapping[str, Any] = field(default_factory=dict)  # further keywords of JSON schema

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        return {"type": self.type, "description": self.description, **self.limits}


def integer(description: str, default: int, *, label: str = "", **limits: int) -> Parameter:
    """Return an integer parameter; ``limits`` are keywords of JSON schema, such as ``minimum``."""
    return Parameter("integer", description, default, label, limits)


def number(description: str, default: float, *, label: str = "", **limits: float) -> Parameter:
    """Return a real parameter; ``limits`` are keywords of JSON schema, as ``exclusiveMinimum``."""
    return Parameter("number", description, default, label, limits)


def boolean(description: str, default: bool) -> Parameter:
    """Return a parameter that is true or false."""
    return Parameter("boolean", description, default)


def choice(description: str, default: str, *others: str) -> Parameter:
    """Return a parameter that is one of some words; the first is the default."""
    return Parameter("string", description, default, limits={"enum": [default, *others]})


@dataclass(frozen=True)
class Log:
    """Default schedule of a kind of log, and steps that are always logged."""

    schedule: Mapping[str, Any] | None  # None: not logged
    always: Iterable[int] = ()


@dataclass(frozen=True)
class Rule:
    """A condition that the parameters of a point must meet."""

    text: str  # for the message: "k <= length"
    holds: Callable[..., bool]

    @property
    def names(self) -> list[str]:
        """Names of the parameters in the condition."""
        kinds = inspect.signature(self.holds).parameters.values()
        return [kind.name for kind in kinds if kind.kind is not kind.VAR_KEYWORD]


@dataclass(frozen=True)
class Metric:
    """A number that is measured for every run at each logged step of its curves."""

    meaning: str
    unit: str = ""  # "nat", or "0..1" of a share

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of its values, and so of its means."""
        lower = 0.0 if self.unit in (SHARE, "nat", "count", "time") else -math.inf
        return lower, 1.0 if self.unit == SHARE else math.inf


@dataclass(frozen=True)
class Outcome:
    """A number that a run has at its end, or the step at which something happened.

    Runs without a value are ignored. For a ``time`` the table also has a column ``NAME_after``: the
    last logged step at which it had not happened yet. If it had not happened by the end, ``NAME``
    is null; if it was not logged, both are.
    """

    name: str
    label: str  # for axes and lists
    kind: Literal["share", "mean", "count", "time"]
    table: str = "runs"  # the table that has it, a row per run
    column: str = ""  # the column in it; by default the outcome's name
    where: Mapping[str, Any] = field(default_factory=dict)
    """Values of other columns that a run must have to count, such as ``{"success": True}``."""
    unit: str = ""  # "0..1" if all values lie in this range
    threshold: float | None = None
    """Value at which phase diagrams draw a line; by default 0.5 for shares, none for others."""
    seed: str = ""
    """Seed that determines the outcome, such as ``embedding_seed`` for a property of the initial
    embedding: runs of a point that share this seed count once. By default, every run counts."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of its values, and so of its means."""
        unit = {"mean": self.unit, "share": SHARE}.get(self.kind, self.kind)
        return Metric(self.label, unit).bounds

    @property
    def reach(self) -> float:
        """The largest possible difference of two values."""
        return self.bounds[1] - self.bounds[0]


@dataclass(frozen=True, kw_only=True)
class SystemSpec:
    """A system: its name, parameters, logs, outcomes and cost.

    Formulas are functions of the parameters, by name. Only ``parameters`` is required.
    """

    parameters: Mapping[str, Parameter]
    version: int | str = ""
    """Raise it whenever results change by more than rounding (which also differs between machines);
    the runs are then repeated. Default: the fingerprint of the equations, of what they import from
    their collection, and of the defaults of the parameters."""
    embedding: str = ""
    """Name of the array of shape (tokens, d) that signals, planes and interventions use. Logs call
    it ``embedding``."""
    logs: Mapping[str, Log] = field(default_factory=dict)
    """Logs besides ``runs``. Default: ``curves``, the last ``parameters``, the first and last
    embedding and, if there is a parameter ``p`` and ``frequencies`` is True, its ``signals``."""
    frequencies: bool = True
    """Whether Fourier frequencies describe the embedding: its tokens are the numbers modulo ``p``,
    which the network adds. Pages mention frequencies only if signals are logged."""
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """Metrics in the log ``curves``, whose last values are in ``runs``. Default, if the system is
    trained: ``train_loss`` and ``test_loss``."""
    outcomes: tuple[Outcome, ...] = ()
    """Default: the last value of each metric."""
    batched: bool = True
    """Whether the runs of a block may advance together. False trains them one after the other, by
    plain autograd, for networks that `torch.func.vmap` does not support."""
    flops_per_step: Formula | None = None
    """Floating-point operations of a run per step; operations outside of matrix products are
    weighted by their cost. Default: time and memory of a run are measured when it is planned (the
    time of a kernel always is)."""
    flops_per_second: float = 1e9
    """Rough number of operations that one CPU core does in PyTorch. It decides the size of blocks,
    whether a block gets a GPU, and which networks are too large to be timed."""
    weights: Formula | None = None
    """Number of values that a run trains or moves."""
    activations: Formula | None = None
    """Largest number of values in memory during a step; it decides the memory of a block."""
    cpu_batch: Formula | None = None
    """Number of runs of a block that advance together on a CPU, so that they fit into its caches.
    Default: all; if the cost is measured, a number that follows from the activations."""
    requires: tuple[Rule, ...] = ()
    """Conditions that the parameters of a point must meet."""
    steps_per_epoch: Formula | None = None
    """Number of steps in which it sees the train set once, if it trains on batches."""
    shapes: tuple[str, ...] = ()
    """Parameters that decide the shapes of the arrays: a run and the run that it starts from
    (``transfer``) must agree in them."""
    run_columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of the explorer's list of runs with their headings, besides seed and outcome.
    Default: the metrics, and all numbers of the collection's run_list.py. With batches,
    ``fit_epoch`` stands for ``fit_step``."""
    panels: tuple[str, ...] = ()
    """Panels of the explorer, in order (`circlet.pages.explorer`). Default: all that the logs
    allow."""
    explorer_weights: bool = False
    """Whether the explorer contains all logged weights and biases, for its panels."""
    coloured_signals: str = ""
    """Column of the run list with the frequencies that the panel of signals colours."""
    opens_with: str = ""
    """Outcome of the run that the explorer opens with, if any run has it."""

    # Set when the system is found in its collection:
    name: str = ""  # as configs have it
    module: str = ""  # that declares it
    equations: str = ""  # module that computes it

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of logs that its runs have."""
        return ("runs", *self.logs)

    @property
    def is_trained(self) -> bool:
        """Whether an optimiser moves its weights."""
        return "learning_rate" in self.parameters

    @property
    def is_measured(self) -> bool:
        """Whether the cost of its runs is measured, because it does not declare it."""
        return self.flops_per_step is None

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Default values of all parameters."""
        return {name: parameter.default for name, parameter in self.parameters.items()}

    @cached_property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """JSON schemas of all parameters."""
        return {name: parameter.schema for name, parameter in self.parameters.items()}
