"""Products of large matrices, by the fastest library.

On CPUs PyTorch multiplies float32 matrices with MKL, which stops at AVX2 on AMD's processors.
oneDNN, which comes with PyTorch, uses AVX-512 on all that have it: on a Zen 5 core it is twice as
fast, on processors with AVX2 alone equally fast (docs/studies/bench.md). PyTorch lets float32
matrices reach it through a fused linear layer only; its public switch,
``set_float32_matmul_precision("medium")``, would slow these steps down, and would round to bfloat16
on processors with AMX.
"""

import torch
from torch import Tensor

_linear = getattr(torch.ops.mkldnn, "_linear_pointwise", None)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return the matrix products of every run, (runs, m, k) by (runs, k, n), as (runs, m, n).

    The same as ``a @ b`` up to rounding. For matrices of 100 x 100 and more: below that oneDNN's
    overhead is larger than its gain, and it has no fast kernel for slices of a matrix. It does not
    support autograd.
    """
    differentiated = a.requires_grad or b.requires_grad
    plain = len(a) > 1 or a.dtype != torch.float32 or a.is_cuda or differentiated
    if _linear is not None and not plain:
        return _linear(a[0], b[0].mT, None, "none", [], "")[None]
    return a @ b
