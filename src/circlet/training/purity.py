"""Check that a user's functions depend on their arguments alone.

A run that resumes from a checkpoint, another block size, or other steps with logs call the same
functions in another order. What one call leaves for the next would then change the numbers.
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
    """Call the functions of a `circlet.training.autograd.FromLoss`, and see what they leave.

    ``network`` is the module of a run, or its weights by name, and ends with other weights;
    ``parts`` are the run's examples. Raises CircletError if a call writes into weights, buffers or
    data, if anything else differs between two calls with the same arguments (a counter), or if the
    numbers depend on what an earlier call with others has left (the best loss so far).
    """
    path = registry.path_of(equations.system.equations)
    modules = {module.__name__: module for module in registry.modules_of(equations.own)}
    holders: dict[str, Any] = {name.rpartition(".")[2]: m for name, m in modules.items()}
    weights = list(network.values() if isinstance(network, dict) else network.parameters())
    held = [*weights, *trees.tensors(parts)]
    if equations.has_network:
        held += network.buffers()
        holders |= network.named_modules()

    def call(examples: Tree) -> list[Tensor]:
        if equations.has_network:
            equations.network(parameters, seeds)
        equations.examples(parameters, seeds)
        loss = equations.own.loss(network, trees.copied(examples))
        trained = [values for values in weights if values.requires_grad]
        torch.autograd.grad(loss, trained, allow_unused=True)
        with torch.no_grad():
            measured = equations.measured(network, parts).values()
            return [loss.detach().clone(), *(values.clone() for values in measured)]

    def state() -> hidden_state.State:
        found = hidden_state.of_modules(modules.values())
        return found | (hidden_state.of_network(network, True) if equations.has_network else {})

    train = parts["train"]
    with _Writes(held) as writes:
        first, before = call(train), state()
        second, after = call(train), state()
    if writes.found:
        raise CircletError(
            f"{path}: loss() or metrics() changes weights, buffers or data in place "
            f"({writes.found}): change a copy"
        )
    changed = hidden_state.differences(before, after)
    if changed or not equal(first, second):
        raise CircletError(
            f"{path}: {changed[0] if changed else 'the loss'} changes at every call, and no "
            "checkpoint has it: let network(), data(), loss() and metrics() depend on their "
            "arguments alone"
        )
    for factor in (0.5, 4.0, 0.5):
        for values in weights:
            values.data.mul_(factor)
        with contextlib.suppress(Exception):  # an author may refuse such weights
            call(trees.mapped(lambda values: values.flip(0), train))
    left = hidden_state.differences(after, state())
    for absurd in (math.inf, -math.inf):
        _overwrite(left, holders, absurd)
        if not equal(first, call(train)):
            where = f" in {' or '.join(left)}" if left else ""
            raise CircletError(
                f"{path}: what one call leaves{where} changes the next, and no checkpoint has it: "
                "let loss() and metrics() depend on their arguments alone"
            )


def equal(first: Iterable[Tensor], other: Iterable[Tensor]) -> bool:
    """Whether tensors have the same values, but for the order of sums on a GPU, or are NaN."""
    pairs = [(a, b, 1e4 * torch.finfo(a.dtype).eps) for a, b in zip(first, other, strict=True)]
    return all(torch.allclose(a, b, tol, tol, equal_nan=True) for a, b, tol in pairs)


def _overwrite(paths: list[str], holders: dict[str, Any], absurd: float) -> None:
    """Give values that calls have left absurd ones, so that whatever reads them shows it."""
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
        self.found = ""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        arguments = operation._schema.arguments
        given = dict(zip((one.name for one in arguments), args, strict=False)) | (kwargs or {})
        for one in arguments:
            is_written = one.alias_info is not None and one.alias_info.is_write
            if is_written and self.storages.intersection(trees.storages(given.get(one.name))):
                self.found = operation.overloadpacket.__name__
        return operation(*args, **(kwargs or {}))
