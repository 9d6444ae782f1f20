"""Estimates over runs with their 95 % intervals. What cannot be estimated is NaN.

Values may be columns of tables. Those that are not known, NaN or null, are not counted.

Where scipy or statsmodels has an interval, it is theirs. Their modules are imported where they are
called: scipy.stats takes 0.6 s, and not every job needs it.
"""

import math
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

Z = float(ndtri(0.975))  # 97.5 % point of the standard normal


class Estimate(NamedTuple):
    """A value, the ends of its 95 % interval, and the number of runs behind it."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0

    def columns(self, name: str) -> dict[str, float]:
        """The columns ``name``, ``name_low``, ``name_high`` and ``name_n`` of a table."""
        ends = (name, f"{name}_low", f"{name}_high", f"{name}_n")
        return dict(zip(ends, self, strict=True))

    def times(self, factor: float) -> "Estimate":
        """That of a multiple of the value."""
        low, high = sorted((factor * self.low, factor * self.high))
        return Estimate(factor * self.value, low, high, self.n)

    def above(self, bar: float) -> "Estimate":
        """By how much it lies above a bar."""
        return Estimate(self.value - bar, self.low - bar, self.high - bar, self.n)

    def below(self, bar: float) -> "Estimate":
        """By how much it lies below a bar."""
        return self.above(bar).times(-1)


def known(values: ArrayLike) -> np.ndarray:
    """The values that are known, as floats."""
    array = np.asarray(values, dtype=float)
    return array[~np.isnan(array)]


def counted(holds: ArrayLike) -> tuple[int, int]:
    """For how many something holds, and how many there are."""
    return int(np.sum(holds)), len(np.asarray(holds))


def mean(values: ArrayLike, normal: bool = False) -> Estimate:
    """Mean with Student's t interval; ``normal``: +- 1.96 sd / sqrt(n).

    Values that are all the same, as counts of few runs may be, do not tell how they would spread:
    they have no interval.
    """
    values = known(values)
    n = len(values)
    if n == 0:
        return Estimate()
    center = float(np.mean(values))
    if n == 1 or np.ptp(values) == 0:
        return Estimate(center, n=n)
    from scipy.stats import norm, sem, t

    spread = {"loc": center, "scale": sem(values)}
    low, high = norm.interval(0.95, **spread) if normal else t.interval(0.95, n - 1, **spread)
    return Estimate(center, float(low), float(high), n)


def median(values: ArrayLike) -> Estimate:
    """Median with the interval of order statistics: no less than 95 % whatever the distribution.

    Five values and fewer do not tell: they have no interval.
    """
    values = known(values)
    n = len(values)
    if n == 0:
        return Estimate()
    from scipy.stats import quantile_test

    low, high = quantile_test(values).confidence_interval()
    return Estimate(float(np.median(values)), float(low), float(high), n)


def deviation(values: ArrayLike) -> Estimate:
    """Standard deviation with a jackknife interval."""
    values = known(values)
    n = len(values)
    if n < 3:
        return Estimate(n=n)
    center = float(np.std(values, ddof=1))
    without = np.array([np.std(np.delete(values, i), ddof=1) for i in range(n)])
    half = Z * math.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    return Estimate(center, center - half, center + half, n)


def count(k: int, n: int) -> Estimate:
    """Number of successes among n trials, with Wilson's score interval scaled to a count."""
    return share(k, n).times(n)._replace(value=float(k)) if n else Estimate()


def share(k: int, n: int) -> Estimate:
    """Share of successes among n trials, with Wilson's score interval."""
    if n == 0:
        return Estimate()
    from scipy.stats import binomtest

    low, high = binomtest(k, n).proportion_ci(method="wilson")
    return Estimate(k / n, float(low), float(high), n)


def ratio(part: np.ndarray, whole: np.ndarray) -> Estimate:
    """Ratio of two sums over runs, the sum of parts over the sum of wholes.

    The interval is over runs, Student's, with the variance of a ratio (linearised), so that things
    of one run may go together.
    """
    n = len(whole)
    if n < 2 or whole.sum() == 0:
        return Estimate(n=n)
    center = float(part.sum() / whole.sum())
    left = part - center * whole
    error = math.sqrt(n / (n - 1) * float((left**2).sum())) / float(whole.sum())
    half = float(stdtrit(n - 1, 0.975)) * error
    return Estimate(center, center - half, center + half, n)


def correlation(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Pearson's r with Fisher's interval, tanh(atanh r +- 1.96 / sqrt(n - 3))."""
    pairs = np.stack([np.asarray(values, dtype=float) for values in (x, y)])
    pairs = pairs[:, ~np.isnan(pairs).any(0)]
    n = pairs.shape[1]
    if n < 4 or not np.ptp(pairs, axis=1).all():
        return Estimate(n=n)
    from scipy.stats import NearConstantInputWarning, pearsonr

    with warnings.catch_warnings():  # values that differ by little have a correlation too
        warnings.simplefilter("ignore", NearConstantInputWarning)
        found = pearsonr(*pairs)
    r = float(found.statistic)
    if abs(r) > 1 - 1e-12:  # a straight line: Fisher's z has no end, and scipy gives 1 for both
        return Estimate(math.copysign(1, r), n=n)
    low, high = found.confidence_interval()
    return Estimate(r, float(low), float(high), n)


def mean_difference(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Difference of two means, with Welch's t interval."""
    x, y = known(x), known(y)
    n = len(x) + len(y)
    if min(len(x), len(y)) < 2:
        return Estimate(n=n)
    center = float(np.mean(x) - np.mean(y))
    if np.var(x) + np.var(y) == 0:
        return Estimate(center, n=n)
    from scipy.stats import ttest_ind

    with warnings.catch_warnings():  # values of one kind may be all the same: a variance of 0
        warnings.filterwarnings("ignore", "Precision loss occurred", RuntimeWarning)
        low, high = ttest_ind(x, y, equal_var=False).confidence_interval()
    return Estimate(center, float(low), float(high), n)


def share_difference(k1: int, n1: int, k2: int, n2: int) -> Estimate:
    """Difference of two shares, k1/n1 - k2/n2, with Newcombe's hybrid score interval."""
    if n1 == 0 or n2 == 0:
        return Estimate(n=n1 + n2)
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = confint_proportions_2indep(k1, n1, k2, n2, method="newcomb", compare="diff")
    # Of none against all, statsmodels' rounding may go beyond the ends, to -1.0000000000000002.
    low, high = max(float(low), -1.0), min(float(high), 1.0)
    return Estimate(k1 / n1 - k2 / n2, low, high, n1 + n2)


def stratified_difference(strata: list[tuple[np.ndarray, np.ndarray]]) -> Estimate:
    """Difference of two kinds of runs at equal conditions, averaged over the conditions.

    Strata weigh n1 n2 / (n1 + n2). Each kind has one variance, pooled over the strata, as a
    stratum may have too few runs for its own; the interval is Student's, with the degrees of
    freedom of the rarer kind. ``strata`` are, for each condition, the values of the first and of
    the second kind, 1-D arrays.
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
    if error == 0:
        return Estimate(center, n=n)
    half = float(stdtrit(min(freedom), 0.975)) * error
    return Estimate(center, center - half, center + half, n)
