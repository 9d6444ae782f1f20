"""Fourier view of an embedding: the circles that compete."""

import torch
from torch import Tensor


def signals(embedding: Tensor) -> Tensor:
    """Signal of every frequency: the norm of the Fourier coefficient F_k of the embedding.

    F_k = sum_n exp(-2 pi i k n / p) E_n, a vector in C^d. Frequencies k and p - k are the same
    circle, and k = 0 is the mean, so k runs over 1..(p-1)//2.

    Parameters
    ----------
    embedding
        Shape (..., p, d).

    Returns
    -------
    Tensor
        Shape (..., (p-1)//2); at N(0, 1) initialisation a signal is about sqrt(p d).
    """
    p = embedding.shape[-2]
    coefficients = torch.fft.rfft(embedding, dim=-2)[..., 1 : (p - 1) // 2 + 1, :]
    return torch.linalg.vector_norm(coefficients, dim=-1)
