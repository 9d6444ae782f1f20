"""Native kernels: the shipped systems in C++, one run at a time, without torch.

The equations in PyTorch are the reference, and compute all that no kernel covers. A kernel trains
one run from one logged step to the next in one call; one run is small enough to stay in the
caches. The library is compiled once for each kind of instructions (`setup.py`), and the best
kind that the processor has is loaded; CIRCLET_INSTRUCTIONS can name a lower one.
"""

import ctypes
import functools
import importlib
import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from circlet.errors import CircletError

SOURCES = Path(__file__).with_name("kernels")
KINDS = {"avx512": 64, "avx2": 32, "plain": 16}  # bytes of a vector
RELU, SILU = 1, 2

WHOLE, REAL, FLAG, ADDRESS = ctypes.c_int64, ctypes.c_double, ctypes.c_int32, ctypes.c_void_p


class Settings(ctypes.Structure):
    """The settings of a system, laid out as in its kernel, with the arrays that they point to.

    ``maker`` is the function of the library that makes a run from them.
    """

    maker = ""

    def __init__(self, **values: Any):
        arrays = {k: v for k, v in values.items() if isinstance(v, np.ndarray)}
        self.arrays = arrays  # kept alive while the kernel reads them
        super().__init__(**values | {k: array.ctypes.data for k, array in arrays.items()})


class PairNetwork(Settings):
    """A network of pairs of numbers; see kernels/pair_network.hpp.

    ``left`` and ``right`` (pairs,) int32 are the numbers of train pairs, then of test pairs.
    """

    maker = "pair_network"
    _fields_ = (
        *((name, WHOLE) for name in ("p", "d", "hidden")),
        *((name, FLAG) for name in ("has_first_layer", "activation", "is_exact")),
        ("sizes", WHOLE * 2),
        *((name, ADDRESS) for name in ("left", "right")),
    )

    @classmethod
    def of(cls, pairs: np.ndarray, mask: np.ndarray, *, p: int, **settings: int) -> "PairNetwork":
        """Return the network on pairs (pairs, 2); the mask (pairs,) selects the train set."""
        # Sorted by difference, neighbouring pairs have no number in common, so that sums for each
        # number need not wait for the previous pair.
        order = np.lexsort((pairs[:, 0], (pairs[:, 1] - pairs[:, 0]) % p))
        order = order[np.argsort(~mask[order], kind="stable")]
        left, right = np.ascontiguousarray(pairs[order].T.astype(np.int32))
        sizes = int(mask.sum()), int((~mask).sum())
        return cls(p=p, sizes=sizes, left=left, right=right, **settings)


class _Optimizer(Settings):
    _fields_ = (
        *((name, REAL) for name in ("learning_rate", "weight_decay")),
        ("parts", FLAG),
        *((name, ADDRESS) for name in ("begins", "multiples")),
    )


class Epochs(Settings):
    """The order of the train set in consecutive epochs, from the epoch ``first`` on.

    ``orders`` (epochs, examples) int32; ``kept`` (epochs, d, examples) uint8: the dropout masks.
    """

    _fields_ = (("first", WHOLE), ("orders", ADDRESS), ("kept", ADDRESS))

    @classmethod
    def draw(cls, seed: np.ndarray, epochs: range, n: int, d: int, dropout: float) -> "Epochs":
        """Return the orders of n examples, with the bits of NumPy; see kernels/orders.hpp.

        ``seed`` (words,) is `circlet.study.seeds.Seeds.order_words`. Epochs must be below 2^32.
        """
        words = np.append(seed, np.uint32(0))  # the last is the epoch
        arrays = {"orders": np.empty((len(epochs), n), np.int32)}
        if dropout:
            arrays["kept"] = np.empty((len(epochs), d, n), np.uint8)
        drawn = cls(first=epochs.start, **arrays)
        library().draw(
            words.ctypes.data, len(words), epochs.start, len(epochs), n, d, dropout, drawn.orders,
            drawn.kept,
        )  # fmt: skip
        return drawn


@functools.cache
def library() -> Any:
    """Return the library for this processor; None if it was not built."""
    paths = {kind: path_of(kind) for kind in KINDS}
    built = {kind: ctypes.CDLL(str(path)) for kind, path in paths.items() if path}
    if "plain" not in built:
        return None
    limit = os.environ.get("CIRCLET_INSTRUCTIONS") or next(iter(KINDS))
    if limit not in KINDS:
        raise CircletError(
            f"CIRCLET_INSTRUCTIONS is {limit!r}, and must be one of {', '.join(KINDS)}"
        )
    widest = min(built["plain"].widest(), KINDS[limit])
    chosen = next(built[kind] for kind, n in KINDS.items() if n <= widest and kind in built)
    pointers = {
        "gradient": [ADDRESS, ADDRESS, WHOLE, ADDRESS, ADDRESS],
        "metrics": [ADDRESS, ADDRESS, ADDRESS],
        "train": [ADDRESS, ADDRESS, ADDRESS, WHOLE, WHOLE, ADDRESS, ADDRESS, ADDRESS],
        "end": [ADDRESS],
        "draw": [ADDRESS, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, REAL, ADDRESS, ADDRESS],
        "size": [ADDRESS],
    }
    for name, arguments in pointers.items():
        getattr(chosen, name).argtypes, getattr(chosen, name).restype = arguments, None
    getattr(chosen, "size").restype = WHOLE  # noqa: B009
    return chosen


