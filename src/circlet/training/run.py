"""The run: from a point and its seeds to their logs, in the order of events.

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

from circlet.lazy_import import load
from circlet.study import interventions
from circlet.study.points import Point
from circlet.study.seeds import PURPOSES
from circlet.training import cuda_graphs, shapes
from circlet.training.adamw import AdamW
from circlet.training.recorder import METRICS, Recorder
from circlet.training.stack import Stack, copy_exactly, on_cpu

Arrays = dict[str, np.ndarray]

After = Callable[[int, int, list["RunGroup"]], None]
"""Called when a step is done and recorded: steps done, steps in all, and the groups so far."""


class Unfit(Exception):
    """A saved state is not one of these runs."""


@torch.no_grad()
def run(
    point: Point,
    seeds: Sequence[int],
    device: torch.device,
    parents: dict[int, Arrays] | None = None,
    after: After | None = None,
    saved: Sequence[dict[str, Any]] = (),
) -> dict[str, pa.Table]:
    """Run some seeds of a point to the end, group by group, and return their logs by kind.

    ``parents`` have, by seed, what interventions look at of another run's end: arrays by name.
    ``after`` is called after every step. ``saved`` is the state of each group from which it
    resumes, as far as there are any; raises Unfit if one is not a state of these runs.
    """
    size = group_size(point, len(seeds), device)
    parts = [seeds[first : first + size] for first in range(0, len(seeds), size)]
    groups: list[RunGroup] = []
    for number, own in enumerate(parts):
        state = saved[number] if number < len(saved) else None
        events = run_group(point, own, device, parents, state)
        groups.append(next(events))
        for group in events:
            if after:
                after(number * point.steps + group.done, len(parts) * point.steps, groups)
    tables = [group.tables() for group in groups]
    return {kind: pa.concat_tables([t[kind] for t in tables]) for kind in point.logs}


def group_size(point: Point, count: int, device: torch.device) -> int:
    """How many of a number of runs advance together: on a GPU all, on a CPU what caches hold."""
    return count if device.type == "cuda" else point.cpu_batch(count)


def run_group(
    point: Point,
    seeds: Sequence[int],
    device: torch.device,
    parents: dict[int, Arrays] | None = None,
    saved: dict[str, Any] | None = None,
) -> Iterator["RunGroup"]:
    """Run some seeds of a point together, from their initial arrays or a saved state to the end.

    Yields the group when it is ready, and whenever a step is done and recorded.
    """
    parameters, equations = point.parameters, load(point.system.equations)
    dtype = getattr(torch, point.settings["dtype"])

    # The arrays of every run at step 0, after its interventions, and all runs in one tensor.
    starts = initials(point, seeds, parents or {})
    stack = Stack(starts, dtype, device, learning_rate_multipliers(point))
    weights = stack.arrays
    del starts  # twice as large

    # What stays fixed: the train and the test set of every run, say.
    data = equations.data(parameters, [point.seeds(seed) for seed in seeds], dtype, device)

    # A step: along the gradient by AdamW or, where nothing is trained, the simulation's own.
    optimizer, gradient = None, stack.zeros()
    if hasattr(equations, "gradients"):
        gradients = shapes.checked(point.system.name, equations.gradients)
        optimizer = AdamW(stack.tensors, parameters["learning_rate"], parameters["weight_decay"])

    def step(batch: Any) -> None:
        if optimizer is None:
            equations.step(weights, batch)
        else:
            gradients(weights, batch, gradient.arrays)
            optimizer.step(gradient.tensors)

    advance = cuda_graphs.graphed(step, data, device)
    batch = getattr(equations, "batch", lambda data, number: data)
    group = RunGroup(point, seeds, device, stack, optimizer, Recorder(point, seeds))
    if saved:
        group.restore(saved)
    yield group

    # For each step: its batch, the step, and what is due to be recorded.
    started = time.perf_counter() - group.seconds
    while group.done < point.steps:
        group.done += 1
        if group.done > 0:  # step 0 is the start
            advance(batch(data, group.done))
        group.recorder.record(group.done, weights, equations, data)
        group.seconds = time.perf_counter() - started
        yield group
    group.recorder.fetch()  # and the GPU is done
    group.seconds = time.perf_counter() - started
    group.optimizer = None  # all that is needed from here on is recorded


def initials(point: Point, seeds: Sequence[int], parents: dict[int, Arrays]) -> list[Arrays]:
    """The arrays of every run at step 0; raises CircletError if two runs have other shapes."""
    starts = [initial(point, seed, parents.get(seed, {})) for seed in seeds]
    alike = {name: array.shape for name, array in starts[0].items()}
    for seed, arrays in zip(seeds, starts, strict=True):
        shapes.check(f"{point.system.name}: at step 0 of seed {seed}", arrays, alike)
    return starts


def initial(point: Point, seed: int, parent: Arrays) -> Arrays:
    """The arrays of a run at step 0, after its interventions, float64, the embedding first."""
    streams = point.seeds(seed)
    arrays = load(point.system.equations).initial(point.parameters, streams)
    arrays = {"embedding": arrays.pop("embedding"), **arrays}
    draws = streams.stream("intervention")
    for name, arguments in interventions.acts(point.interventions):
        arrays = interventions.apply(name, arguments, arrays, draws, parent)
    return arrays


def learning_rate_multipliers(point: Point) -> dict[str, float]:
    """Multiples of the learning rate by name, where they are not 1; 0 is frozen."""
    equations = load(point.system.equations)
    declared: Any = getattr(equations, "learning_rate_multipliers", lambda parameters: {})
    return declared(point.parameters) | ({"embedding": 0} if point.intervenes("freeze") else {})


@dataclass
class RunGroup:
    """Runs that advance together: all of them that changes from step to step."""

    point: Point
    seeds: Sequence[int]
    device: torch.device
    stack: Stack
    optimizer: AdamW | None
    recorder: Recorder
    done: int = -1  # steps; step 0 is not recorded yet
    seconds: float = 0.0
    startable: Tensor = field(init=False)

    def __post_init__(self):
        # Without a parent whatever is not finite has diverged.
        self.startable = self.stack.finite() | (self.point.parent is None)

    def state(self) -> dict[str, Any]:
        """What ``restore`` needs to resume from here as if nothing had happened, on the CPU."""
        self.recorder.fetch()
        return {
            "done": self.done,
            "seconds": self.seconds,
            "values": on_cpu(self.stack.tensors),
            "optimizer": on_cpu(self.optimizer.state) if self.optimizer else {},
            "recorded": self.recorder.kept,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from a state of the same runs; raises Unfit if it is not one of theirs."""
        try:
            done = state["done"]
            if type(done) is not int or not -1 <= done <= self.point.steps:
                raise ValueError(f"step {done}")
            copy_exactly(state["values"], self.stack.tensors)
            if self.optimizer and done < self.point.steps:  # at its end it needs none
                copy_exactly(state["optimizer"], self.optimizer.state)
            self.recorder.restore(state["recorded"], done, self.stack.arrays)
            self.done, self.seconds = done, float(state["seconds"])
        except Exception as error:  # whatever may stand in a file that somebody has changed
            raise Unfit(str(error)) from error

    def tables(self) -> dict[str, pa.Table]:
        """The logs of its runs by kind."""
        n, cuda = len(self.seeds), self.device.type == "cuda"
        name = torch.cuda.get_device_name(self.device) if cuda else self.device.type
        streams = [self.point.seeds(seed) for seed in self.seeds]
        last = self.recorder.kept.get("curves", {}).get(self.point.steps, {})
        final = {k: last[k].numpy() if last else np.full(n, np.nan) for k in METRICS}
        finite, startable = self.stack.finite().cpu().numpy(), self.startable.cpu().numpy()
        if last:
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
            }
        )
