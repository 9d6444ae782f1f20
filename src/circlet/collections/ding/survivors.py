"""Which circles survive, how circular they are, and how fast they grow at first (Ding et al.)."""

import numpy as np

from circlet.analysis import spectrum

_MIN_SIGNAL = 1e-3  # relative to the largest signal; below it a frequency counts as removed
GRADIENT_STEPS = (1, 2, 3, 4)  # the last is the initial gradient, as in figure 7


def survivors(final: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which frequencies of a final embedding (p, d) survive, by rules A and B.

    Rule A counts circles in the paper; see `circlet.analysis.spectrum.survival_threshold`.
    Rule B: the final signal is above 10 (section 3.2.2). B needs the full 30 000 steps, because the
    signals of dying circles have not fallen below 10 before. Both results are ((p-1)//2,), bool.
    """
    signals, p = spectrum.signals(final), len(final)
    chosen = signals[spectrum.frequencies(p)]
    return chosen > spectrum.survival_threshold(signals.sum(), p), chosen > 10


def rule(steps: int) -> tuple[str, str]:
    """Return the rule for gradients at a run length, A or B, and its column in ``survival``.

    For gradients the paper uses B; on shorter runs B would also count circles that are still dying.
    """
    return ("B", "survived_absolute") if steps >= 30_000 else ("A", "survived")


def circularity(embedding: np.ndarray) -> np.ndarray:
    """How near an embedding (p, d) is to a circle at each frequency, shape ((p-1)//2,), 0..1.

    Equation 5, for the projections x on the real and on the imaginary part of F_k: c = 2 / (p sum_j
    x_j^2) |sum_j x_j exp(2 pi i j k / p)|^2; the result is the root mean square of both c, as in
    the released code. A perfect circle has 1. NaN if a frequency lacks one of the parts, because an
    intervention has removed it or constructed it along a single direction.
    """
    p = len(embedding)
    coefficients = spectrum.coefficients(embedding)
    largest = np.abs(coefficients).max()
    by_frequency = []
    for k in spectrum.frequencies(p):
        wave = np.exp(2j * np.pi * k * np.arange(p) / p)
        parts = []
        for direction in (coefficients[k].real, coefficients[k].imag):
            x = embedding @ direction
            is_there = np.abs(direction).max() > _MIN_SIGNAL * largest
            share = 2 / (p * (x**2).sum()) * np.abs(x @ wave) ** 2 if is_there else np.nan
            parts.append(share)
        by_frequency.append(np.sqrt((parts[0] ** 2 + parts[1] ** 2) / 2))
    return np.array(by_frequency)


def relative_gradients(signals: np.ndarray) -> np.ndarray:
    """(signal(s) - signal(s - 1)) / signal(0) at steps s = 1, 2, ... (section 3.2.2).

    ``signals`` (steps, frequencies) begin at step 0. NaN for a removed frequency.
    """
    start = np.where(signals[0] > _MIN_SIGNAL * signals[0].max(), signals[0], np.nan)
    return np.diff(signals, axis=0) / start
