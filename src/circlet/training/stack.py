"""The arrays of all runs of a block in as few tensors as their learning rates allow."""

import numpy as np
import torch
from torch import Tensor


class Stack:
    """Arrays of all runs: one tensor per learning rate, and views of them by name.

    Few tensors let the optimiser take a step for all arrays of all runs in few passes.

    Attributes
    ----------
    tensors
        By learning rate (as a multiple of the system's), shape (runs, values).
    arrays
        Views by name, shape (runs, *shape), in the order of the system.
    """

    def __init__(
        self,
        tensors: dict[float, Tensor],
        shapes: dict[str, tuple[int, ...]],
        rates: dict[str, float],
    ):
        self.tensors, self.shapes, self.rates = tensors, shapes, rates
        views = {}
        for rate, tensor in tensors.items():
            own = {name: shape for name, shape in shapes.items() if rates.get(name, 1) == rate}
            parts = tensor.split([int(np.prod(shape)) for shape in own.values()], dim=1)
            for (name, shape), part in zip(own.items(), parts, strict=True):
                views[name] = part.view(len(tensor), *shape)
        self.arrays = {name: views[name] for name in shapes}

    def zeros(self) -> "Stack":
        """A stack of the same layout, all zero: of gradients, say."""
        zeros = {rate: torch.zeros_like(tensor) for rate, tensor in self.tensors.items()}
        return Stack(zeros, self.shapes, self.rates)

    def finite(self) -> Tensor:
        """Whether all values of a run are finite, shape (runs,)."""
        return torch.stack([torch.isfinite(t).all(1) for t in self.tensors.values()]).all(0)


def stacked(
    runs: list[dict[str, np.ndarray]],
    dtype: torch.dtype,
    device: torch.device,
    rates: dict[str, float] | None = None,
) -> Stack:
    """The arrays of all runs, given those of each; ``rates`` by name where they are not 1."""
    rates = rates or {}
    groups: dict[float, list[str]] = {}
    for name in runs[0]:
        groups.setdefault(rates.get(name, 1), []).append(name)
    tensors = {}
    for rate, names in groups.items():
        rows = [np.concatenate([run[name].ravel() for name in names]) for run in runs]
        tensors[rate] = torch.as_tensor(np.stack(rows)).to(dtype=dtype, device=device)
    return Stack(tensors, {name: array.shape for name, array in runs[0].items()}, rates)


def copy_exactly(saved: dict[float, Tensor], into: dict[float, Tensor]) -> None:
    """Copy tensors by name; raises ValueError if two are not alike, where PyTorch would convert."""
    for name, tensor in into.items():
        check_alike(saved[name], tensor.shape, tensor.dtype)
        tensor.copy_(saved[name])


def check_alike(tensor: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """Raise ValueError unless a tensor is a plain one on the CPU, of this shape and type."""
    plain = tensor.layout == torch.strided and tensor.device.type == "cpu"
    if not plain or tensor.shape != shape or tensor.dtype != dtype:
        raise ValueError(f"a tensor of {tensor.dtype} has the shape {tuple(tensor.shape)}")
