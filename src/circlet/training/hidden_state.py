"""Hidden state of a network beside weights and buffers: attributes, lists, closures, generators.

circlet stacks weights and buffers of many runs and calls one network with them. Runs therefore
share all else that a network holds, and checkpoints do not contain it.
"""

import contextlib
import hashlib
import inspect
import random
import types
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from circlet.study.seeds import Seeds

State = dict[str, Any]
"""Values that can be compared, by the path of what has them: ``layers.0.mask``."""

Seen = dict[int, tuple[int, Any]]
"""Number and value by the identity of each value, kept so that no other gets its identity."""

_OF_EVERY_MODULE = vars(nn.Module()).keys() - {"training"}


class Stream(str):
    """State of a random generator; it may differ between networks that no longer draw."""

    __slots__ = ()


def of_network(network: nn.Module, values: bool = False) -> State:
    """Return a network's state; weights and buffers by dtype, shape and gradient, or by value."""
    registered = (*network.modules(), *network.parameters(), *network.buffers())
    seen: Seen = {id(value): (i, value) for i, value in enumerate(registered)}
    state: State = {}
    for path, module in network.named_modules():
        state[path] = type(module).__qualname__
        arrays = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
        for name, array in arrays:
            kind = str(array.dtype), tuple(array.shape), array.requires_grad
            state[_joined(path, name)] = (kind, _array(_numbers(array)) if values else None)
            if vars(array):  # attributes that an author has set on the array
                state |= _walk(f"{_joined(path, name)}()", vars(array), seen)
        for name, value in vars(module).items():
            if "_hooks" in name and name in _OF_EVERY_MODULE:
                state |= _walk(_joined(path, "hooks") + name, [*value.values()], seen)
            elif name not in _OF_EVERY_MODULE:
                state |= _walk(_joined(path, name), value, seen)
    return state


def of_modules(modules: Iterable[types.ModuleType]) -> State:
    """Return the state of Python modules: global variables, and variables of their classes."""
    seen: Seen = {}
    state: State = {}
    for module in modules:
        values = {k: v for k, v in vars(module).items() if _is_state(k, v, module)}
        state |= _walk(module.__name__.rpartition(".")[2], values, seen)
    return state


def differences(first: State, other: State) -> list[str]:
    """Return the paths at which two states differ."""
    missing = object()
    paths = dict.fromkeys([*first, *other])
    return [path for path in paths if first.get(path, missing) != other.get(path, missing)]


def _numbers(tensor: Tensor) -> np.ndarray:
    dense = tensor.detach().cpu().to_dense().resolve_conj().resolve_neg()
    return (dense.double() if dense.is_floating_point() else dense).numpy()


def _array(values: np.ndarray) -> tuple[str, tuple[int, ...], str]:
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
    return str(values.dtype), values.shape, digest


def _is_state(name: str, value: Any, module: types.ModuleType) -> bool:
    """Return whether a global variable is no module, and no function or class of another module."""
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return value.__module__ == module.__name__
    return not (name.startswith("__") or isinstance(value, types.ModuleType))


def _walk(path: str, value: Any, seen: Seen) -> Iterator[tuple[str, Any]]:
    """Yield the state of a value and of all that it refers to, once each."""
    match value:
        case None | bool() | int() | str() | bytes():
            yield path, value
            return
        case float() | complex() | torch.dtype() | torch.device() | np.generic():
            yield path, repr(value)  # NaN equals NaN
            return
        case types.ModuleType():
            yield path, repr(value)
            return
    if id(value) in seen:
        yield path, ("the same as", seen[id(value)][0])
        return
    seen[id(value)] = len(seen), value
    whole = _stream(value) or _whole(value)
    if whole is not None:
        yield path, whole
        return
    for shallow in _shallow(value):
        yield path, shallow
    for place, part in _parts(path, value):
        yield from _walk(place, part, seen)


