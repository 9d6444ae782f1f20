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
        least = 0.0 if self.unit in (SHARE, "nat", "count", "time") else -math.inf
        return least, 1.0 if self.unit == SHARE else math.inf


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
    """What other columns must have, if only some runs have it: ``{"success": True}``."""
    unit: str = ""  # "0..1" if all values lie in this range
    threshold: float | None = None
    """Where phase diagrams draw a line; for shares a half, if not given."""
    seed: str = ""
    """The seed that decides it, such as ``embedding_seed`` for what is measured at the initial
    embedding: runs of a point that share this seed count once. If not given, every run counts."""

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
    """Raised whenever its numbers change by more than rounding, which differs between machines,
    too; its runs are then made again. If not given: the fingerprint of its equations, of what they
    import of their collection, and of the defaults of its parameters."""
    embedding: str = ""
    """The array of shape (tokens, d) that is its embedding, if it has one: signals, planes and
    interventions are about it. Logs call it ``embedding``, whatever its name in a network is."""
    logs: Mapping[str, Log] = field(default_factory=dict)
    """The logs that its runs have beside ``runs``. If not given: ``curves``, ``parameters`` at the
    end, the first and last state of an embedding, and, if there is a parameter ``p``, its
    ``signals``, unless ``frequencies`` is False."""
    frequencies: bool = True
    """Whether Fourier frequencies say something about the embedding: its tokens are the numbers
    modulo ``p``, and the network adds them. Pages only speak of frequencies if signals are logged.
    """
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """What ``curves`` record, and ``runs`` at the end. If not given, of a system that is trained:
    ``train_loss`` and ``test_loss``."""
    outcomes: tuple[Outcome, ...] = ()
    """If not given: its metrics."""
    batched: bool = True
    """Whether the runs of a block may advance together. If a network does what `torch.func.vmap`
    cannot do, False has them trained one after the other, by plain autograd."""
    flops_per_step: Formula | None = None
    """Floating-point operations of a run per step, others than in products of matrices weighted by
    what they cost. If not given, time and memory of a run are measured when it is planned; the
    time of a kernel always is."""
    product_flops_per_step: Formula | None = None
    """Those in products of matrices, if not all are; they bound the speed from below."""
    flops_per_second: float = 1e9
    """How many of them one CPU core does, roughly: it decides the size of blocks, whether one is
    worth a GPU, how long it takes in PyTorch, and which networks are too large to be timed."""
    weights: Formula | None = None
    """Numbers that a run keeps: all that is trained or moved."""
    activations: Formula | None = None
    """Numbers that a run holds at the height of a step: the memory that a block asks for."""
    cpu_batch: Formula | None = None
    """How many runs of a block advance together on a CPU: as many as its caches hold. All, if not
    given; if nothing of its cost is, what follows from the activations."""
    requires: tuple[Rule, ...] = ()
    """What must hold of the parameters of a point, if not all values go together."""
    steps_per_epoch: Formula | None = None
    """If it trains on batches: steps in which it sees the train set once."""
    shapes: tuple[str, ...] = ()
    """If its runs can start from others (``transfer``): the parameters in which these must agree,
    as they decide the shapes of the arrays."""
    run_columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of the explorer's list of runs and their headings, beside seed and outcome. If not
    given: its metrics, and all numbers of its collection's run_list.py. With batches it has
    ``fit_epoch`` for ``fit_step``."""
    panels: tuple[str, ...] = ()
    """Panels of the explorer for its runs, in their order. If not given: what its logs allow.
    Every collection may use those of all (`circlet.pages.explorer`)."""
    explorer_weights: bool = False
    """Whether the explorer has all weights and biases that are logged, for its panels."""
    coloured_signals: str = ""
    """The column of its run list with the frequencies that the panel of signals colours."""
    opens_with: str = ""
    """Outcome of the run that the explorer opens with, if there is one."""

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
