"""The field's usual code for one run: nn.Module, autograd, torch.optim.

What circlet's trainer must be equal to (the tests) and faster than (the benchmark). A collection
has the plain code of its systems in ``plain/NAME.py``, which defines ``one(parameters, seeds,
dtype)`` and declares the ``CASE`` that is measured. It takes from the system's equations the pairs,
and what is drawn at random: initial values, splits, orders.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from circlet.lazy_import import load
from circlet.study import registry
from circlet.study.seeds import Seeds

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """What is measured of a system: its defaults, but for ``parameters``."""

    parameters: dict[str, Any]
    runs: int  # of a block on a CPU, as in config/config.yaml
    gpu_runs: int  # of a block on a GPU
    steps: int  # of a whole run, as in the paper
    dtype: str = "float32"


@dataclass
class Training:
    """A network, its optimiser and its data; ``step`` by step."""

    network: nn.Module  # called with inputs, gives logits (examples, classes)
    optimizer: torch.optim.Optimizer  # of its parameters
    inputs: tuple[Tensor, ...]  # of the whole train set
    target: Tensor
    batch: Callable[[int], tuple[tuple[Tensor, ...], Tensor]] | None = None
    """If it trains on batches: inputs and target of a step, from 1."""

    def loss(self) -> float:
        """Mean cross-entropy (nat) on the whole train set."""
        with torch.no_grad():
            return nn.functional.cross_entropy(self.network(*self.inputs), self.target).item()

    def step(self, number: int) -> None:
        """Train for one step, of a number from 1."""
        inputs, target = self.batch(number) if self.batch else (self.inputs, self.target)
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.network(*inputs), target).backward()
        self.optimizer.step()


def set_parameters(network: nn.Module, arrays: Arrays, dtype: torch.dtype) -> None:
    """Set parameters to initial values; those of a name such as ``embedding.weight``, too."""
    network.to(dtype)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            key = name if name in arrays else name.removesuffix(".weight")
            parameter.copy_(torch.as_tensor(arrays[key]).view_as(parameter))


def adamw(parameters: dict[str, Any], groups: Any) -> torch.optim.Optimizer:
    """PyTorch's AdamW with the learning rate and the weight decay of a run."""
    return torch.optim.AdamW(
        groups, lr=parameters["learning_rate"], weight_decay=parameters["weight_decay"]
    )


def systems() -> dict[str, str]:
    """Modules with the plain code of circlet's systems, by system."""
    return {name: m for c in registry.SHIPPED for name, m in c.modules("plain").items()}


def of(system: str) -> ModuleType:
    """The plain code of a system."""
    return load(systems()[system])


def one(system: str, parameters: dict[str, Any], seeds: Seeds, dtype: torch.dtype) -> Any:
    """One run of a system: ``step(number)`` advances it; a `Training` if it is trained."""
    return of(system).one(parameters, seeds, dtype)
