"""Fourier view of an embedding: the circles that compete."""

import torch
from torch import Tensor


def signals(embedding: Tensor) -> Tensor:
    """Signals of an embedding (..., p, d), (..., (p-1)//2): norms of its Fourier coefficients F_k.

    F_k = sum_n exp(-2 pi i k n / p) E_n, a vector in C^d. Frequencies k and p - k are the same
    circle, and k = 0 is the mean, so k runs over 1..(p-1)//2. At N(0, 1) initialisation a signal
    is about sqrt(p d).
    """
    p = embedding.shape[-2]
    coefficients = torch.fft.rfft(embedding, dim=-2)[..., 1 : (p - 1) // 2 + 1, :]
    return torch.linalg.vector_norm(coefficients, dim=-1)
