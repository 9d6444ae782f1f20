"""Estimates over runs with their 95 % intervals; NaN where nothing can be estimated.

Values may be columns of tables. Unknown values (NaN or null) are ignored.

Intervals are those of scipy or statsmodels where they have them. Both are imported where they are
called, because importing scipy.stats takes 0.6 s and not every job needs it.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

Z = float(ndtri(0.975))  # 97.5 % point of the standard normal


ROUNDING = 1e-6  # relative error of values logged in float32, with room to spare


class Estimate(NamedTuple):
    """A value, the ends of its 95 % interval, and the number of runs behind it."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0

    @classmethod
    def of_row(cls, row: Mapping[str, float], name: str) -> "Estimate":
        """Return the estimate in the columns ``name``, ``name_low``, ... of a row of a table."""
        value, low, high, n = (row[f"{name}{end}"] for end in ("", "_low", "_high", "_n"))
        return cls(float(value), float(low), float(high), int(n))

    def columns(self, name: str) -> dict[str, float]:
        """Return the value, ends and n as table columns ``name``, ``name_low``, and so on."""
        ends = (name, f"{name}_low", f"{name}_high", f"{name}_n")
        return dict(zip(ends, self, strict=True))

    def times(self, factor: float) -> "Estimate":
        """Return the estimate of a multiple of the value."""
        low, high = sorted((factor * self.low, factor * self.high))
        return Estimate(factor * self.value, low, high, self.n)

    def mapped(self, function: Callable[[float], float]) -> "Estimate":
        """Return the estimate of an increasing function of the value."""
        return Estimate(function(self.value), function(self.low), function(self.high), self.n)

    def within(self, lower: float, upper: float) -> "Estimate":
        """Return the same estimate with the interval clipped to bounds."""
        return self._replace(low=max(self.low, lower), high=min(self.high, upper))


