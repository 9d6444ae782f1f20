"""Fourier view of an embedding: the circles that compete."""

import numpy as np


def signals(embedding: np.ndarray) -> np.ndarray:
    """Return signals (..., (p-1)//2) of an embedding (..., p, d): norms of its Fourier terms F_k.

    F_k = sum_n exp(-2 pi i k n / p) E_n, a vector in C^d. Frequencies k and p - k are the same
    circle, and k = 0 is the mean, so k runs over 1..(p-1)//2. At N(0, 1) initialisation a signal
    is about sqrt(p d).
    """
    p = embedding.shape[-2]
    coefficients = np.fft.rfft(embedding, axis=-2)[..., 1 : (p - 1) // 2 + 1, :]
    return np.linalg.norm(coefficients, axis=-1)
