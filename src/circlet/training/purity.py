"""Check that a user's functions depend on their arguments alone.

A run that resumes from a checkpoint, another block size, or other steps with logs call the same
functions in another order. State that one call leaves for the next would change the numbers.
"""

import contextlib
import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from circlet.errors import CircletError
from circlet.study import registry
from circlet.study.seeds import Seeds
from circlet.systems import trees
from circlet.systems.trees import Tree
from circlet.training import hidden_state


def check(
    equations: Any, network: Any, parts: dict[str, Tree], parameters: dict[str, Any], seeds: Seeds
) -> None:
    """Check that calls of the functions of a `circlet.training.autograd.FromLoss` leave no state.

    ``network`` is the module of a run, or its weights by name; this check changes the weights.
    ``parts`` are the run's examples. Raises CircletError if a call writes into weights, buffers or
    data, if anything else differs between two calls with the same arguments (a counter), or if the
    numbers depend on state of an earlier call with other arguments (the best loss so far).
    """
    calls = _Calls(equations, network, parts, parameters, seeds)
    first, after = calls.refuse_changes()
    calls.refuse_memory(first, after)


class _Calls:
    """Calls of a user's functions for one run, and the state that they leave behind."""

    def __init__(
        self,
        equations: Any,
        network: Any,
        parts: dict[str, Tree],
        parameters: dict[str, Any],
        seeds: Seeds,
    ):
        self.equations, self.network, self.parts = equations, network, parts
        self.parameters, self.seeds = parameters, seeds
        self.path = registry.path_of(equations.system.equations)
        self.modules = {m.__name__: m for m in registry.modules_of(equations.own)}
        self.weights = list(network.values() if isinstance(network, dict) else network.parameters())

    def _call(self, examples: Tree) -> list[Tensor]:
        """Call all functions; returns the loss on some examples, and the metrics."""
        if self.equations.has_network:
            self.equations.network(self.parameters, self.seeds)
        self.equations.examples(self.parameters, self.seeds)
        loss = self.equations.own.loss(self.network, trees.copied(examples))
        trained = [values for values in self.weights if values.requires_grad]
        torch.autograd.grad(loss, trained, allow_unused=True)
        with torch.no_grad():
            measured = self.equations.measured(self.network, self.parts).values()
            return [loss.detach().clone(), *(values.clone() for values in measured)]

    def _state(self) -> hidden_state.State:
        state = hidden_state.of_modules(self.modules.values())
        if self.equations.has_network:
            state |= hidden_state.of_network(self.network, True)
        return state

    def refuse_changes(self) -> tuple[list[Tensor], hidden_state.State]:
        """Call twice with the same arguments; returns the first numbers, and the state after both.

        Raises CircletError if a call changes anything.
        """
        tensors = [*self.weights, *trees.tensors(self.parts)]
        if self.equations.has_network:
            tensors += self.network.buffers()
        with _Writes(tensors) as writes:
            first, before = self._call(self.parts["train"]), self._state()
            second, after = self._call(self.parts["train"]), self._state()
        if writes.operation:
            raise CircletError(
                f"{self.path}: loss() or metrics() changes weights, buffers or data in place "
                f"({writes.operation}): change a copy"
            )
        changed = hidden_state.differences(before, after)
        if changed or not equal(first, second):
            raise CircletError(
                f"{self.path}: {changed[0] if changed else 'the loss'} changes at every call, and "
                "no checkpoint has it: let network(), data(), loss() and metrics() depend on their "
                "arguments alone"
            )
        return first, after

    def refuse_memory(self, first: list[Tensor], after: hidden_state.State) -> None:
        """Call with other arguments, and raise CircletError if the first ones give other numbers.

        Attributes that calls have changed are overwritten, so that code that reads them shows it.
        """
        train = self.parts["train"]
        for factor in (0.5, 4.0, 0.5):
            for values in self.weights:
                values.data.mul_(factor)
            with contextlib.suppress(Exception):  # an author may refuse such weights
                self._call(trees.mapped(lambda values: values.flip(0), train))
        remaining = hidden_state.differences(after, self._state())
        holders: dict[str, Any] = {
            name.rpartition(".")[2]: module for name, module in self.modules.items()
        }
        if self.equations.has_network:
            holders |= self.network.named_modules()
        for absurd in (math.inf, -math.inf):
            _overwrite(remaining, holders, absurd)
            if not equal(first, self._call(train)):
                where = f" in {' or '.join(remaining)}" if remaining else ""
                raise CircletError(
                    f"{self.path}: what one call leaves{where} changes the next, and no "
                    "checkpoint has it: let loss() and metrics() depend on their arguments alone"
                )


def equal(first: Iterable[Tensor], other: Iterable[Tensor]) -> bool:
    """Return whether tensors are equal up to the order of sums on a GPU; NaN equals NaN."""
    pairs = [(a, b, 1e4 * torch.finfo(a.dtype).eps) for a, b in zip(first, other, strict=True)]
    return all(torch.allclose(a, b, tol, tol, equal_nan=True) for a, b, tol in pairs)


def _overwrite(paths: list[str], holders: dict[str, Any], absurd: float) -> None:
    """Overwrite values that calls have left with absurd ones, so that reading them shows."""
    for path in paths:
        holder, _, name = path.rpartition(".")
        value = vars(holders[holder]).get(name) if holder in holders else None
        if isinstance(value, bool):
            setattr(holders[holder], name, not value)
        elif isinstance(value, float):
            setattr(holders[holder], name, absurd)
        elif isinstance(value, Tensor) and value.is_floating_point():
            setattr(holders[holder], name, torch.full_like(value, absurd))


class _Writes(TorchDispatchMode):
    """Finds an operation that writes into some tensors, or parts of them."""

    def __init__(self, tensors: list[Tensor]):
        super().__init__()
        self.storages = set(trees.storages(tensors))
        self.operation = ""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        arguments = operation._schema.arguments
        by_name = dict(zip((argument.name for argument in arguments), args, strict=False)) | (
            kwargs or {}
        )
        for argument in arguments:
            is_written = argument.alias_info is not None and argument.alias_info.is_write
            if is_written and self.storages.intersection(
                trees.storages(by_name.get(argument.name))
            ):
                self.operation = operation.overloadpacket.__name__
        return operation(*args, **(kwargs or {}))
