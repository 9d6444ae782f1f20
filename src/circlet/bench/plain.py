"""The field's usual code for one run: nn.Module, autograd, torch.optim.

The tests check that circlet's trainer gives the same results, and the benchmark measures how much
faster it is. A collection has the plain code of its systems in ``plain/NAME.py``. It declares the
``CASE`` that is measured and, like a user's own network, defines ``network``, ``data`` and ``loss``
(`circlet.systems`); a system that is not a network defines ``one(parameters, seeds, dtype)``. It
takes the pairs and all random draws (initial values, splits, orders) from the system's equations.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from circlet.lazy_import import load
from circlet.study import registry
from circlet.study.seeds import Seeds
from circlet.systems.spec import Metric, SystemSpec

Arrays = dict[str, np.ndarray]
Examples = tuple[Tensor, ...]


@dataclass(frozen=True)
class Case:
    """A system to measure, at its defaults except for ``parameters``."""

    parameters: dict[str, Any]
    runs: int  # of a block on a CPU, as in config/standard.yaml
    gpu_runs: int  # of a block on a GPU
    steps: int  # of a whole run, as in the paper
    dtype: str = "float32"


@dataclass
class Training:
    """A network, its optimiser and its examples; ``step`` by step."""

    network: nn.Module
    optimizer: torch.optim.Optimizer  # of its parameters
    examples: Examples  # the whole train set
    loss_of: Callable[[nn.Module, Examples], Tensor]
    batch: Callable[[int], Examples] | None = None
    """If it trains on batches: the examples of a step, from 1."""

    def loss(self) -> float:
        """The loss on the whole train set."""
        with torch.no_grad():
            return self.loss_of(self.network, self.examples).item()

    def step(self, number: int) -> None:
        """Train for one step, of a number from 1."""
        self.optimizer.zero_grad()
        self.loss_of(self.network, self.batch(number) if self.batch else self.examples).backward()
        self.optimizer.step()


def set_parameters(network: nn.Module, arrays: Arrays) -> None:
    """Set parameters to initial values; those of a name such as ``embedding.weight``, too."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            key = name if name in arrays else name.removesuffix(".weight")
            parameter.copy_(torch.as_tensor(arrays[key]).view_as(parameter))


def cross_entropy(network: nn.Module, examples: Examples) -> Tensor:
    """Mean cross-entropy (nat); the last of the examples' tensors has the classes."""
    *inputs, target = examples
    return nn.functional.cross_entropy(network(*inputs), target)


def systems() -> dict[str, str]:
    """Modules with the plain code of circlet's systems, by system."""
    return {name: m for c in registry.SHIPPED for name, m in c.modules("plain").items()}


def of(system: str) -> ModuleType:
    """The plain code of a system."""
    return load(systems()[system])


def as_module(system: SystemSpec) -> SystemSpec | None:
    """The system as its plain code has it, a network and its loss; None if it is no network."""
    if not hasattr(of(system.name), "network"):
        return None
    return replace(
        system,
        equations=systems()[system.name],
        embedding="embedding.weight",
        metrics={"train_loss": Metric("mean cross-entropy on the train set", "nat")},
        flops_per_step=None,
        weights=None,
        activations=None,
        cpu_batch=None,
    )


def one(system: str, parameters: dict[str, Any], seeds: Seeds, dtype: torch.dtype) -> Any:
    """One run of a system: ``step(number)`` advances it; a `Training` if it is trained."""
    own = of(system)
    if hasattr(own, "one"):
        return own.one(parameters, seeds, dtype)
    network = own.network(parameters, seeds).to(dtype)
    optimizer = torch.optim.AdamW(
        network.parameters(),
        lr=parameters["learning_rate"],
        weight_decay=parameters["weight_decay"],
    )
    return Training(network, optimizer, own.data(parameters, seeds)["train"], own.loss)
