"""A user's network in a plain PyTorch loop, with which `circlet.training.verify` compares.

The network is a module that keeps its weights, each call is for one run, and gradients are those of
``loss.backward()``. The loop and the optimiser around it are circlet's own.
"""

import contextlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from circlet.systems import trees
from circlet.systems.trees import Tree
from circlet.training.autograd import Examples, FromLoss, first


class PlainLoss(FromLoss):
    """The functions of a system with a gradient, made from its ``loss``, for a single run."""

    def gradients(self, weights: dict[str, Tensor], data: Examples, out: dict[str, Tensor]) -> None:
        """Write the gradient of the loss into ``out``, even if the author has a function for it."""
        self.autograd(weights, data, out)

    def _of_one_run(
        self, weights: dict[str, Tensor], data: Examples, train: Tree
    ) -> dict[str, Tensor | None]:
        network, own = self._holding(weights, data)
        for values in own.values():
            values.grad = None
        with torch.enable_grad():
            self.own.loss(network, first(train)).backward()
        for name, values in own.items():  # in case the call has replaced them
            weights[name].copy_(values.data)
        return {name: values.grad for name, values in own.items()}

    def metrics(self, weights: dict[str, Tensor], data: Examples) -> dict[str, Tensor]:
        """Return the metrics by name, each of shape (1,)."""
        network, _ = self._holding(first(weights), data)
        measured = self.measured(network, first(data.parts))
        return {name: value.detach()[None] for name, value in measured.items()}

    def _holding(self, weights: dict[str, Tensor], data: Examples) -> tuple[Any, dict[str, Tensor]]:
        """Return the network with these weights as its own, and its parameters by name.

        Without a network, both are the weights.
        """
        if data.network is None:
            own = {name: values.detach().requires_grad_() for name, values in weights.items()}
            return own, own
        own = {self.logged(name): values for name, values in data.network.named_parameters()}
        for name, values in own.items():
            values.data = weights[name]
        return data.network, own

    def check_purity(self, weights: dict[str, Tensor], data: Examples) -> None:
        """Check that calls of the functions leave no state; changes the weights of the run.

        A run that resumes from a checkpoint, another block size, or other steps with logs call the
        same functions in another order. Raises CircletError if gradients or metrics differ after a
        call with the same arguments (a clock, data that are changed in place), or after calls with
        others (the best loss so far).
        """

        def call(train: Tree) -> list[Tensor]:
            if self.has_network:
                self.network(data.parameters, data.seeds[0])
            self.examples(data.parameters, data.seeds[0])
            gradients = self._of_one_run(first(weights), data, train).values()
            measured = self.metrics(weights, data).values()
            return [values.clone() for values in (*gradients, *measured) if values is not None]

        train = data.parts["train"]
        once, again = call(train), call(train)
        for factor in (0.5, 4.0, 0.5):
            for values in weights.values():
                values.mul_(factor)
            with contextlib.suppress(Exception):  # an author may refuse such weights
                call(trees.mapped(lambda values: values.flip(1), train))
        for after, later in (("the same arguments", again), ("other arguments", call(train))):
            if not equal(once, later):
                raise self._error(
                    f"loss() or metrics() return other numbers after a call with {after}, and no "
                    "checkpoint has what that call left: let them depend on their arguments "
                    "alone, and change copies of data"
                )


def equal(one: Iterable[Tensor], other: Iterable[Tensor]) -> bool:
    """Return whether tensors are equal up to the order of sums on a GPU; NaN equals NaN."""
    pairs = [(a, b, 1e4 * torch.finfo(a.dtype).eps) for a, b in zip(one, other, strict=True)]
    return all(torch.allclose(a, b, tol, tol, equal_nan=True) for a, b, tol in pairs)
