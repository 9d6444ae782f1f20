"""The circles of an embedding: its Fourier coefficients, and the plane of each frequency."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def coefficients(embedding: np.ndarray) -> np.ndarray:
    """Fourier coefficients F_k of an embedding (..., p, d) for all k = 0..p-1, (..., p, d)."""
    return np.fft.fft(embedding, axis=-2)


def signals(embedding: np.ndarray) -> np.ndarray:
    """Norms of the Fourier coefficients F_k of an embedding (..., p, d), k = 0..p-1, (..., p)."""
    return np.linalg.norm(coefficients(embedding), axis=-1)


def survival_threshold(total: ArrayLike, p: int) -> Any:
    """The signal above which a frequency survives by rule A, for the sum ``total`` of all signals.

    That is twice the mean over all p frequencies, 0 and p - k included.
    """
    return 2 * np.asarray(total) / p


def frequencies(p: int) -> np.ndarray:
    """The frequencies 1..(p-1)//2: k and p - k are the same circle."""
    return np.arange(1, (p - 1) // 2 + 1)


def is_prime(p: int) -> bool:
    """Whether relabelling the numbers, a -> u a mod p, takes every frequency to every other."""
    return p > 1 and all(p % n for n in range(2, int(p**0.5) + 1))


def plane(embedding: np.ndarray, k: int) -> np.ndarray:
    """Projection of an embedding (p, d) on the directions Re F_k and Im F_k, shape (p, 2)."""
    direction = coefficients(embedding)[k]
    axes = np.stack([direction.real, direction.imag], axis=1)
    return embedding @ (axes / np.linalg.norm(axes, axis=0))


def delta(k: int, p: int) -> int | None:
    """The step between neighbours on the circle of frequency k, 1/k mod p; None if k has none."""
    return next((n for n in range(1, p) if n * k % p == 1), None)
