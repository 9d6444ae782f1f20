"""Train runs in PyTorch.

The runs of a group advance together, in one tensor program: every array has the runs as its first
axis. Files, locks and checkpoints are around it, in `circlet.training.job`.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from circlet.errors import CircletError
from circlet.study.blocks import balanced_group_size
from circlet.study.points import Point
from circlet.training import autograd, cuda_graphs, products, shapes, sizes
from circlet.training.group import Arrays, Group, initial, multipliers
from circlet.training.optimizers import SGD, Adam, optimizer
from circlet.training.shapes import check
from circlet.training.stack import Stack, copy_exactly, on_cpu

RECORDED = 2**28  # most bytes of logs kept on a GPU


def settle_torch() -> None:
    """Use one thread, as matrices are small and blocks run side by side; take subnormals for 0.

    A product with a number below 1.2e-38 (float32) can take a hundred times as long as others.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def group_size(point: Point, count: int, device: torch.device) -> int:
    """Return how many runs to train together: all on a GPU, those that fit into caches on a CPU."""
    if not point.system.batched:
        return 1
    if device.type == "cuda":
        return count
    if point.system.is_measured:
        return balanced_group_size(count, sizes.together(point))
    return point.cpu_batch(count)


def groups(point: Point, seeds: Sequence[int], device: torch.device) -> list[Sequence[int]]:
    """Return the seeds of each group; with other groups, numbers differ by rounding."""
    size = group_size(point, len(seeds), device)
    return [seeds[first : first + size] for first in range(0, len(seeds), size)]


@torch.no_grad()
def run_group(
    point: Point,
    seeds: Sequence[int],
    device: torch.device,
    parents: dict[int, Arrays] | None = None,
    saved: dict[str, Any] | None = None,
) -> Iterator["RunGroup"]:
    """Run some seeds of a point together, from their initial arrays or a saved state to the end.

    Yields the group when it is ready, and whenever a step is done and recorded. ``parents`` has, by
    seed, what interventions read from the end of another run: arrays by name.
    """
    parameters, equations = point.parameters, autograd.equations(point.system)
    dtype = getattr(torch, point.settings.dtype)

    # The arrays of every run at step 0, after its interventions, and all runs in one tensor.
    starts = initials(point, seeds, parents or {})
    rates, decays = multipliers(point, equations)
    for kind, named in (("learning_rate", rates), ("weight_decay", decays)):
        if unknown := named.keys() - starts[0].keys():
            raise CircletError(
                f"{point.system.name}: {kind}_multipliers() names {min(unknown)!r}, which is no "
                f"array (there are: {', '.join(starts[0])})"
            )

    # Data that stay fixed, such as the train and the test set of every run.
    data = equations.data(parameters, [point.seeds(seed) for seed in seeds], dtype, device)

    if hasattr(equations, "without_gradient"):
        first = {k: torch.as_tensor(array).to(device, dtype) for k, array in starts[0].items()}
        rates |= dict.fromkeys(equations.without_gradient(first, data), 0)
    stack = Stack(starts, dtype, device, rates, decays)
    weights = stack.arrays
    del starts  # float64, so twice as large

    # A step: of the optimiser or, if nothing is trained, of the simulation.
    optimiser, gradient = None, stack.zeros()
    if hasattr(equations, "gradients"):
        gradients = shapes.checked(point.system.name, equations.gradients)
        optimiser = optimizer(parameters, stack.tensors)

    @products.rounded(point.settings.products)
    def step(batch: Any) -> None:
        if optimiser is None:
            equations.step(weights, batch)
        else:
            gradients(weights, batch, gradient.arrays)
            optimiser.step(gradient.tensors)

    advance = cuda_graphs.graphed(step, data, device)
    batch = getattr(equations, "batch", lambda data, number: data)
    group = RunGroup(point, seeds, device, stack, optimiser, equations, data)
    if saved:
        group.restore(saved)
    yield group

    # For each step: take its batch, advance, and record what is due.
    # CPU time does not depend on other processes, but does not include the work of a GPU.
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    started, settings = clock() - group.seconds, dict[str, float]()
    while group.done < point.steps:
        group.done += 1
        if (changed := group.changes.settings(group.done)) != settings:
            settings = changed
            vars(optimiser).update(settings)
            advance = cuda_graphs.graphed(step, data, device)  # a graph holds its settings
        if group.done > 0:  # step 0 is the start
            advance(batch(data, group.done))
        group.constrain()
        group.record()
        group.seconds = clock() - started
        yield group
    group.fetch()  # this waits for the GPU
    group.seconds = clock() - started
    group.data = None
    if not point.settings.keep_state:
        group.optimizer = None  # only recorded values are needed from now on