def columns(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    """Return the table columns of estimates by name."""
    return {k: v for name, estimate in estimates.items() for k, v in estimate.columns(name).items()}


def non_missing(values: ArrayLike) -> np.ndarray:
    """Return the values that are not NaN, as floats."""
    array = np.asarray(values, dtype=float)
    return array[~np.isnan(array)]


def counted(holds: ArrayLike) -> tuple[int, int]:
    """Return the number of true values, and the number of all values."""
    return int(np.sum(holds)), len(np.asarray(holds))


def mean(values: ArrayLike, normal: bool = False) -> Estimate:
    """Return the mean with the interval of `means`; ``normal``: +- 1.96 sd / sqrt(n).

    If all values are equal, as counts of few runs may be, their spread is unknown and there is no
    interval.
    """
    values = non_missing(values)
    n = len(values)
    if n == 0:
        return Estimate()
    if normal and n > 1 and np.ptp(values) > 0:
        center, half = float(np.mean(values)), Z * float(np.std(values, ddof=1)) / math.sqrt(n)
        return Estimate(center, center - half, center + half, n)
    value, low, high, _ = means(values[None]).to_numpy(float)[0].tolist()
    return Estimate(value, low, high, n)


def means(rows: np.ndarray, lower: float = -math.inf, upper: float = math.inf) -> "pd.DataFrame":
    """Return the mean and interval of each row of values between two bounds; vectorised.

    Each end is Student's, or Hall's (1992), which corrects for skewness, if that is further away;
    ends are clipped to the bounds. The result has columns estimate, low, high, n_runs. Rows with
    equal values, or with one value, have no interval.
    """
    has_value = ~np.isnan(rows)
    n = has_value.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        center = np.where(has_value, rows, 0).sum(1) / n
        ends = _skewed(n, center, np.where(has_value, rows - center[:, None], 0))
        differ = np.fmax.reduce(rows, 1) > np.fmin.reduce(rows, 1)
        low, high = (np.where(differ, np.clip(end, lower, upper), np.nan) for end in ends)
    return pd.DataFrame({"estimate": center, "low": low, "high": high, "n_runs": n})


def _skewed(n: np.ndarray, center: np.ndarray, centred: np.ndarray) -> list[np.ndarray]:
    """Return the ends by Student or by Hall's cubic transformation of t, the further ones."""
    variance = (centred**2).sum(1) / (n - 1)
    skewness = n * (centred**3).sum(1) / (n - 1) / np.maximum(n - 2, 1) / variance**1.5
    cubic = skewness / 3
    ends = []
    for side in (-1, 1):
        t = side * stdtrit(n - 1, 0.975) / np.sqrt(n)
        # The root x of x + c x^2 + c^2 x^3 / 3 = y, for c = skewness / 3.
        y = -t - skewness / (6 * n)
        x = np.where(np.abs(cubic) > 1e-6, (np.cbrt(1 + 3 * cubic * y) - 1) / cubic, y)
        further = np.fmax(side * t, -side * x)
        ends.append(center + side * np.sqrt(variance) * further)
    return ends


def bounded_mean(values: ArrayLike, lower: float = -math.inf, upper: float = math.inf) -> Estimate:
    """Return the mean of values between two bounds, with the interval of `means`.

    That interval relies on the spread of the values, so with few values it may miss what is rare.
    If all values are equal (up to rounding), or there is only one, the spread is unknown: then up
    to a share 1 - 0.025^(1/n) of all runs may differ, by as much as the bounds allow. Without
    bounds such an end is infinite.
    """
    estimate = mean(values)
    if estimate.n == 0:
        return estimate
    is_bounded = math.isfinite(upper - lower)
    rounding = ROUNDING * (upper - lower) if is_bounded else 0.0
    if estimate.high - estimate.low > rounding:
        return estimate.within(lower, upper)
    unseen = 1 - 0.025 ** (1 / estimate.n)
    low, high = (estimate.value + unseen * (bound - estimate.value) for bound in (lower, upper))
    return Estimate(estimate.value, low, high, estimate.n)


def mean_count(values: ArrayLike) -> Estimate:
    """Return the mean of counts of at least 0; if all are equal, with the exact Poisson interval.

    Counts such as those of circles vary less than Poisson's, so that interval is conservative.
    """
    values = non_missing(values)
    estimate = bounded_mean(values, 0.0)
    if math.isfinite(estimate.high) or estimate.n == 0:
        return estimate
    from scipy.stats import chi2

    total = values.sum()
    low = float(chi2.ppf(0.025, 2 * total)) / 2 if total else 0.0
    return estimate._replace(
        low=low / estimate.n, high=float(chi2.ppf(0.975, 2 * total + 2)) / 2 / estimate.n
    )


def median_time(after: ArrayLike, by: ArrayLike) -> Estimate:
    """Return the median of times known to lie in intervals (after, by], by Kaplan and Meier.

    If an event has not happened by the end, ``by`` is NaN and ``after`` is the last logged step.
    The value is the median of ``by``, infinite if fewer than half of the runs got there. The lower
    end of the interval is that of the median of ``after``, the upper end that of the median of
    ``by`` (scipy; log-log), so it includes the uncertainty from logging only at intervals. A
    median is bounded at 95 % by six runs without the event, not by fewer (1/2^5 > 0.025). So the
    lower end is at most the sixth largest ``after``, and with fewer than six runs the interval is 0
    to infinity.
    """
    after, by = np.asarray(after, dtype=float), np.asarray(by, dtype=float)
    n = len(after)
    if n == 0:
        return Estimate()
    happened = ~np.isnan(by)
    (center, _, high), (_, low, _) = (
        _kaplan_meier(np.where(happened, times, after), happened) for times in (by, after)
    )
    if 2 * happened.sum() < n:  # of the few runs watched longest, most may have reached it
        center = high = math.inf
    if n < 6:
        return Estimate(center, 0.0, math.inf, n)
    return Estimate(center, min(low, float(np.sort(after)[-6])), high, n)


def _kaplan_meier(times: np.ndarray, happened: np.ndarray) -> tuple[float, float, float]:
    """Return the median of times, some of them censored at a run's last step, and its interval."""
    from scipy.stats import CensoredData, ecdf

    left = ecdf(CensoredData.right_censored(times, ~happened)).sf
    with warnings.catch_warnings():  # before the first event, and when no run is left
        warnings.simplefilter("ignore", RuntimeWarning)
        interval = left.confidence_interval(method="log-log")

    def first(share: np.ndarray) -> float:
        # Rounded: a product of shares that should be 1/2 may be a little larger.
        reached = (share.round(12) <= 0.5) | (left.probabilities == 0)
        return float(min(left.quantiles[reached], default=math.inf))

    low, high = interval.low.probabilities, interval.high.probabilities
    return first(left.probabilities), first(low), first(high)


def median(values: ArrayLike) -> Estimate:
    """Return the median with the interval of order statistics: at least 95 % for any distribution.

    With five values or fewer there is no interval.
    """
    values = non_missing(values)
    n = len(values)
    if n == 0:
        return Estimate()
    from scipy.stats import quantile_test

    low, high = quantile_test(values).confidence_interval()
    return Estimate(float(np.median(values)), float(low), float(high), n)


def deviation(values: ArrayLike) -> Estimate:
    """Return the standard deviation with the interval of Bonett (2006), for any distribution.

    The interval is computed for the logarithm, from the fourth moment about a trimmed mean, which
    long tails shift less.
    """
    values = non_missing(values)
    n = len(values)
    if n < 4 or np.ptp(values) == 0:
        return Estimate(n=n)
    from scipy.stats import trim_mean

    center = float(np.std(values, ddof=1))
    centred = values - trim_mean(values, min(0.4999, 1 / (2 * math.sqrt(n - 4)) if n > 4 else 0.25))
    kurtosis = n * float((centred**4).sum()) / float(((values - values.mean()) ** 2).sum()) ** 2
    small = n / (n - Z)  # correction for few values
    half = small * Z * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1)) / 2
    middle = center * math.sqrt(small)
    return Estimate(center, middle * math.exp(-half), middle * math.exp(half), n)


