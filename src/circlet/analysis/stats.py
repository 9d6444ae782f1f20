"""Estimates over runs with their 95 % intervals. What cannot be estimated is NaN.

Values may be columns of tables. Those that are not known, NaN or null, are not counted.

Where scipy or statsmodels has an interval, it is theirs. Their modules are imported where they are
called: scipy.stats takes 0.6 s, and not every job needs it.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

Z = float(ndtri(0.975))  # 97.5 % point of the standard normal


ROUNDING = 1e-6  # of what is logged in float32, as a share of its size, and to spare


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

    def within(self, least: float, most: float) -> "Estimate":
        """The same, its interval cut at bounds."""
        return self._replace(low=max(self.low, least), high=min(self.high, most))

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


def means(rows: np.ndarray, least: float = -math.inf, most: float = math.inf) -> "pd.DataFrame":
    """Mean of each row of an array, with Student's interval cut at bounds, all rows at once.

    Columns estimate, low, high, n_runs. Rows whose values are all the same have no interval.
    """
    n = (~np.isnan(rows)).sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        filled = np.nan_to_num(rows)
        center = filled.sum(1) / n
        squares = np.where(np.isnan(rows), 0, rows - center[:, None]) ** 2
        half = stdtrit(n - 1, 0.975) * np.sqrt(squares.sum(1) / (n - 1) / n)
        half = np.where(np.fmax.reduce(rows, 1) > np.fmin.reduce(rows, 1), half, np.nan)
        low, high = (np.clip(center + sign * half, least, most) for sign in (-1, 1))
    return pd.DataFrame({"estimate": center, "low": low, "high": high, "n_runs": n})


def bounded_mean(values: ArrayLike, least: float = -math.inf, most: float = math.inf) -> Estimate:
    """Mean of values that lie between two bounds, with an interval that does, too.

    Student's interval, cut at the bounds: it trusts the spread that the values have, and few values
    may not have met what is rare. Values that are all the same (but for rounding), or a single one,
    tell no spread: then a share of up to 1 - 0.05^(1/n) of all runs may differ, by as much as the
    bounds allow. Without bounds an end is infinite.
    """
    found = mean(values)
    if found.n == 0:
        return found
    is_bounded = math.isfinite(most - least)
    rounding = ROUNDING * (most - least) if is_bounded else 0.0
    if found.high - found.low > rounding:
        return found.within(least, most)
    unseen = 1 - 0.05 ** (1 / found.n)
    low, high = (found.value + unseen * (bound - found.value) for bound in (least, most))
    return Estimate(found.value, low, high, found.n)


def mean_count(values: ArrayLike) -> Estimate:
    """Mean of counts, which are 0 or more; of equal counts with the exact interval of Poisson's.

    Counts of circles and the like spread less than Poisson's, so that interval is on the safe side.
    """
    values = known(values)
    found = bounded_mean(values, 0.0)
    if math.isfinite(found.high) or found.n == 0:
        return found
    from scipy.stats import chi2

    total = values.sum()
    low = float(chi2.ppf(0.025, 2 * total)) / 2 if total else 0.0
    return found._replace(
        low=low / found.n, high=float(chi2.ppf(0.975, 2 * total + 2)) / 2 / found.n
    )


def median_time(after: ArrayLike, by: ArrayLike) -> Estimate:
    """Median of times that are known to lie in intervals (after, by], by Kaplan and Meier.

    If something has not happened by the end, ``by`` is NaN and ``after`` the last time it was
    looked for. The value is the median of ``by``, infinite if less than half of the runs got there.
    The interval's lower end is that of the median of ``after``, its upper end that of the median of
    ``by`` (lifelines; log-log): it counts how rarely was looked. Six runs that have not got there
    bound a median at 95 %, fewer do not (1/2^5 > 0.025): the lower end is no later than the last
    six were looked at, and of fewer than six runs the interval is 0 to infinity.
    """
    after, by = np.asarray(after, dtype=float), np.asarray(by, dtype=float)
    n = len(after)
    if n == 0:
        return Estimate()
    happened = ~np.isnan(by)
    (center, _, high), (_, low, _) = (
        _kaplan_meier(np.where(happened, times, after), happened) for times in (by, after)
    )
    if 2 * happened.sum() < n:  # of the few that were watched longest, most may have got there
        center = high = math.inf
    if n < 6:
        return Estimate(center, 0.0, math.inf, n)
    return Estimate(center, min(low, float(np.sort(after)[-6])), high, n)


def _kaplan_meier(times: np.ndarray, happened: np.ndarray) -> tuple[float, float, float]:
    """Median of times and its interval, of which some are those at which a run was last seen."""
    from lifelines import KaplanMeierFitter
    from lifelines.utils import median_survival_times

    fitted = KaplanMeierFitter().fit(times, happened)
    low, high = sorted(median_survival_times(fitted.confidence_interval_).to_numpy()[0].tolist())
    return float(fitted.median_survival_time_), low, high


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
    if np.ptp(x) == np.ptp(y) == 0:
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


def rank_correlation(x: ArrayLike, y: ArrayLike, strata: ArrayLike, units: ArrayLike) -> Estimate:
    """Spearman's rho within strata, averaged over them, with an interval over independent units.

    ``strata`` and ``units`` say for each pair (x, y) which it belongs to; the pairs of one unit,
    as runs that share a seed, may go together. Averages and the jackknife are on Fisher's scale;
    the jackknife leaves out one of at most 50 groups of units at a time, or of strata if there are
    fewer than three units. Infinite y are the largest. A perfect order is taken to be one exchange
    of neighbours away from it. Strata of three pairs and fewer tell nothing; one whose y are all
    the same counts as no correlation, unless all are such.
    """
    frame = pd.DataFrame({"x": x, "y": y, "stratum": strata, "unit": units})
    whole, freedom, n = _fisher(frame)
    if math.isnan(whole):
        return Estimate(n=n)
    # Of few units, or where all parts agree, the pairs alone tell (Bonett and Wright, 2000).
    half = Z * math.sqrt((1 + math.tanh(whole) ** 2 / 2) / freedom)
    over = _independent(frame)
    group = pd.factorize(frame[over])[0] % 50 if over else np.zeros(len(frame))
    parts = np.array([_fisher(frame[group != g])[0] for g in np.unique(group)])
    if len(parts := parts[~np.isnan(parts)]) > 2:
        spread = math.sqrt((len(parts) - 1) / len(parts) * ((parts - parts.mean()) ** 2).sum())
        if spread > 1e-9:
            half = float(stdtrit(len(parts) - 1, 0.975)) * spread
    return Estimate(math.tanh(whole), math.tanh(whole - half), math.tanh(whole + half), n)


def _independent(frame: "pd.DataFrame") -> str:
    """What can be taken for independent, units or strata; empty if there are too few of both."""
    return next((name for name in ("unit", "stratum") if frame[name].nunique() > 2), "")


def _fisher(frame: "pd.DataFrame") -> tuple[float, float, int]:
    """Fisher's z of Spearman's rho, averaged over strata by size; its freedom; number of pairs."""
    found = []
    for _, own in frame.groupby("stratum"):
        ranks = own[["x", "y"]].rank().to_numpy()
        n, (differs_x, differs_y) = len(ranks), np.ptp(ranks, axis=0) > 0
        if n > 3 and differs_x:
            rho = np.corrcoef(ranks.T)[0, 1] if differs_y else 0.0
            most = 1 - 12 / (n * (n**2 - 1))
            found.append((np.arctanh(np.clip(rho, -most, most)), n, differs_y))
    if not any(differs_y for *_, differs_y in found):
        return math.nan, 0, 0
    values, sizes, _ = np.array(found).T
    freedom = sizes - 3
    return float(np.average(values, weights=freedom)), float(freedom.sum()), int(sizes.sum())


def slope(
    x: ArrayLike, y: ArrayLike, strata: ArrayLike, units: ArrayLike, reach: float = math.inf
) -> Estimate:
    """Change of y per unit of x within strata, by least squares, with an interval over units.

    Runs of one unit (a seed) in one stratum are compared with each other, so what they share drops
    out; where fewer than three units have two values of x, all runs of a stratum are. The interval
    is Student's, of a ratio of sums over units, or of least squares; if there are fewer than three
    units, over strata, or runs. It is cut at the steepest slope of values that lie within a
    ``reach``.
    """
    frame = pd.DataFrame({"x": x, "y": y, "stratum": strata, "unit": units}, dtype=object)
    frame = frame.astype({"x": float, "y": float})
    by = ["stratum", "unit"]
    several = frame.groupby(by)["x"].transform("nunique") > 1
    is_paired = frame.loc[several, "unit"].nunique() > 2
    if not is_paired:  # runs of one unit at one x, as those of a drawn point, are not independent
        frame = frame.groupby(["stratum", "unit", "x"], as_index=False)["y"].mean()
        by = ["stratum"]
    # Equal values of x may differ from their mean by rounding: they are no slope.
    frame = frame[frame.groupby(by)["x"].transform("nunique") > 1]
    if frame.empty:
        return Estimate()
    within = frame.groupby(by)
    dx = frame["x"] - within["x"].transform("mean")
    dy = frame["y"] - within["y"].transform("mean")
    name = _independent(frame)
    over = frame[name] if name else frame.index
    part, whole = (dx * dy).groupby(over).sum(), (dx**2).groupby(over).sum()
    most = reach * dx.clip(lower=0).sum() / whole.sum()
    if is_paired:
        return ratio(part.to_numpy(), whole.to_numpy()).within(-most, most)
    return _fitted(dx, dy, within["x"].transform("size"), over).within(-most, most)


def _fitted(dx: "pd.Series", dy: "pd.Series", size: "pd.Series", over: Any) -> Estimate:
    """Slope through deviations from the means of strata of some sizes, which few rows fit closely.

    Residuals are those of rows left out (MacKinnon and White's HC3), summed over groups; the
    interval is no narrower than if all rows had one variance.
    """
    squares = float((dx**2).sum())
    value = float((dx * dy).sum()) / squares
    n_groups = len(np.unique(over))
    freedom = len(dx) - round(float((1 / size).sum())) - 1
    if freedom < 1 or n_groups < 3:
        return Estimate(value, n=n_groups)
    residual = dy - value * dx
    alone = 1 - 1 / size - dx**2 / squares  # 0: the only row that tells a slope, or a mean
    left_out = (dx * residual / alone.where(alone > 1e-9)).groupby(over).sum()
    variance = max(float((left_out**2).sum()) / squares, float((residual**2).sum()) / freedom)
    half = float(stdtrit(min(freedom, n_groups - 1), 0.975)) * math.sqrt(variance / squares)
    return Estimate(value, value - half, value + half, n_groups)


def apart(a: Estimate, b: Estimate) -> Estimate:
    """The difference b - a of two estimates of which their intervals are all that is known."""
    return Estimate(b.value - a.value, b.low - a.high, b.high - a.low, a.n + b.n)


def paired_difference(
    x: "pd.Series", y: "pd.Series", reach: float = math.inf, is_share: bool = False
) -> tuple[Estimate, int]:
    """Mean of y - x, and the number of pairs behind it: values with the same index, a seed.

    If at least three are, and half of the fewer values, the interval is over pairs: what runs share
    by their seed drops out. It is Student's, or for shares that of Bonett and Price (2012), with
    one more pair that goes up and one that goes down; differences that are all the same are taken
    as in `bounded_mean`, with infinite ends if no ``reach`` bounds them. Otherwise Welch's for
    means and Newcombe's for shares, which two values of a kind would not bear; NaN where no value
    differs.
    """
    both = pd.concat({"x": x, "y": y}, axis=1).dropna()
    difference, n = both["y"] - both["x"], len(both)
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
    """Median of how much later something happens in the second of a pair, and how many pairs.

    Both are the ends (after, by] of the times, by a common index, a seed; ``by`` is NaN if it has
    not happened by the last time it was looked for. The interval is that of order statistics, of
    the earliest and of the latest that each difference may be; fewer than six pairs have none. If
    less than half of the fewer runs are in pairs, there are none.
    """
    names = ("after", "by", "after_2", "by_2")
    both = pd.concat(dict(zip(names, (*first, *second), strict=True)), axis=1, join="inner")
    n = len(both)
    if n < 3 or 2 * n < min(len(first[0]), len(second[0])):
        return Estimate(), 0
    after, by, after_2, by_2 = both.fillna(math.inf).to_numpy(float).T
    with np.errstate(invalid="ignore"):
        between = by_2 - by  # NaN if it happened in neither
        center = float(np.median(known(between))) if len(known(between)) else math.nan
    from scipy.stats import binom

    beyond = int(binom.ppf(0.025, n, 0.5))
    if beyond == 0:
        return Estimate(center, -math.inf, math.inf, n), n
    low, high = np.sort(after_2 - by)[beyond - 1], np.sort(by_2 - after)[-beyond]
    return Estimate(center, float(low), float(high), n), n


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