def initials(point: Point, seeds: Sequence[int], parents: dict[int, Arrays]) -> list[Arrays]:
    """Return the arrays of each run at step 0; raises CircletError if shapes of two runs differ."""
    equations = autograd.equations(point.system)
    starts = [initial(point, equations, seed, parents.get(seed, {})) for seed in seeds]
    alike = {name: array.shape for name, array in starts[0].items()}
    for seed, arrays in zip(seeds, starts, strict=True):
        shapes.check(f"{point.system.name}: at step 0 of seed {seed}", arrays, alike)
    return starts


class RunGroup(Group):
    """Runs that are trained together, in one tensor program."""

    def __init__(
        self,
        point: Point,
        seeds: Sequence[int],
        device: torch.device,
        stack: Stack,
        optimiser: Adam | SGD | None,
        equations: Any,
        data: Any,
    ):
        cuda = device.type == "cuda"
        super().__init__(point, seeds, torch.cuda.get_device_name(device) if cuda else device.type)
        self.stack, self.weights, self.optimizer = stack, stack.arrays, optimiser
        self.equations, self.data = equations, data  # data only while it trains
        # Values recorded on a GPU and not yet fetched: fetching each at once would make the CPU
        # wait at every logged step.
        self.waiting: list[tuple[str, int, dict[str, Tensor]]] = []
        self.waiting_bytes = 0  # bytes in `waiting`
        # Runs without a parent always start: non-finite values then count as divergence.
        self.startable = self.finite() | (point.parent is None)

    def finite(self) -> np.ndarray:
        """Return whether all values of a run are finite, (runs,)."""
        return self.stack.finite().cpu().numpy()

    def metrics(self) -> dict[str, Tensor]:
        """Return the metrics of all runs by name; checks them the first time."""
        values = self.equations.metrics(self.weights, self.data)
        if not self.recorder.steps["curves"]:
            expected = dict.fromkeys(self.recorder.metrics, (len(self.seeds),))
            check(f"{self.point.system.name}: metric", values, expected)
        return values

    def gradient(self) -> dict[str, Tensor]:
        """Return the gradient of the loss on the whole train set, of all runs by name."""
        gradient = {name: torch.empty_like(values) for name, values in self.weights.items()}
        self.equations.gradients(self.weights, self.data, gradient)
        return gradient

    def signals(self, embedding: Tensor) -> Tensor:
        """Return signals of an embedding."""
        p = embedding.shape[-2]
        coefficients = torch.fft.rfft(embedding, dim=-2)[..., 1 : (p - 1) // 2 + 1, :]
        return torch.linalg.vector_norm(coefficients, dim=-1)

    def norm(self, array: Tensor) -> Tensor:
        """Return the norm of each run's part of a tensor."""
        return torch.linalg.vector_norm(array.flatten(1), dim=1)

    def scale(self, factors: np.ndarray) -> None:
        """Multiply all trained weights of each run by a factor (runs,)."""
        for (rate, _), tensor in self.stack.tensors.items():
            if rate:
                tensor.mul_(torch.as_tensor(factors).to(tensor)[:, None])

    def trained_norms(self) -> np.ndarray:
        """Return the norm of all trained weights of each run, (runs,) float64."""
        trained = [tensor for (rate, _), tensor in self.stack.tensors.items() if rate]
        squares = [tensor.double().square().sum(1) for tensor in trained]
        return torch.stack(squares).sum(0).sqrt().cpu().numpy()

    @np.errstate(over="ignore")  # of a run that diverges
    def keep(self, kind: str, arrays: Mapping[str, Tensor]) -> None:
        """Give the recorder the values of a kind of log at this step; on a GPU, later."""
        if not next(iter(arrays.values())).is_cuda:
            self.recorder.keep(kind, self.done, {k: v.detach().numpy() for k, v in arrays.items()})
            return
        copies = {name: values.to(torch.float32, copy=True) for name, values in arrays.items()}
        self.waiting.append((kind, self.done, copies))
        self.waiting_bytes += sum(values.nbytes for values in copies.values())
        if self.waiting_bytes > RECORDED:
            self.fetch()

    def fetch(self) -> None:
        """Copy the recorded values from the GPU to the CPU, and wait for them."""
        for kind, step, arrays in self.waiting:
            self.recorder.keep(kind, step, on_cpu(arrays))
        self.waiting, self.waiting_bytes = [], 0

    def state(self) -> dict[str, Any]:
        """Return the state with its tensors on the CPU, after it has fetched recorded values."""
        self.fetch()
        return super().state() | {
            "values": on_cpu(self.stack.tensors),
            "optimizer": on_cpu(self.optimizer.state) if self.optimizer else {},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Resume; finished runs need no optimiser state, unless they may continue."""
        super().restore(state)
        copy_exactly(state["values"], self.stack.tensors)
        if self.optimizer and (self.done != self.point.steps or state["optimizer"]):
            copy_exactly(state["optimizer"], self.optimizer.state)
