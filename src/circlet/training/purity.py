"""Check that a user's functions depend on their arguments alone.

A run that resumes from a checkpoint, another block size, or other steps with logs call the same
functions in another order. State that one call leaves for the next would change the numbers.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor

from circlet.errors import CircletError
from circlet.study.registry import path_of
from circlet.systems import trees
from circlet.systems.trees import Tree
from circlet.training.autograd import Examples, FromLoss


def check(equations: FromLoss, weights: dict[str, Tensor], data: Examples) -> None:
    """Check that calls of the functions of a run leave no state; this changes its weights.

    Raises CircletError if gradients or metrics of some arguments differ after a call with the same
    arguments (a clock, data that are changed in place), or after calls with others (the best loss
    so far).
    """

    def call(train: Tree) -> list[Tensor]:
        if equations.has_network:
            equations.network(data.parameters, data.seeds[0])
        equations.examples(data.parameters, data.seeds[0])
        gradients = {name: torch.zeros_like(values) for name, values in weights.items()}
        equations.autograd(weights, replace(data, parts={"train": train}), gradients)
        measured = equations.metrics(weights, data)
        return [values.clone() for values in (*gradients.values(), *measured.values())]

    train = data.parts["train"]
    once, again = call(train), call(train)
    for factor in (0.5, 4.0, 0.5):
        for values in weights.values():
            values.mul_(factor)
        with contextlib.suppress(Exception):  # an author may refuse such weights
            call(trees.mapped(lambda values: values.flip(1), train))
    for after, later in (("the same arguments", again), ("other arguments", call(train))):
        if not equal(once, later):
            raise CircletError(
                f"{path_of(equations.system.equations)}: loss() or metrics() return other numbers "
                f"after a call with {after}, and no checkpoint has what that call left: let them "
                "depend on their arguments alone, and change copies of data"
            )


def equal(one: Iterable[Tensor], other: Iterable[Tensor]) -> bool:
    """Return whether tensors are equal up to the order of sums on a GPU; NaN equals NaN."""
    pairs = [(a, b, 1e4 * torch.finfo(a.dtype).eps) for a, b in zip(one, other, strict=True)]
    return all(torch.allclose(a, b, tol, tol, equal_nan=True) for a, b, tol in pairs)