def instructions() -> str:
    """Return the library's kind of instructions: ``avx512``, ``avx2``, ``plain``, or ``""``."""
    loaded = library()
    return "" if loaded is None else Path(loaded._name).name.partition(".")[0].lstrip("_")


def built() -> str:
    """Return an identifier of the library: its kind of instructions, and time of compilation."""
    loaded = library()
    return "" if loaded is None else f"{instructions()} {Path(loaded._name).stat().st_mtime_ns}"


def missing() -> str:
    """Return the reason why there are no kernels; empty if there are kernels."""
    if library() is not None:
        return ""
    return "the native kernels are not built: install a C++ compiler, and then circlet again"


def starts(equations: str) -> ModuleType | None:
    """Return the module with a system's weights, data and kernel; None if there is no kernel."""
    name = equations.replace(".equations.", ".starts.")
    try:
        return importlib.import_module(name) if name != equations else None
    except ModuleNotFoundError:
        return None


def uncovered(equations: str, products: str, device: str) -> str:
    """Return why no kernel trains the system of a module of equations; empty if one does."""
    if device != "cpu":
        return "kernels are for CPUs"
    if starts(equations) is None:
        return f"{equations.rpartition('.')[2]} has no kernel"
    if products != "float32":
        return f"kernels do not round products to {products}"
    return missing()


def path_of(kind: str) -> Path | None:
    """Return the library for a kind of instructions, if built since its source was edited.

    Files of a wheel are unpacked in any order, so a minute of difference is allowed.
    """
    edited = max(path.stat().st_mtime for path in SOURCES.iterdir()) - 60
    paths = (Path(__file__).with_name(f"_{kind}{end}") for end in EXTENSION_SUFFIXES)
    return next((p for p in paths if p.exists() and p.stat().st_mtime >= edited), None)


class Run:
    """One run of a system: its weights and the moments of its optimiser, one after another.

    ``values``, ``means``, ``squares`` are (numbers,); ``arrays`` are views of the values by name.
    """

    def __init__(
        self,
        settings: Settings,
        start: dict[str, np.ndarray],
        parameters: dict[str, Any],
        multipliers: dict[str, float],
        dtype: str,
    ):
        self.library = library()
        sizes = [array.size for array in start.values()]
        begins = np.cumsum([0, *sizes])
        self.values = np.concatenate([array.ravel() for array in start.values()]).astype(dtype)
        self.means, self.squares = np.zeros_like(self.values), np.zeros_like(self.values)
        self.arrays = {
            name: self.values[begin : begin + array.size].reshape(array.shape)
            for begin, (name, array) in zip(begins, start.items(), strict=False)
        }
        self.optimizer = _Optimizer(
            learning_rate=parameters.get("learning_rate", 0.0),
            weight_decay=parameters.get("weight_decay", 0.0),
            parts=len(sizes),
            begins=begins.astype(np.int64),
            multiples=np.array([multipliers.get(name, 1.0) for name in start]),
        )
        self.addresses = [a.ctypes.data for a in (self.values, self.means, self.squares)]
        self.settings, self.no_epochs = settings, Epochs()
        maker = getattr(self.library, settings.maker)
        maker.argtypes, maker.restype = [ADDRESS, FLAG], ADDRESS
        self.handle = maker(ctypes.byref(settings), dtype == "float64")
        if not self.handle:
            raise MemoryError(f"no memory for a kernel of {len(self.values)} numbers")
        numbers = self.library.size(self.handle)
        if numbers != len(self.values):
            raise ValueError(f"a kernel of {numbers} numbers for {len(self.values)}")

    def close(self) -> None:
        """Free the memory of the kernel, which can then no longer be called; values stay."""
        if handle := self.__dict__.pop("handle", None):
            self.library.end(handle)

    __del__ = close

    def train(self, done: int, steps: int, epochs: Epochs | None = None) -> None:
        """Take some steps after those that are done; ``epochs`` has the orders of their batches."""
        batches, by = ctypes.byref(epochs or self.no_epochs), ctypes.byref(self.optimizer)
        self.library.train(self.handle, by, batches, done, steps, *self.addresses)

    def gradient(self, step: int = 0, epochs: Epochs | None = None) -> dict[str, np.ndarray]:
        """Return the gradient of the batch of a step, by name; of the whole train set in step 0."""
        gradient = np.empty_like(self.values)
        batches = ctypes.byref(epochs or self.no_epochs)
        self.library.gradient(self.handle, self.addresses[0], step, batches, gradient.ctypes.data)
        at = np.cumsum([0, *(array.size for array in self.arrays.values())])
        return {
            name: gradient[begin : begin + array.size].reshape(array.shape)
            for begin, (name, array) in zip(at, self.arrays.items(), strict=False)
        }

    def metrics(self) -> dict[str, float]:
        """Return the loss (nat) and accuracy (0..1) of the train and of the test set, by name."""
        names = ("train_loss", "train_accuracy", "test_loss", "test_accuracy")
        values = np.empty(len(names))
        self.library.metrics(self.handle, self.addresses[0], values.ctypes.data)
        return dict(zip(names, values.tolist(), strict=True))
