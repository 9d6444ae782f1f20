"""Which circles survive, how circular they are, and how fast they grow at first (Ding et al.)."""

import numpy as np

from circlet.analysis import spectrum

_LEAST = 1e-3  # of the largest signal; what is below has been removed
GRADIENT_STEPS = (1, 2, 3, 4)  # the last is the initial gradient, as in figure 7


def survivors(final: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which frequencies of an embedding (p, d) at the end survive, by rules A and B.

    A: the signal is more than twice the mean over all p frequencies, 0 and p - k among them (the
    paper's counts of circles). B: it is more than 10 (section 3.2.2), which needs the full length
    of 30 000 steps: until then the dead have not decayed so far. Both are ((p-1)//2,), bool.
    """
    signals = np.linalg.norm(spectrum.coefficients(final), axis=-1)
    chosen = signals[spectrum.frequencies(len(final))]
    return chosen > 2 * signals.mean(), chosen > 10


def rule(steps: int) -> tuple[str, str]:
    """The rule of survival for runs of this length, A or B, and its column in ``survival``.

    For gradients the paper uses B; on shorter runs than its own, B counts circles that are only
    slow to die.
    """
    return ("B", "survived_absolute") if steps >= 30_000 else ("A", "survived")


def circularity(embedding: np.ndarray) -> np.ndarray:
    """How near an embedding (p, d) is to a circle at each frequency, shape ((p-1)//2,), 0..1.

    Equation 5, for the projections x on the real and on the imaginary part of F_k:
    c = 2 / (p sum_j x_j^2) |sum_j x_j exp(2 pi i j k / p)|^2; of the two the root mean square, as
    in the released code. A perfect circle has 1. NaN for a frequency that has no such two parts:
    one that an intervention has removed, or has constructed along a single direction.
    """
    p = len(embedding)
    every = spectrum.coefficients(embedding)
    largest = np.abs(every).max()
    found = []
    for k in spectrum.frequencies(p):
        wave = np.exp(2j * np.pi * k * np.arange(p) / p)
        parts = []
        for direction in (every[k].real, every[k].imag):
            x = embedding @ direction
            is_there = np.abs(direction).max() > _LEAST * largest
            share = 2 / (p * (x**2).sum()) * np.abs(x @ wave) ** 2 if is_there else np.nan
            parts.append(share)
        found.append(np.sqrt((parts[0] ** 2 + parts[1] ** 2) / 2))
    return np.array(found)


def relative_gradients(signals: np.ndarray) -> np.ndarray:
    """(signal(s) - signal(s - 1)) / signal(0) at steps s = 1, 2, ... (section 3.2.2).

    ``signals`` are (steps, frequencies), of steps 0, 1, 2, ... NaN for a frequency that an
    intervention has removed.
    """
    start = np.where(signals[0] > _LEAST * signals[0].max(), signals[0], np.nan)
    return np.diff(signals, axis=0) / start
