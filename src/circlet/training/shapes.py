"""Checks of the shapes of arrays that a system's equations return, once per run.

PyTorch broadcasts where shapes differ: a gradient without the axis of the runs would silently train
all runs on the gradient of one.
"""

from collections.abc import Callable, Mapping
from typing import Any

from jaxtyping import Float
from torch import Tensor

from circlet.errors import CircletError

_FLOATS: Any = Float[Any, "..."]
Gradients = Callable[[dict[str, Tensor], Any, dict[str, Tensor]], None]


def check(what: str, arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Check names and shapes of float arrays; raises CircletError naming the system (``what``)."""
    for name in [*shapes, *(arrays.keys() - shapes.keys())]:
        array: Any = arrays.get(name)
        shape = shapes.get(name)
        if shape is None or not isinstance(array, _FLOATS) or tuple(array.shape) != tuple(shape):
            it = f"{array.dtype} {tuple(array.shape)}" if hasattr(array, "shape") else repr(array)
            expected = "no such array" if shape is None else f"floats {tuple(shape)}"
            raise CircletError(f"{what} {name}: found {it}, expected {expected}")


def checked(system: str, gradients: Gradients) -> Gradients:
    """Return the function with a check, in its first call, that it writes the weights' shapes."""
    first = True

    def call(weights: dict[str, Tensor], data: Any, out: dict[str, Tensor]) -> None:
        nonlocal first
        if not first:
            gradients(weights, data, out)
            return
        first, guarded = False, {name: values.as_subclass(_Guarded) for name, values in out.items()}
        for name, values in guarded.items():
            values.array = f"{system}: gradient of", name
        gradients(weights, data, guarded)
        check(f"{system}: gradient of", guarded, {name: a.shape for name, a in weights.items()})
        for name, values in guarded.items():
            if not isinstance(values, _Guarded):
                raise CircletError(
                    f"{system}: gradient of {name}: must be written in place, not replaced"
                )

    return call


class _Guarded(Tensor):
    """A tensor, or a part of it, that refuses to be overwritten by values of another shape."""

    array = "gradient", ""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        guarded = next((value for value in args if isinstance(value, cls)), cls)
        what, name = guarded.array
        if function is Tensor.copy_ and guarded is args[0]:
            check(what, {name: args[1]}, {name: guarded.shape})
        result = super().__torch_function__(function, types, args, kwargs)
        if isinstance(result, cls):
            result.array = guarded.array
        return result
