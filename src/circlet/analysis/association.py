"""Correlations and slopes, with their 95 % intervals; see `stats`."""

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from circlet.analysis.stats import Estimate, Z, jackknife, jackknife_error, ratio, student


def correlation_over_units(x: ArrayLike, y: ArrayLike, units: ArrayLike) -> Estimate:
    """Return Pearson's r of pairs that are dependent within a unit; n counts units.

    The interval is Student's, from a jackknife on Fisher's z that leaves out one unit at a time.
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
    """Return Pearson's r with Fisher's interval, tanh(atanh r +- 1.96 / sqrt(n - 3))."""
    pairs = np.stack([np.asarray(values, dtype=float) for values in (x, y)])
    pairs = pairs[:, ~np.isnan(pairs).any(0)]
    n = pairs.shape[1]
    if n < 4 or not np.ptp(pairs, axis=1).all():
        return Estimate(n=n)
    from scipy.stats import NearConstantInputWarning, pearsonr

    with warnings.catch_warnings():  # nearly constant values have a correlation, too
        warnings.simplefilter("ignore", NearConstantInputWarning)
        result = pearsonr(*pairs)
    r = float(result.statistic)
    if abs(r) > 1 - 1e-12:  # a straight line: Fisher's z is infinite, scipy's ends are 1
        return Estimate(math.copysign(1, r), n=n)
    low, high = result.confidence_interval()
    return Estimate(r, float(low), float(high), n)


def rank_correlation(x: ArrayLike, y: ArrayLike, strata: ArrayLike, units: ArrayLike) -> Estimate:
    """Return Spearman's rho within strata, averaged over them, with an interval over units.

    ``strata`` and ``units`` give the stratum and the unit of each pair (x, y). Pairs of one unit,
    such as runs that share a seed, may be dependent. Averages and the jackknife use Fisher's z. The
    jackknife leaves out one of at most 50 groups of units at a time, or one stratum if there are
    fewer than three units. Infinite y rank highest. A perfect order counts as if one pair of
    neighbours were exchanged. Strata of three pairs or fewer are ignored. A stratum whose y are all
    equal counts as no correlation, unless all strata are such.
    """
    frame = pd.DataFrame({"x": x, "y": y, "stratum": strata, "unit": units})
    pairs, stratum = frame[["x", "y"]].to_numpy(float), frame["stratum"].to_numpy()
    whole, freedom, n = _fisher(pairs, stratum)
    if math.isnan(whole):
        return Estimate(n=n)
    # With few units, or if all parts agree, pairs give the error (Bonett and Wright, 2000). All
    # agree, too, if no pair is out of order: then ties alone differ between parts.
    half = Z * math.sqrt((1 + math.tanh(whole) ** 2 / 2) / freedom)
    over = _independent(frame)
    group = pd.factorize(frame[over])[0] % 50 if over else np.zeros(len(frame))
    kept = [group != g for g in np.unique(group)]
    parts = np.array([_fisher(pairs[rows], stratum[rows])[0] for rows in kept])
    if len(parts := parts[~np.isnan(parts)]) > 2:
        spread = jackknife_error(parts)
        if spread > 1e-9 and not all(_in_order(rows) for _, rows in frame.groupby("stratum")):
            half = float(stdtrit(len(parts) - 1, 0.975)) * spread
    return Estimate(math.tanh(whole), math.tanh(whole - half), math.tanh(whole + half), n)


def _in_order(frame: "pd.DataFrame") -> bool:
    """Return whether y nowhere falls, or nowhere rises, from one x to a larger one."""
    low, high = frame.groupby("x")["y"].agg(["min", "max"]).to_numpy().T
    return bool((high[:-1] <= low[1:]).all() or (low[:-1] >= high[1:]).all())


def _independent(frame: "pd.DataFrame") -> str:
    """Return the column of independent groups: units, or else strata; empty if both are too few."""
    return next((name for name in ("unit", "stratum") if frame[name].nunique() > 2), "")


def _fisher(pairs: np.ndarray, stratum: np.ndarray) -> tuple[float, float, int]:
    """Return Fisher's z of rho, averaged over strata, degrees of freedom and number of pairs."""
    by_stratum = []
    for level in np.unique(stratum):
        ranks = pd.DataFrame(pairs[stratum == level]).rank().to_numpy()
        n, (differs_x, differs_y) = len(ranks), np.ptp(ranks, axis=0) > 0
        if n > 3 and differs_x:
            rho = np.corrcoef(ranks.T)[0, 1] if differs_y else 0.0
            limit = 1 - 12 / (n * (n**2 - 1))
            by_stratum.append((np.arctanh(np.clip(rho, -limit, limit)), n, differs_y))
    if not any(differs_y for *_, differs_y in by_stratum):
        return math.nan, 0, 0
    values, sizes, _ = np.array(by_stratum).T
    freedom = sizes - 3
    return float(np.average(values, weights=freedom)), float(freedom.sum()), int(sizes.sum())


