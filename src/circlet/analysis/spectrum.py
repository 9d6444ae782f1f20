"""The circles of an embedding: signals of all frequencies, survivors, circularity, planes."""

import numpy as np

PUBLISHED_STEPS = 30_000  # of every run in Ding et al.
ABSOLUTE = 10.0  # final signal of a survivor by rule B


def coefficients(embedding: np.ndarray) -> np.ndarray:
    """Fourier coefficients F_k of an embedding (..., p, d) for all k = 0..p-1, (..., p, d)."""
    return np.fft.fft(embedding, axis=-2)


def frequencies(p: int) -> np.ndarray:
    """The frequencies 1..(p-1)//2: k and p - k are the same circle."""
    return np.arange(1, (p - 1) // 2 + 1)


def survivors(final: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which frequencies survive, by rules A and B.

    A: the signal is more than twice the mean over all p frequencies, 0 and p - k among them
    (counts of circles in Ding et al.). B: it is more than 10 (their section 3.2.2), which needs
    the full length of 30 000 steps: until then the dead have not decayed so far.

    Parameters
    ----------
    final
        The embedding at the end, shape (p, d).

    Returns
    -------
    Two arrays of shape ((p-1)//2,), bool.
    """
    signals = np.linalg.norm(coefficients(final), axis=-1)
    chosen = signals[frequencies(len(final))]
    return chosen > 2 * signals.mean(), chosen > ABSOLUTE


def circularity(embedding: np.ndarray) -> np.ndarray:
    """How near an embedding (p, d) is to a circle at each frequency, shape ((p-1)//2,), 0..1.

    Ding et al., equation 5, for the projections x on the real and on the imaginary part of F_k:
    c = 2 / (p sum_j x_j^2) |sum_j x_j exp(2 pi i j k / p)|^2; of the two the root mean square, as
    in the released code. A perfect circle has 1.
    """
    p = len(embedding)
    found = np.zeros(len(frequencies(p)))
    every = coefficients(embedding)
    for i, k in enumerate(frequencies(p)):
        wave = np.exp(2j * np.pi * k * np.arange(p) / p)
        parts = []
        for direction in (every[k].real, every[k].imag):
            x = embedding @ direction
            power = (x**2).sum()
            parts.append(2 / (p * power) * np.abs(x @ wave) ** 2 if power > 0 else 0.0)
        found[i] = np.sqrt((parts[0] ** 2 + parts[1] ** 2) / 2)
    return found


def plane(embedding: np.ndarray, k: int) -> np.ndarray:
    """Projection of an embedding (p, d) on the directions Re F_k and Im F_k, shape (p, 2)."""
    direction = coefficients(embedding)[k]
    axes = np.stack([direction.real, direction.imag], axis=1)
    return embedding @ (axes / np.linalg.norm(axes, axis=0))


def delta(k: int, p: int) -> int | None:
    """The step between neighbours on the circle of frequency k, 1/k mod p; None if k has none."""
    return next((n for n in range(1, p) if n * k % p == 1), None)


def rule(steps: int) -> tuple[str, str]:
    """The rule of survival for runs of this length, A or B, and its column in ``survival``.

    For gradients the paper uses B; on shorter runs than its own, B counts circles that are only
    slow to die.
    """
    return ("B", "survived_absolute") if steps >= PUBLISHED_STEPS else ("A", "survived")
