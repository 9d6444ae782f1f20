"""Scatter of mean circle counts about a line in the modulus, of primes and of composites."""

import math

import numpy as np
import pandas as pd

from circlet.analysis import contrasts, spectrum, stats
from circlet.analysis.stats import Estimate


def scatter_ratio(moduli: pd.DataFrame) -> Estimate:
    """Scatter of mean circle counts about a line in p: composites divided by primes.

    The noise of the means, each over few runs, is subtracted. The interval is a jackknife of the
    logarithm over the moduli of each kind; n counts the moduli of the rarer kind.
    """
    of = moduli.groupby("p")["n_circles"]
    means, noise = of.mean(), of.var() / of.size()
    prime = np.array([spectrum.is_prime(p) for p in means.index], dtype=bool)
    fewest = min(int(prime.sum()), int((~prime).sum()))
    if fewest < 5 or noise.isna().any():  # too few to compare their scatter
        return Estimate(n=fewest)
    residual = means - np.polyval(np.polyfit(means.index, means, 1), means.index)
    squares = (residual**2 - noise).to_numpy()
    parts = [_log_scatter(squares[~prime]), _log_scatter(squares[prime])]
    if not all(math.isfinite(end) for part in parts for end in part):
        return Estimate(n=fewest)
    return contrasts.difference(*parts)._replace(n=fewest).mapped(math.exp)


def _log_scatter(squares: np.ndarray) -> Estimate:
    """Return the logarithm of the root of a mean of noise-corrected squares, by the jackknife.

    Without a value if the mean, or the mean without any one modulus, is not above 0.
    """
    n = len(squares)
    without = (squares.sum() - squares) / (n - 1)
    if min(without.min(), squares.mean()) <= 0:
        return Estimate(n=n)
    center, parts = 0.5 * math.log(squares.mean()), 0.5 * np.log(without)
    return stats.jackknife(center, parts)