def student(value: float, error: float, freedom: float, n: int) -> Estimate:
    """Return a value with Student's interval, from its standard error and degrees of freedom."""
    half = float(stdtrit(freedom, 0.975)) * error
    return Estimate(value, value - half, value + half, n)


def jackknife_error(parts: np.ndarray) -> float:
    """Return the standard error of a value from its leave-one-out values, a 1-D array."""
    n = len(parts)
    return math.sqrt((n - 1) / n * float(((parts - parts.mean()) ** 2).sum()))


def jackknife(whole: float, parts: np.ndarray) -> Estimate:
    """Return a value with Student's interval, from its leave-one-out values."""
    return student(whole, jackknife_error(parts), len(parts) - 1, len(parts))


def geometric_mean(values: ArrayLike) -> Estimate:
    """Return the geometric mean of positive values, with Student's interval of the logarithms."""
    values = non_missing(values)
    if not (values > 0).all():
        return Estimate(n=len(values))
    return mean(np.log(values)).mapped(math.exp)


def over_units(values: ArrayLike, units: ArrayLike, lower: float, upper: float) -> Estimate:
    """Return the mean over units of each unit's mean, for values between two bounds.

    n is the number of units. See `bounded_mean` for units with equal means.
    """
    frame = pd.DataFrame({"value": np.asarray(values, dtype=float), "unit": units}).dropna()
    return bounded_mean(frame.groupby("unit")["value"].mean(), lower, upper)


def crossed_mean(values: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Estimate:
    """Return the mean of a matrix of values that are dependent within rows and within columns.

    n is the number of rows or of columns, whichever is smaller; if every row has a column of its
    own, the number of rows. The interval is Student's with n - 1 degrees of freedom and the spread
    of the pigeonhole bootstrap (Owen, 2007), which resamples rows and columns with replacement. If
    all values are equal, there is no interval.
    """
    frame = pd.DataFrame({"value": np.asarray(values, float), "row": rows, "column": columns})
    wide = frame.dropna().pivot_table(index="row", columns="column", values="value")
    table = wide.to_numpy()
    valid = ~np.isnan(table)
    if valid.sum(1).max(initial=0) <= 1:  # each row has a column of its own, or there is one column
        table = np.where(valid, table, 0).sum(1, keepdims=True)
        valid = np.ones_like(table, bool)
    n, m = table.shape
    fewest = n if m == 1 else min(n, m)
    if fewest < 3:
        return Estimate(n=fewest)
    value = float(table[valid].mean())
    if np.ptp(table[valid]) == 0:
        return Estimate(value, n=fewest)
    stream = np.random.default_rng(0)
    weights = stream.multinomial(n, np.full(n, 1 / n), size=4000)
    others = stream.multinomial(m, np.full(m, 1 / m), size=4000)
    total = np.einsum("di,ij,dj->d", weights, np.where(valid, table, 0), others)
    size = np.einsum("di,ij,dj->d", weights, valid.astype(float), others)
    drawn = total[size > 0] / size[size > 0]
    error = float(drawn.std(ddof=1)) * math.sqrt(fewest / (fewest - 1))
    return student(value, error, fewest - 1, fewest)


def count(k: int, n: int) -> Estimate:
    """Return the number of successes among n trials, with Wilson's interval scaled to a count."""
    return share(k, n).times(n)._replace(value=float(k)) if n else Estimate()


def share(k: int, n: int, method: Literal["wilson", "exact"] = "wilson") -> Estimate:
    """Return the share of successes among n trials, with Wilson's score interval.

    ``exact`` gives the interval of Clopper and Pearson, which is never too narrow. Wilson's is too
    narrow for all or none of few trials: for 4 of 4 it excludes one half.
    """
    if n == 0:
        return Estimate()
    from scipy.stats import binomtest

    low, high = binomtest(k, n).proportion_ci(method=method)
    return Estimate(k / n, float(low), float(high), n)


def angle(count: ArrayLike, n: float) -> np.ndarray:
    """Return 2 asin(sqrt(share)) of counts among n; variance about 1 / (n + 1/2) (Anscombe)."""
    return 2 * np.arcsin(np.sqrt((np.asarray(count) + 0.375) / (n + 0.75)))


def angle_count(angle: float, n: float) -> float:
    """Return the count among n, from 0 to n, that has a given `angle`."""
    share = math.sin(min(max(angle, 0.0), math.pi) / 2) ** 2
    return min(max(share * (n + 0.75) - 0.375, 0.0), n)


def ratio(part: np.ndarray, whole: np.ndarray) -> Estimate:
    """Return the ratio of two sums over runs: the sum of parts over the sum of wholes.

    The interval is Student's over runs, with the linearised variance of a ratio, so values of one
    run may be dependent.
    """
    n = len(whole)
    if n < 2 or whole.sum() == 0:
        return Estimate(n=n)
    center = float(part.sum() / whole.sum())
    residual = part - center * whole
    error = math.sqrt(n / (n - 1) * float((residual**2).sum())) / float(whole.sum())
    return student(center, error, n - 1, n)
