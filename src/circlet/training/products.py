"""Products of matrices whose factors are rounded to TF32 or bfloat16; their sums are float32.

TF32 keeps 10 of the 23 bits of float32's mantissa, bfloat16 7. A product of two such numbers is
exact in float32, so rounding the factors is all that hardware for such products does.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from circlet.errors import CircletError

# Which arguments of an operation are factors.
_FACTORS = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "_linear_pointwise", "convolution"), slice(2)),
    **dict.fromkeys(("addmm", "addmv", "baddbmm"), slice(1, 3)),
    "convolution_backward": slice(3),
}


def to_tf32(x: Tensor) -> Tensor:
    """Round float32 numbers to the nearest of TF32, ties to even; NaN beyond 2^114."""
    scaled = x * (2**13 + 1)  # Veltkamp's splitting removes 13 bits
    return scaled.sub_(scaled - x)


def to_bfloat16(x: Tensor) -> Tensor:
    """Round float32 numbers to the nearest of bfloat16, ties to even."""
    return x.to(torch.bfloat16).float()


_ROUNDED = {"tf32": to_tf32, "bfloat16": to_bfloat16}


class _Rounding(TorchDispatchMode):
    """Rounds the factors of all products of float32 matrices.

    The mode sees the operations that autograd and ``torch.func`` execute, so it also rounds the
    products of gradients, whether automatic or written by hand.
    """

    def __init__(self, rounded: Callable[[Tensor], Tensor]):
        super().__init__()
        self.rounded = rounded

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        name = operation.overloadpacket.__name__.removesuffix("_")  # addmm_ is addmm, in place
        if factors := _FACTORS.get(name):
            args = list(args)
            args[factors] = map(self._round, args[factors])
        elif name == "mkldnn_rnn_layer":
            raise CircletError(
                "products: an nn.LSTM is not supported, because its products cannot be rounded; "
                "use an nn.GRU"
            )
        return operation(*args, **(kwargs or {}))

    def _round(self, factor: Any) -> Any:
        return self.rounded(factor) if factor.dtype == torch.float32 else factor


@contextlib.contextmanager
def rounded(kind: str) -> Iterator[None]:
    """Context: round the factors of all products to ``tf32`` or ``bfloat16``; ``float32``: do not.

    Also a decorator.
    """
    if kind == "float32":
        yield
        return
    # GPUs may multiply in TF32, which has all bits of the rounded factors.
    cuda = torch.backends.cuda.matmul
    before, cuda.allow_tf32 = cuda.allow_tf32, True
    try:
        # An attention in one fused kernel would hide its products.
        with sdpa_kernel(SDPBackend.MATH), _Rounding(_ROUNDED[kind]):
            yield
    finally:
        cuda.allow_tf32 = before
