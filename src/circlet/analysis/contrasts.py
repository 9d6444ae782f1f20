"""Differences and ratios of two kinds of runs, with their 95 % intervals; see `stats`."""

import math
import warnings

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from circlet.analysis.stats import ROUNDING, Estimate, Z, bounded_mean, non_missing, share, student


def difference(a: Estimate, b: Estimate) -> Estimate:
    """Return the difference a - b of independent estimates, by MOVER (Zou and Donner, 2008).

    MOVER combines the separate intervals of both estimates. For two shares with Wilson's intervals
    it is Newcombe's method. n is that of the first estimate.
    """
    low = math.hypot(a.value - a.low, b.high - b.value)
    high = math.hypot(a.high - a.value, b.value - b.low)
    value = a.value - b.value
    return Estimate(value, value - low, value + high, a.n)


def quotient(a: Estimate, b: Estimate) -> Estimate:
    """Return the ratio of two positive estimates, with MOVER's interval of their logarithms."""
    n = min(a.n, b.n)
    if not (a.low > 0 and b.low > 0):
        is_defined = a.value > 0 and b.value > 0 and not math.isnan(a.low + b.low)
        return Estimate(a.value / b.value, n=n) if is_defined else Estimate(n=n)
    logs = (part.mapped(math.log) for part in (a, b))
    return difference(*logs)._replace(n=n).mapped(math.exp)


def mean_difference(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Return the difference of two means, with Welch's t interval."""
    x, y = non_missing(x), non_missing(y)
    n = len(x) + len(y)
    if min(len(x), len(y)) < 2:
        return Estimate(n=n)
    center = float(np.mean(x) - np.mean(y))
    if np.ptp(x) == np.ptp(y) == 0:
        return Estimate(center, n=n)
    from scipy.stats import ttest_ind

    with warnings.catch_warnings():  # values of one kind may be all the same: a variance of 0
        warnings.filterwarnings("ignore", "Precision loss occurred", RuntimeWarning)
        low, high = ttest_ind(x, y, equal_var=False).confidence_interval()
    return Estimate(center, float(low), float(high), n)


def share_difference(k1: int, n1: int, k2: int, n2: int) -> Estimate:
    """Return the difference of shares, k1/n1 - k2/n2, with Newcombe's hybrid score interval."""
    if n1 == 0 or n2 == 0:
        return Estimate(n=n1 + n2)
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = confint_proportions_2indep(k1, n1, k2, n2, method="newcomb", compare="diff")
    # For none against all, rounding in statsmodels may give -1.0000000000000002.
    return Estimate(k1 / n1 - k2 / n2, float(low), float(high), n1 + n2).within(-1, 1)


def apart(a: Estimate, b: Estimate) -> Estimate:
    """Return the difference b - a of two estimates, from their intervals alone."""
    return Estimate(b.value - a.value, b.low - a.high, b.high - a.low, a.n + b.n)


def paired_difference(
    x: "pd.Series", y: "pd.Series", reach: float = math.inf, is_share: bool = False
) -> tuple[Estimate, int]:
    """Return the mean of y - x, and the number of pairs: values with the same index, a seed.

    If there are at least three pairs, and at least half of the smaller sample is paired, the
    interval is over pairs, so what runs share by their seed drops out. For shares it is that of
    Bonett and Price (2012), with one more pair that goes up and one that goes down. For means it is
    that of `bounded_mean`, with infinite ends if all differences are equal and no ``reach`` bounds
    them. Otherwise the interval is Welch's for means and Newcombe's for shares; NaN where no value
    differs.
    """
    pairs = pd.concat({"x": x, "y": y}, axis=1).dropna()
    difference, n = pairs["y"] - pairs["x"], len(pairs)
    a, b = x.dropna(), y.dropna()
    is_paired = n > 2 and 2 * n >= min(len(a), len(b))
    if is_paired and is_share:
        up, down = float((difference > 0).sum()), float((difference < 0).sum())
        center = (up - down) / (n + 2)
        half = Z * math.sqrt(((up + down + 2) / (n + 2) - center**2) / (n + 2))
        return Estimate((up - down) / n, center - half, center + half, n).within(-1, 1), n
    if is_paired:
        return bounded_mean(difference, -reach, reach), n
    if is_share and min(len(a), len(b)) < 3:
        return apart(*(share(int(v.sum()), len(v)) for v in (a, b))).within(-1, 1), 0
    if is_share:
        return share_difference(int(b.sum()), len(b), int(a.sum()), len(a)), 0
    return mean_difference(b, a).within(-reach, reach), 0


def paired_delay(
    first: tuple["pd.Series", "pd.Series"], second: tuple["pd.Series", "pd.Series"]
) -> tuple[Estimate, int]:
    """Return the median delay of the second run of a pair after the first, and the number of pairs.

    ``first`` and ``second`` have the ends (after, by] of the times, with the seed as index; ``by``
    is NaN if the event had not happened by the last logged step. The interval is from order
    statistics of the smallest and of the largest value that each difference may have; with fewer
    than six pairs it is unbounded. If less than half of the smaller sample is paired, there is no
    estimate.
    """
    names = ("after", "by", "after_2", "by_2")
    pairs = pd.concat(dict(zip(names, (*first, *second), strict=True)), axis=1, join="inner")
    n = len(pairs)
    if n < 3 or 2 * n < min(len(first[0]), len(second[0])):
        return Estimate(), 0
    after, by, after_2, by_2 = pairs.fillna(math.inf).to_numpy(float).T
    with np.errstate(invalid="ignore"):
        between = by_2 - by  # NaN if it happened in neither
        center = float(np.median(non_missing(between))) if len(non_missing(between)) else math.nan
    from scipy.stats import binom

    beyond = int(binom.ppf(0.025, n, 0.5))
    if beyond == 0:
        return Estimate(center, -math.inf, math.inf, n), n
    low, high = np.sort(after_2 - by)[beyond - 1], np.sort(by_2 - after)[-beyond]
    return Estimate(center, float(low), float(high), n), n


def stratified_difference(strata: list[tuple[np.ndarray, np.ndarray]]) -> Estimate:
    """Return the difference of two kinds of runs at equal conditions, averaged over the conditions.

    Strata are weighted by n1 n2 / (n1 + n2). Each kind has one variance, pooled over the strata,
    because a stratum may have too few runs for its own. The interval is Student's, with the degrees
    of freedom of the rarer kind. ``strata`` has, for each condition, the values of the first and of
    the second kind as 1-D arrays.
    """
    strata = [(x, y) for x, y in strata if len(x) and len(y)]
    sizes = np.array([[len(x), len(y)] for x, y in strata]).reshape(-1, 2)
    n, freedom = int(sizes.sum()), (sizes - 1).sum(0)
    if min(freedom) < 1:
        return Estimate(n=n)
    gaps = np.array([x.mean() - y.mean() for x, y in strata])
    squares = np.array([[len(v) * np.var(v) for v in pair] for pair in strata])
    weights = sizes.prod(1) / sizes.sum(1)
    weights = weights / weights.sum()
    center = float(weights @ gaps)
    error = math.sqrt(weights**2 @ (squares.sum(0) / freedom / sizes).sum(1))
    if error <= ROUNDING * max((np.abs(v).max() for pair in strata for v in pair), default=0):
        return Estimate(center, n=n)
    return student(center, error, min(freedom), n)
