"""Train runs: from a point and its seeds to their logs.

The runs of a group advance together, in one tensor program: every array has the runs as its first
axis. Files, locks and checkpoints are around it, in `circlet.training.job`.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from circlet.errors import CircletError
from circlet.study import interventions
from circlet.study.points import Point, even
from circlet.study.seeds import PURPOSES
from circlet.systems import trees
from circlet.training import autograd, cuda_graphs, products, shapes
from circlet.training.optimizers import SGD, Adam, optimizer
from circlet.training.recorder import Recorder
from circlet.training.shapes import Arrays
from circlet.training.stack import Stack, copy_exactly, on_cpu

After = Callable[[int, int, list["RunGroup"]], None]
"""Called when a step is done and recorded: steps done, steps in all, and the groups so far."""

Trained = Callable[["RunGroup", Any], None]
"""Called when the last step of a group is done, with its data."""

HELD = 2**26  # most numbers in the data of runs that advance together
CACHED = 2**21  # most numbers of a step that fit into the caches of a core


class Unfit(Exception):
    """A saved state does not belong to these runs."""


@torch.no_grad()
def run(
    point: Point,
    seeds: Sequence[int],
    device: torch.device,
    parents: dict[int, Arrays] | None = None,
    after: After | None = None,
    ended: Callable[[list["RunGroup"]], None] | None = None,
    trained: Trained | None = None,
    saved: Sequence[dict[str, Any]] = (),
) -> dict[str, pa.Table]:
    """Run some seeds of a point to the end, group by group, and return their logs by kind.

    ``parents`` has, by seed, what interventions read from the end of another run: arrays by name.
    ``after`` is called after every step, ``trained`` when a group has done its last one, ``ended``
    with all groups when they have finished.
    ``saved`` has the states from which groups resume, if there are any; raises Unfit if one is not
    a state of these runs.
    """
    size = group_size(point, len(seeds), device)
    parts = [seeds[first : first + size] for first in range(0, len(seeds), size)]
    groups: list[RunGroup] = []
    for number, own in enumerate(parts):
        state = saved[number] if number < len(saved) else None
        events = run_group(point, own, device, parents, state, trained)
        groups.append(next(events))
        for group in events:
            if after:
                after(number * point.steps + group.done, len(parts) * point.steps, groups)
    if ended:
        ended(groups)
    tables = [group.tables() for group in groups]
    return {kind: pa.concat_tables([t[kind] for t in tables]) for kind in point.logs}


def as_logged(point: Point, state: dict[str, Any]) -> dict[str, Any]:
    """The state of a group that may have logged more steps, reduced to the steps of a point.

    Raises Unfit if it lacks a step.
    """
    try:
        done, recorded = state["done"], {}
        for kind in point.logs[1:]:
            due = [step for step in point.steps_logged(kind) if step <= done]
            if lacking := [step for step in due if step not in state["recorded"][kind]]:
                raise ValueError(f"has no {kind} of step {lacking[0]}")
            recorded[kind] = {step: state["recorded"][kind][step] for step in due}
        return state | {"recorded": recorded}
    except Exception as error:  # a changed file may contain anything
        raise Unfit(str(error)) from error


def group_size(point: Point, count: int, device: torch.device) -> int:
    """Number of runs to train together: all on a GPU, as many as fit into the caches on a CPU."""
    if not point.system.batched:
        return 1
    if device.type == "cuda":
        return count
    if point.system.is_measured:
        return even(count, together(point))
    return point.cpu_batch(count)


def together(point: Point) -> int:
    """Number of runs to train together on a CPU, if their system does not declare it."""
    if not point.system.batched:
        return 1
    if point.system.cpu_batch:
        return int(point.system.cpu_batch(**point.parameters))
    held = HELD // max(1, data_size(point))
    return max(1, min(held, CACHED // max(1, activations(point))))


def data_size(point: Point) -> int:
    """Number of values in the data of a run."""
    cpu, seeds = torch.device("cpu"), point.seeds(point.every_seed.start)
    equations = autograd.equations(point.system)
    data = equations.data(point.parameters, [seeds], torch.float32, cpu)
    return sum(tensor.numel() for tensor in trees.tensors(data))


def activations(point: Point, evaluated: bool = False) -> int:
    """Number of values that a step of a run computes, without the optimiser; or its metrics.

    It follows from the shapes alone, so that the same runs advance together on all machines.
    """
    cpu, seeds = torch.device("cpu"), point.seeds(point.every_seed.start)
    equations = autograd.equations(point.system)
    arrays = equations.initial(point.parameters, seeds)
    dtype = getattr(torch, point.settings["dtype"])
    weights = {name: torch.as_tensor(array)[None].to(dtype) for name, array in arrays.items()}
    data = equations.data(point.parameters, [seeds], dtype, cpu)
    batch = equations.batch(data, 1) if hasattr(equations, "batch") else data
    with torch.no_grad(), _Counting() as counted:
        if evaluated:
            getattr(equations, "metrics", lambda *_: None)(weights, data)
        elif hasattr(equations, "gradients"):
            equations.gradients(
                weights, batch, {k: torch.zeros_like(v) for k, v in weights.items()}
            )
        else:
            equations.step(weights, batch)
    return counted.numbers


class _Counting(TorchDispatchMode):
    """Counts the values in all computed tensors; views do not count."""

    numbers = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        given = set(trees.storages([args, kwargs]))
        for tensor in trees.tensors(result):
            if not given.intersection(trees.storages(tensor)):
                self.numbers += tensor.numel()
        return result


def run_group(
    point: Point,
    seeds: Sequence[int],
    device: torch.device,
    parents: dict[int, Arrays] | None = None,
    saved: dict[str, Any] | None = None,
    trained: Trained | None = None,
) -> Iterator["RunGroup"]:
    """Run some seeds of a point together, from their initial arrays or a saved state to the end.

    Yields the group when it is ready, and whenever a step is done and recorded.
    """
    parameters, equations = point.parameters, autograd.equations(point.system)
    dtype = getattr(torch, point.settings["dtype"])

    # The arrays of every run at step 0, after its interventions, and all runs in one tensor.
    starts = initials(point, seeds, parents or {})
    multipliers = learning_rate_multipliers(point)
    if unknown := multipliers.keys() - starts[0].keys():
        raise CircletError(
            f"{point.system.name}: learning_rate_multipliers() names {min(unknown)!r}, which is no "
            f"array (there are: {', '.join(starts[0])})"
        )

    # What stays fixed: the train and the test set of every run, say.
    data = equations.data(parameters, [point.seeds(seed) for seed in seeds], dtype, device)

    if hasattr(equations, "without_gradient"):
        first = {k: torch.as_tensor(array).to(device, dtype) for k, array in starts[0].items()}
        multipliers |= dict.fromkeys(equations.without_gradient(first, data), 0)
    stack = Stack(starts, dtype, device, multipliers)
    weights = stack.arrays
    del starts  # float64, so twice as large

    # A step: along the gradient or, where nothing is trained, the simulation's own.
    optimiser, gradient = None, stack.zeros()
    if hasattr(equations, "gradients"):
        gradients = shapes.checked(point.system.name, equations.gradients)
        optimiser = optimizer(parameters, stack.tensors)

    @products.rounded(point.settings["products"])
    def step(batch: Any) -> None:
        if optimiser is None:
            equations.step(weights, batch)
        else:
            gradients(weights, batch, gradient.arrays)
            optimiser.step(gradient.tensors)

    advance = cuda_graphs.graphed(step, data, device)
    batch = getattr(equations, "batch", lambda data, number: data)
    group = RunGroup(point, seeds, device, stack, optimiser, Recorder(point, seeds))
    if saved:
        group.restore(saved)
    yield group

    # For each step: its batch, the step, and what is due to be recorded.
    # The CPU time of a process does not depend on what else runs. A GPU computes outside of it.
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    started = clock() - group.seconds
    while group.done < point.steps:
        group.done += 1
        if group.done > 0:  # step 0 is the start
            advance(batch(data, group.done))
        group.recorder.record(group.done, weights, equations, data)
        group.seconds = clock() - started
        yield group
    group.recorder.fetch()  # and the GPU is done
    group.seconds = clock() - started
    if trained:
        trained(group, data)
    if not point.settings["keep_state"]:
        group.optimizer = None  # all that is needed from here on is recorded


def initials(point: Point, seeds: Sequence[int], parents: dict[int, Arrays]) -> list[Arrays]:
    """The arrays of every run at step 0; raises CircletError if the shapes of two runs differ."""
    starts = [initial(point, seed, parents.get(seed, {})) for seed in seeds]
    alike = {name: array.shape for name, array in starts[0].items()}
    for seed, arrays in zip(seeds, starts, strict=True):
        shapes.check(f"{point.system.name}: at step 0 of seed {seed}", arrays, alike)
    return starts


def initial(point: Point, seed: int, parent: Arrays) -> Arrays:
    """The arrays of a run at step 0, after its interventions, float64, an embedding first."""
    streams = point.seeds(seed)
    arrays = autograd.equations(point.system).initial(point.parameters, streams)
    if point.system.embedding:
        arrays = {"embedding": arrays.pop("embedding"), **arrays}
    draws = streams.stream("intervention")
    for name, arguments in interventions.acts(point.interventions):
        arrays = interventions.apply(name, arguments, arrays, draws, parent)
    return arrays


def learning_rate_multipliers(point: Point) -> dict[str, float]:
    """Learning-rate multipliers by name, where they are not 1; 0 freezes the array."""
    equations = autograd.equations(point.system)
    declared: Any = getattr(equations, "learning_rate_multipliers", lambda parameters: {})
    return declared(point.parameters) | ({"embedding": 0} if point.intervenes("freeze") else {})


@dataclass
class RunGroup:
    """Runs that are trained together: everything about them that changes from step to step."""

    point: Point
    seeds: Sequence[int]
    device: torch.device
    stack: Stack
    optimizer: Adam | SGD | None
    recorder: Recorder
    done: int = -1  # steps; step 0 is not recorded yet
    seconds: float = 0.0
    startable: Tensor = field(init=False)

    def __post_init__(self):
        # Runs without a parent always start: non-finite values then count as divergence.
        self.startable = self.stack.finite() | (self.point.parent is None)

    def state(self) -> dict[str, Any]:
        """All that ``restore`` needs to resume from here, on the CPU."""
        self.recorder.fetch()
        return {
            "done": self.done,
            "seconds": self.seconds,
            "values": on_cpu(self.stack.tensors),
            "optimizer": on_cpu(self.optimizer.state) if self.optimizer else {},
            "recorded": self.recorder.kept,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from a state of the same runs; raises Unfit if the state is of other runs."""
        try:
            done = state["done"]
            if type(done) is not int or not -1 <= done <= self.point.steps:
                raise ValueError(f"step {done}")
            copy_exactly(state["values"], self.stack.tensors)
            # At its end no optimiser state is needed, unless the run may continue later.
            if self.optimizer and (done < self.point.steps or state["optimizer"]):
                copy_exactly(state["optimizer"], self.optimizer.state)
            self.recorder.restore(state["recorded"], done, self.stack.arrays)
            self.done, self.seconds = done, float(state["seconds"])
        except Exception as error:  # a changed file may contain anything
            raise Unfit(str(error)) from error

    def tables(self) -> dict[str, pa.Table]:
        """The logs of its runs by kind."""
        n, cuda = len(self.seeds), self.device.type == "cuda"
        name = torch.cuda.get_device_name(self.device) if cuda else self.device.type
        streams = [self.point.seeds(seed) for seed in self.seeds]
        last = self.recorder.kept.get("curves", {}).get(self.point.steps, {})
        final = {
            k: last[k].numpy() if last else np.full(n, np.nan) for k in self.point.system.metrics
        }
        finite, startable = self.stack.finite().cpu().numpy(), self.startable.cpu().numpy()
        if "train_loss" in last:
            finite &= np.isfinite(final["train_loss"])
        return self.recorder.tables(
            {
                "seed": self.seeds,
                **{f"{kind}_seed": [getattr(s, kind) for s in streams] for kind in PURPOSES},
                "steps": [self.point.steps] * n,
                "status": np.select([finite, startable], ["finished", "diverged"], "no_parent"),
                **final,
                "seconds": [self.seconds / n] * n,
                "device": [name] * n,
                "dtype": [self.point.settings["dtype"]] * n,
                "products": [self.point.settings["products"]] * n,
            }
        )
