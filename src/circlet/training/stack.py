"""Arrays of all runs of a group, with one tensor per learning rate and weight decay."""

import copy
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from circlet.systems import trees


class Stack:
    """Arrays of all runs: one tensor per learning rate and weight decay, and views by name.

    With few tensors the optimiser needs few passes for all arrays of all runs. ``tensors`` are
    keyed by the multiples of learning rate and weight decay, (runs, values); ``arrays`` are views
    of them by name, (runs, *shape). Both are made from the arrays of each run by name, and from
    ``rates`` and ``decays``: the multiples by name, where they are not 1.
    """

    def __init__(
        self,
        runs: list[dict[str, np.ndarray]],
        dtype: torch.dtype,
        device: torch.device,
        rates: dict[str, float] | None = None,
        decays: dict[str, float] | None = None,
    ):
        rates, decays = rates or {}, decays or {}
        multiples = {name: (rates.get(name, 1.0), decays.get(name, 1.0)) for name in runs[0]}
        self.tensors: dict[tuple[float, float], Tensor] = {}
        views = {}
        for multiple in dict.fromkeys(multiples.values()):
            names = [name for name in runs[0] if multiples[name] == multiple]
            rows = [np.concatenate([run[name].ravel() for name in names]) for run in runs]
            tensor = torch.as_tensor(np.stack(rows)).to(dtype=dtype, device=device)
            parts = tensor.split([runs[0][name].size for name in names], dim=1)
            for name, part in zip(names, parts, strict=True):
                views[name] = part.view(len(runs), *runs[0][name].shape)
            self.tensors[multiple] = tensor
        self.arrays = {name: views[name] for name in runs[0]}

    def zeros(self) -> "Stack":
        """Return a stack of the same layout, all zero, for example for gradients."""
        zeros = copy.deepcopy(self)  # views of a tensor stay views
        for tensor in zeros.tensors.values():
            tensor.zero_()
        return zeros

    def finite(self) -> Bool[Tensor, " runs"]:
        """Return whether all values of a run are finite."""
        return torch.stack([torch.isfinite(t).all(1) for t in self.tensors.values()]).all(0)


def on_cpu(value: Any) -> Any:
    """Return a copy of a tensor, or of all tensors in a dictionary, as arrays."""
    return trees.mapped(lambda tensor: np.array(tensor.detach().cpu().numpy()), value)


def copy_exactly(saved: Any, into: Any) -> None:
    """Copy an array, or all arrays in a dictionary, into tensors on any device."""
    trees.mapped(lambda tensor, array: tensor.copy_(torch.from_numpy(array.copy())), into, saved)
