"""What a network holds beside its weights and buffers: attributes, lists, closures, generators.

circlet stacks weights and buffers of many runs and calls one network with them. All else that a
network holds is therefore shared by the runs, and no checkpoint has it.
"""

import functools
import hashlib
import itertools
import random
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

State = dict[str, Any]
"""Values that can be compared, by the path of what has them: ``layers.0.mask``."""

Seen = dict[int, tuple[int, Any]]
"""Number and value by the identity of each value, kept so that no other gets its identity."""

_OF_EVERY_MODULE = vars(nn.Module()).keys() - {"training"}


def of_network(network: nn.Module) -> State:
    """The state of a network; of weights and buffers only the shapes and whether they train."""
    registered = (*network.modules(), *network.parameters(), *network.buffers())
    seen: Seen = {id(value): (i, value) for i, value in enumerate(registered)}
    found: State = {}
    for path, module in network.named_modules():
        found[path] = type(module).__qualname__
        arrays = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
        for name, values in arrays:
            kind = str(values.dtype), tuple(values.shape), values.requires_grad
            found[_joined(path, name)] = kind
        for name, value in vars(module).items():
            if name not in _OF_EVERY_MODULE:
                found |= _walk(_joined(path, name), value, seen)
    return found


def of_modules(modules: Iterable[types.ModuleType]) -> State:
    """The state of Python modules: their global variables, and those of their classes."""
    seen: Seen = {}
    found: State = {}
    for module in modules:
        values = {k: v for k, v in vars(module).items() if _is_state(k, v, module)}
        found |= _walk(module.__name__.rpartition(".")[2], values, seen)
    return found


def differences(first: State, other: State) -> list[str]:
    """The paths at which two states differ."""
    missing = object()
    paths = dict.fromkeys([*first, *other])
    return [path for path in paths if first.get(path, missing) != other.get(path, missing)]


def without_activations(state: State) -> State:
    """A state without the values of floating-point arrays of several numbers.

    Networks may keep activations that the same call reads. Counters and the like stay.
    """

    def kept(value: Any) -> Any:
        return value[:-1] if isinstance(value, _Array) and value.is_activation else value

    return {path: kept(value) for path, value in state.items()}


class _Array(tuple):
    """Type, shape and digest of an array."""

    __slots__ = ()

    @property
    def is_activation(self) -> bool:
        """Whether it may be an activation: floats, and not only one."""
        kind, shape, _ = self
        return "float" in kind and shape not in ((), (1,))


def _numbers(tensor: Tensor) -> np.ndarray:
    dense = tensor.detach().cpu().to_dense().resolve_conj().resolve_neg()
    return (dense.double() if dense.is_floating_point() else dense).numpy()


def _array(values: np.ndarray) -> _Array:
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
    return _Array((str(values.dtype), values.shape, digest))


def _is_state(name: str, value: Any, module: types.ModuleType) -> bool:
    if isinstance(value, type):
        return value.__module__ == module.__name__
    return not (name.startswith("__") or isinstance(value, types.ModuleType) or callable(value))


def _walk(path: str, value: Any, seen: Seen) -> Iterator[tuple[str, Any]]:
    """The state of a value and of all that it refers to, once each."""
    match value:
        case None | bool() | int() | str() | bytes():
            yield path, value
            return
        case float() | complex():
            yield path, repr(value)  # NaN equals NaN
            return
        case torch.dtype() | torch.device() | itertools.count():
            yield path, repr(value)
            return
    if id(value) in seen:
        yield path, ("the same as", seen[id(value)][0])
        return
    seen[id(value)] = len(seen), value
    match value:
        case Tensor():
            yield path, _array(_numbers(value))
        case np.ndarray() if value.dtype != object:
            yield path, _array(value)
        case np.random.Generator():
            yield from _walk(path, value.bit_generator.state, seen)
        case np.random.RandomState():
            yield path, repr(value.get_state(legacy=False))
        case random.Random():
            yield path, hash(value.getstate())
        case torch.Generator():
            yield from _walk(path, value.get_state(), seen)
        case Mapping():
            yield path, (type(value).__qualname__, [_name(key) for key in value])
            for key, item in list(value.items()):
                yield from _walk(_joined(path, _name(key)), item, seen)
        case list() | tuple() if all(isinstance(item, int | float | str) for item in value):
            yield path, repr(value)
        case list() | tuple() | deque() | np.ndarray():
            yield path, (type(value).__qualname__, len(value))
            for i, item in enumerate(list(value)):
                yield from _walk(_joined(path, str(i)), item, seen)
        case set() | frozenset():
            yield path, sorted(map(_name, value))
        case functools.partial():
            yield from _walk(path, (value.func, value.args, value.keywords), seen)
        case types.MethodType():
            yield from _walk(path, (value.__func__, value.__self__), seen)
        case types.FunctionType():
            cells = [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
            yield path, (value.__qualname__, value.__code__.co_code)
            yield from _walk(path + "()", (cells, value.__defaults__, value.__kwdefaults__), seen)
        case type():
            own = {k: v for k, v in vars(value).items() if not _is_method(k, v)}
            yield path, value.__qualname__
            yield from _walk(path, own, seen)
        case _:
            yield path, type(value).__qualname__
            yield from _attributes(path, value, seen)


def _attributes(path: str, value: Any, seen: Seen) -> Iterator[tuple[str, Any]]:
    slots = [n for c in type(value).__mro__ for n in getattr(c, "__slots__", ()) if n[:2] != "__"]
    named = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    for name, item in (named | getattr(value, "__dict__", {})).items():
        yield from _walk(_joined(path, name), item, seen)


def _joined(path: str, name: str) -> str:
    return path if name in _OF_EVERY_MODULE else f"{path}.{name}".strip(".")


def _name(key: Any) -> str:
    return repr(key) if not isinstance(key, str) else key


def _is_full(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that has no value yet
        return False


def _is_method(name: str, value: Any) -> bool:
    return name.startswith("__") or callable(value) or hasattr(value, "__get__")
