"""The circles of an embedding: its Fourier coefficients, and the plane of each frequency."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def coefficients(embedding: np.ndarray) -> np.ndarray:
    """Return the Fourier coefficients F_k, k = 0..p-1, of an embedding (..., p, d): (..., p, d)."""
    return np.fft.fft(embedding, axis=-2)


def signals(embedding: np.ndarray) -> np.ndarray:
    """Return the norms of the Fourier coefficients F_k, k = 0..p-1, of an embedding: (..., p)."""
    return np.linalg.norm(coefficients(embedding), axis=-1)


def survival_threshold(total: ArrayLike, p: int) -> Any:
    """Return the signal above which a frequency survives (rule A); ``total``: sum of all signals.

    The threshold is twice the mean signal of all p frequencies, 0 and p - k included.
    """
    return 2 * np.asarray(total) / p


def frequencies(p: int) -> np.ndarray:
    """Return the frequencies 1..(p-1)//2; k and p - k are the same circle."""
    return np.arange(1, (p - 1) // 2 + 1)


def is_prime(p: int) -> bool:
    """Return whether p is prime: then a -> u a mod p can map any frequency to any other."""
    return p > 1 and all(p % n for n in range(2, int(p**0.5) + 1))


def plane(embedding: np.ndarray, k: int) -> np.ndarray:
    """Return the projection (p, 2) of an embedding (p, d) on the directions Re F_k and Im F_k."""
    direction = coefficients(embedding)[k]
    axes = np.stack([direction.real, direction.imag], axis=1)
    return embedding @ (axes / np.linalg.norm(axes, axis=0))


def delta(k: int, p: int) -> int | None:
    """Return the step between neighbours on the circle of frequency k: 1/k mod p, or None."""
    return next((n for n in range(1, p) if n * k % p == 1), None)
