"""Correlations and slopes, with their 95 % intervals; see `stats`."""

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from circlet.analysis.stats import Estimate, Z, jackknife, jackknife_error, ratio


def correlation_over_units(x: ArrayLike, y: ArrayLike, units: ArrayLike) -> Estimate:
    """Pearson's r of pairs that are dependent within a unit; n counts units.

    The jackknife leaves out one unit at a time, on Fisher's scale; Student's interval.
    """
    frame = pd.DataFrame({"x": x, "y": y, "unit": units}).dropna().astype({"x": float, "y": float})
    names = frame["unit"].unique()
    n = len(names)

    def z(part: pd.DataFrame) -> float:
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.arctanh(np.corrcoef(part["x"], part["y"])[0, 1]))

    if n < 3:
        return Estimate(n=n)
    whole = z(frame)
    parts = np.array([z(frame[frame["unit"] != name]) for name in names])
    if not (math.isfinite(whole) and np.isfinite(parts).all()):
        return Estimate(math.tanh(whole), n=n)
    return jackknife(whole, parts).mapped(math.tanh)


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
        spread = jackknife_error(parts)
        if spread > 1e-9:
            half = float(stdtrit(len(parts) - 1, 0.975)) * spread
    return Estimate(math.tanh(whole), math.tanh(whole - half), math.tanh(whole + half), n)


def _independent(frame: "pd.DataFrame") -> str:
    """The independent groups: units, or else strata; empty if there are too few of both."""
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
