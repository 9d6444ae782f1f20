"""Check that a user's functions depend on their arguments alone.

A run that resumes from a checkpoint, another block size, or other steps with logs call the same
functions in another order. State that one call leaves for the next would change the numbers.
"""

import contextlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from circlet.errors import CircletError
from circlet.study import registry
from circlet.study.seeds import Seeds
from circlet.systems import trees
from circlet.systems.trees import Tree


def check(
    equations: Any, network: Any, parts: dict[str, Tree], parameters: dict[str, Any], seeds: Seeds
) -> None:
    """Check that calls of the functions of a `circlet.training.autograd.FromLoss` leave no state.

    ``network`` is the module of a run, or its weights by name; this check changes the weights.
    ``parts`` are the run's examples. Raises CircletError if loss and metrics of some arguments
    differ after a call with the same arguments (a clock, data that are changed in place), or after
    calls with others (the best loss so far).
    """
    path = registry.path_of(equations.system.equations)
    weights = list(network.values() if isinstance(network, dict) else network.parameters())
    train = parts["train"]

    def call(examples: Tree) -> list[Tensor]:
        if equations.has_network:
            equations.network(parameters, seeds)
        equations.examples(parameters, seeds)
        loss = equations.module.loss(network, trees.copied(examples))
        trained = [values for values in weights if values.requires_grad]
        torch.autograd.grad(loss, trained, allow_unused=True)
        with torch.no_grad():
            measured = equations.measured(network, parts).values()
            return [loss.detach().clone(), *(values.clone() for values in measured)]

    first, second = call(train), call(train)
    for factor in (0.5, 4.0, 0.5):
        for values in weights:
            values.data.mul_(factor)
        with contextlib.suppress(Exception):  # an author may refuse such weights
            call(trees.mapped(lambda values: values.flip(0), train))
    for after, again in (("the same arguments", second), ("other arguments", call(train))):
        if not equal(first, again):
            raise CircletError(
                f"{path}: loss() or metrics() return other numbers after a call with {after}, and "
                "no checkpoint has what that call left: let them depend on their arguments alone, "
                "and change copies of data"
            )


def equal(first: Iterable[Tensor], other: Iterable[Tensor]) -> bool:
    """Return whether tensors are equal up to the order of sums on a GPU; NaN equals NaN."""
    pairs = [(a, b, 1e4 * torch.finfo(a.dtype).eps) for a, b in zip(first, other, strict=True)]
    return all(torch.allclose(a, b, tol, tol, equal_nan=True) for a, b, tol in pairs)
