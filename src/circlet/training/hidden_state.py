"""What a network holds beside its weights and buffers: attributes, lists, closures, generators.

circlet stacks weights and buffers of many runs and calls one network with them. All else that a
network holds is therefore shared by the runs, and no checkpoint has it.
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
    """State of a generator of random numbers, which may differ where nothing is drawn any more."""

    __slots__ = ()


def of_network(network: nn.Module, values: bool = False) -> State:
    """The state of a network; weights and buffers by shape and whether they train, or by value."""
    registered = (*network.modules(), *network.parameters(), *network.buffers())
    seen: Seen = {id(value): (i, value) for i, value in enumerate(registered)}
    found: State = {}
    for path, module in network.named_modules():
        found[path] = type(module).__qualname__
        arrays = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
        for name, array in arrays:
            kind = str(array.dtype), tuple(array.shape), array.requires_grad
            found[_joined(path, name)] = (kind, _array(_numbers(array)) if values else None)
            if vars(array):  # what an author has written on it
                found |= _walk(f"{_joined(path, name)}()", vars(array), seen)
        for name, value in vars(module).items():
            if "_hooks" in name and name in _OF_EVERY_MODULE:
                found |= _walk(_joined(path, "hooks") + name, [*value.values()], seen)
            elif name not in _OF_EVERY_MODULE:
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


def _numbers(tensor: Tensor) -> np.ndarray:
    dense = tensor.detach().cpu().to_dense().resolve_conj().resolve_neg()
    return (dense.double() if dense.is_floating_point() else dense).numpy()


def _array(values: np.ndarray) -> tuple[str, tuple[int, ...], str]:
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
    return str(values.dtype), values.shape, digest


def _is_state(name: str, value: Any, module: types.ModuleType) -> bool:
    """Whether a global variable is no module, and no function or class of another module."""
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return value.__module__ == module.__name__
    return not (name.startswith("__") or isinstance(value, types.ModuleType))


def _walk(path: str, value: Any, seen: Seen) -> Iterator[tuple[str, Any]]:
    """The state of a value and of all that it refers to, once each."""
    match value:
        case None | bool() | int() | str() | bytes():
            yield path, value
            return
        case float() | complex():
            yield path, repr(value)  # NaN equals NaN
            return
        case torch.dtype() | torch.device() | np.generic() | types.ModuleType():
            yield path, repr(value)
            return
    if id(value) in seen:
        yield path, ("the same as", seen[id(value)][0])
        return
    seen[id(value)] = len(seen), value
    match value:
        case Tensor() if value.grad_fn is not None:
            yield path, ("computed", tuple(value.shape))  # from weights: an activation, say
        case Tensor():
            try:
                yield path, _array(_numbers(value))
            except (RuntimeError, TypeError):  # quantised, nested, or without numbers: "meta"
                yield path, str(value.dtype)
        case np.ndarray() if value.dtype != object:
            yield path, _array(value)
        case np.random.Generator():
            yield path, Stream(value.bit_generator.state)
        case np.random.RandomState():
            yield path, Stream(value.get_state(legacy=False))
        case random.Random():
            yield path, Stream(value.getstate())
        case torch.Generator():
            yield path, Stream(value.get_state().tolist())
        case Seeds() | RemovableHandle():  # of hooks
            yield path, type(value).__qualname__
        case Mapping() if all(isinstance(item, int | float | str) for item in value.values()):
            yield path, repr([(_name(key), item) for key, item in value.items()])
        case Mapping():
            yield path, (type(value).__qualname__, [_name(key) for key in value])
            for key, item in list(value.items()):
                yield from _walk(_joined(path, _name(key)), item, seen)
        case list() | tuple() if all(isinstance(item, int | float | str) for item in value):
            yield path, repr(value)
        case list() | tuple() | deque() | np.ndarray():
            items = list(np.atleast_1d(value)) if isinstance(value, np.ndarray) else list(value)
            yield path, (type(value).__qualname__, len(items))
            for i, item in enumerate(items):
                yield from _walk(_joined(path, str(i)), item, seen)
        case set() | frozenset():
            yield path, sorted(map(_name, value))
        case types.MethodType():
            yield from _walk(path, (value.__func__, value.__self__), seen)
        case staticmethod() | classmethod():
            yield from _walk(path, value.__func__, seen)
        case property():
            yield from _walk(path, (value.fget, value.fset, value.fdel), seen)
        case types.FunctionType():
            cells = [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
            yield path, value.__code__
            held = (cells, value.__defaults__, value.__kwdefaults__, vars(value))
            yield from _walk(path + "()", held, seen)
        case types.GeneratorType():
            yield path, value.gi_frame and value.gi_frame.f_lasti
            yield from _walk(path, inspect.getgeneratorlocals(value), seen)
        case type():  # which copyreg writes into, too
            own = {k: v for k, v in vars(value).items() if k != "__slotnames__"}
            yield from _walk(path, own, seen)
        case _:
            yield from _walk(path, _state(value), seen)


def _state(value: Any) -> Any:
    """What ``copy`` and ``pickle`` would keep of a value: its attributes, or what made it."""
    own = getattr(value, "__dict__", {})
    with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):  # it is found by its name, such as a function with a cache
            return {"": reduced} | own
        _, arguments, *state = reduced
        own = state[0] if state and isinstance(state[0], dict) else [arguments, *state[:1]]
    return {"": type(value).__qualname__} | own if isinstance(own, dict) else own


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
