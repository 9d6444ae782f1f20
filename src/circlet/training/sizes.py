"""Sizes of a step in PyTorch, for systems that do not declare them."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from circlet.study.points import Point
from circlet.systems import trees
from circlet.training import autograd

MAX_DATA_VALUES = 2**26  # most numbers in the data of runs that advance together
MAX_STEP_VALUES = 2**21  # most numbers of a step that fit into the caches of a core


def together(point: Point) -> int:
    """Return the number of runs to train together on a CPU, if their system does not declare it."""
    if not point.system.batched:
        return 1
    if point.system.cpu_batch:
        return int(point.system.cpu_batch(**point.parameters))
    max_runs = MAX_DATA_VALUES // max(1, data_size(point))
    return max(1, min(max_runs, MAX_STEP_VALUES // max(1, activations(point))))


def data_size(point: Point) -> int:
    """Return the number of values in the data of a run."""
    cpu, seeds = torch.device("cpu"), point.seeds(point.all_seeds.start)
    equations = autograd.equations(point.system)
    data = equations.data(point.parameters, [seeds], torch.float32, cpu)
    return sum(tensor.numel() for tensor in trees.tensors(data))


def activations(point: Point, evaluated: bool = False) -> int:
    """Return how many values a step of a run, without the optimiser, or its metrics compute.

    The number follows from shapes alone, so the same runs advance together on all machines.
    """
    cpu, seeds = torch.device("cpu"), point.seeds(point.all_seeds.start)
    equations = autograd.equations(point.system)
    arrays = equations.initial(point.parameters, seeds)
    dtype = getattr(torch, point.settings.dtype)
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
        input_storages = set(trees.storages([args, kwargs]))
        for tensor in trees.tensors(result):
            if not input_storages.intersection(trees.storages(tensor)):
                self.numbers += tensor.numel()
        return result