def _stream(value: Any) -> Stream | None:
    """Return the state of a generator of random numbers; None of anything else."""
    match value:
        case np.random.Generator():
            return Stream(value.bit_generator.state)
        case np.random.RandomState():
            return Stream(value.get_state(legacy=False))
        case random.Random():
            return Stream(value.getstate())
        case torch.Generator():
            return Stream(value.get_state().tolist())
    return None


def _whole(value: Any) -> Any:
    """Return the state of a value that refers to no other stateful value; None for all others."""
    match value:
        case Tensor() if value.grad_fn is not None:
            return "computed", tuple(value.shape)  # from weights: an activation, say
        case Tensor():
            try:
                return _array(_numbers(value))
            except (RuntimeError, TypeError):  # quantised, nested, or without numbers: "meta"
                return str(value.dtype)
        case np.ndarray() if value.dtype != object:
            return _array(value)
        case Seeds() | RemovableHandle():  # the latter: of hooks
            return type(value).__qualname__
        case Mapping() if _are_plain(value.values()):
            return repr([(_name(key), item) for key, item in value.items()])
        case list() | tuple() if _are_plain(value):
            return repr(value)
        case set() | frozenset():
            return sorted(map(_name, value))
    return None


def _are_plain(values: Iterable[Any]) -> bool:
    return all(isinstance(value, int | float | str) for value in values)


def _shallow(value: Any) -> list[Any]:
    """Return what to compare of a value itself, without its parts; empty if nothing."""
    match value:
        case Mapping():
            return [(type(value).__qualname__, [_name(key) for key in value])]
        case np.ndarray():
            return [(type(value).__qualname__, len(np.atleast_1d(value)))]
        case list() | tuple() | deque():
            return [(type(value).__qualname__, len(value))]
        case types.FunctionType():
            return [value.__code__]
        case types.GeneratorType():
            return [value.gi_frame and value.gi_frame.f_lasti]
    return []


def _parts(path: str, value: Any) -> list[tuple[str, Any]]:
    """Return the values that a value refers to, each after its path."""
    match value:
        case Mapping():
            return [(_joined(path, _name(key)), item) for key, item in value.items()]
        case np.ndarray():
            return _parts(path, list(np.atleast_1d(value)))
        case list() | tuple() | deque():
            return [(_joined(path, str(i)), item) for i, item in enumerate(value)]
        case types.MethodType():
            return [(path, (value.__func__, value.__self__))]
        case staticmethod() | classmethod():
            return [(path, value.__func__)]
        case property():
            return [(path, (value.fget, value.fset, value.fdel))]
        case types.FunctionType():
            cells = [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
            return [(f"{path}()", (cells, value.__defaults__, value.__kwdefaults__, vars(value)))]
        case types.GeneratorType():
            return [(path, inspect.getgeneratorlocals(value))]
        case type():  # copyreg adds __slotnames__ to classes
            return [(path, {k: v for k, v in vars(value).items() if k != "__slotnames__"})]
    return [(path, _state(value))]


def _state(value: Any) -> Any:
    """Return what ``copy`` and ``pickle`` keep of a value: attributes or constructor arguments."""
    attributes = getattr(value, "__dict__", {})
    with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):  # pickled by name, such as a function with a cache
            return {"": reduced} | attributes
        _, arguments, *state = reduced
        attributes = state[0] if state and isinstance(state[0], dict) else [arguments, *state[:1]]
    return (
        {"": type(value).__qualname__} | attributes if isinstance(attributes, dict) else attributes
    )


def _joined(path: str, name: str) -> str:
    return path if name in _OF_EVERY_MODULE else f"{path}.{name}".strip(".")


def _name(key: Any) -> str:
    is_plain = isinstance(key, int | float | bytes | tuple | type(None))
    return key if isinstance(key, str) else repr(key) if is_plain else type(key).__qualname__


def _is_full(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that has no value yet
        return False
