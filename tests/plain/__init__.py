"""The field's usual code for one run of a system: nn.Module, autograd, torch.optim.

circlet's trainer must give the same results; ``python tests/plain`` times this code. A module,
named as its system, defines ``network`` and ``examples``, or ``one(parameters, seeds, dtype)``.
Pairs and all draws (initial values, splits, orders) come from the system's equations.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from circlet.study.seeds import Seeds

Arrays = dict[str, np.ndarray]
Examples = tuple[Tensor, ...]


@dataclass
class Training:
    """A network, its optimiser and its examples; ``step`` trains it."""

    network: nn.Module
    optimizer: torch.optim.Optimizer  # of its parameters
    examples: Examples  # the whole train set
    batch: Callable[[int], Examples] | None = None
    """If it trains on batches: the examples of a step, from 1."""

    def loss(self) -> float:
        """The loss on the whole train set."""
        with torch.no_grad():
            return cross_entropy(self.network, self.examples).item()

    def step(self, number: int) -> None:
        """Train for one step; steps count from 1."""
        self.optimizer.zero_grad()
        chosen = self.batch(number) if self.batch else self.examples
        cross_entropy(self.network, chosen).backward()
        self.optimizer.step()


def set_parameters(network: nn.Module, arrays: Arrays) -> None:
    """Set parameters to initial values, where ``embedding`` may stand for ``embedding.weight``."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            key = name if name in arrays else name.removesuffix(".weight")
            parameter.copy_(torch.as_tensor(arrays[key]).view_as(parameter))


def cross_entropy(network: nn.Module, examples: Examples) -> Tensor:
    """Mean cross-entropy (nat); the last of the examples' tensors has the classes."""
    *inputs, target = examples
    return nn.functional.cross_entropy(network(*inputs), target)


def one(system: str, parameters: dict[str, Any], seeds: Seeds, dtype: torch.dtype) -> Any:
    """Return a run of a system: ``step(number)`` advances it; a `Training` if it is trained."""
    module = importlib.import_module(f"plain.{system}")
    if hasattr(module, "one"):
        return module.one(parameters, seeds, dtype)
    network = module.network(parameters, seeds).to(dtype)
    optimizer = torch.optim.AdamW(
        network.parameters(),
        lr=parameters["learning_rate"],
        weight_decay=parameters["weight_decay"],
    )
    return Training(network, optimizer, module.examples(parameters, seeds))