def slope(
    x: ArrayLike, y: ArrayLike, strata: ArrayLike, units: ArrayLike, reach: float = math.inf
) -> Estimate:
    """Return the least-squares slope of y in x within strata, with an interval over units.

    Runs of one unit (a seed) in one stratum are compared with each other, so what they share drops
    out. If fewer than three units have two values of x, all runs of a stratum are compared. The
    interval is Student's, of a ratio of sums over units or of least squares; with fewer than three
    units it is over strata or runs. It is cut at the steepest slope that values within ``reach``
    allow.
    """
    frame = pd.DataFrame({"x": x, "y": y, "stratum": strata, "unit": units}, dtype=object)
    frame = frame.astype({"x": float, "y": float})
    by = ["stratum", "unit"]
    several = frame.groupby(by)["x"].transform("nunique") > 1
    is_paired = frame.loc[several, "unit"].nunique() > 2
    if not is_paired:  # runs of one unit at one x, as at a random point, are dependent
        frame = frame.groupby(["stratum", "unit", "x"], as_index=False)["y"].mean()
        by = ["stratum"]
    # Equal values of x may differ from their mean by rounding: they give no slope.
    frame = frame[frame.groupby(by)["x"].transform("nunique") > 1]
    if frame.empty:
        return Estimate()
    within = frame.groupby(by)
    dx = frame["x"] - within["x"].transform("mean")
    dy = frame["y"] - within["y"].transform("mean")
    name = _independent(frame)
    over = frame[name] if name else frame.index
    part, whole = (dx * dy).groupby(over).sum(), (dx**2).groupby(over).sum()
    limit = reach * dx.clip(lower=0).sum() / whole.sum()
    if is_paired:
        return ratio(part.to_numpy(), whole.to_numpy()).within(-limit, limit)
    return _fitted(dx, dy, within["x"].transform("size"), over).within(-limit, limit)


def _fitted(dx: "pd.Series", dy: "pd.Series", size: "pd.Series", over: Any) -> Estimate:
    """Return the least-squares slope of deviations dx, dy from means of strata of ``size`` rows.

    A line follows few rows closely, so the error uses residuals of rows left out (MacKinnon and
    White's HC3), summed over groups. It is no smaller than if all rows had one variance.
    """
    squares = float((dx**2).sum())
    value = float((dx * dy).sum()) / squares
    n_groups = len(np.unique(over))
    freedom = len(dx) - round(float((1 / size).sum())) - 1
    if freedom < 1 or n_groups < 3:
        return Estimate(value, n=n_groups)
    residual = dy - value * dx
    alone = 1 - 1 / size - dx**2 / squares  # 0 if the row alone decides a slope or a mean
    left_out = (dx * residual / alone.where(alone > 1e-9)).groupby(over).sum()
    variance = max(float((left_out**2).sum()) / squares, float((residual**2).sum()) / freedom)
    error = math.sqrt(variance / squares)
    return student(value, error, min(freedom, n_groups - 1), n_groups)
