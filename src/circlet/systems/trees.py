"""Training data as tensors in nested dictionaries, tuples, lists and dataclasses."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

Tree = Any
"""A tensor, or a dictionary, tuple, list or dataclass of trees."""


def leaves(tree: Tree) -> Iterator[Any]:
    """Yield all leaves of a tree, tensors and others, in a fixed order."""
    if isinstance(tree, dict):
        children = list(tree.values())
    elif isinstance(tree, tuple | list):
        children = list(tree)
    elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        children = [getattr(tree, field.name) for field in dataclasses.fields(tree)]
    else:
        yield tree
        return
    for child in children:
        yield from leaves(child)


def tensors(tree: Tree) -> list[Tensor]:
    """Return the tensors of a tree, in a fixed order."""
    return [leaf for leaf in leaves(tree) if isinstance(leaf, Tensor)]


def storages(tree: Tree) -> list[int]:
    """Return the addresses of the memory of a tree's tensors, where these have one."""
    addresses = []
    for tensor in tensors(tree):
        with contextlib.suppress(RuntimeError, NotImplementedError):  # of a sparse one, say
            addresses.append(tensor.untyped_storage().data_ptr())
    return [address for address in addresses if address]


def mapped(function: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Apply a function to corresponding leaves of trees; returns a tree of the same form."""
    if isinstance(tree, dict):
        return {k: mapped(function, tree[k], *(other[k] for other in others)) for k in tree}
    if isinstance(tree, tuple | list):
        parts = (mapped(function, *parts) for parts in zip(tree, *others, strict=True))
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = {
            field.name: mapped(function, *(getattr(t, field.name) for t in (tree, *others)))
            for field in dataclasses.fields(tree)
        }
        return dataclasses.replace(tree, **fields)
    return function(tree, *others)


def copied(tree: Tree) -> Tree:
    """Return the same tensors in new containers, which a user's function may change."""
    return mapped(lambda values: values, tree)


def typed(tree: Tree, dtype: torch.dtype) -> Tree:
    """Return a tree of tensors and numpy arrays as tensors, with floats of one dtype.

    Complex numbers get the precision of that dtype.
    """

    def one(leaf: Any) -> Tensor:
        tensor = torch.as_tensor(leaf)
        if tensor.is_complex():
            return tensor.to(dtype.to_complex())
        return tensor.to(dtype) if tensor.is_floating_point() else tensor

    return mapped(one, tree)


def cast(network: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Convert the weights, buffers and tensors of a network as ``typed`` does; returns the network.

    ``network.to(dtype)`` would drop the imaginary parts of complex buffers.
    """
    for module in network.modules():
        for values in module.parameters(recurse=False):
            values.data = typed(values.data, dtype)
        for name, values in module.named_buffers(recurse=False):
            setattr(module, name, typed(values, dtype))
        for name, values in [*vars(module).items()]:
            if isinstance(values, Tensor):
                setattr(module, name, typed(values, dtype))
    return network
