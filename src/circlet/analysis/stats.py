"""Estimates over runs with their 95 % intervals, and intervals of differences.

An estimate is a triple (value, low, high); what cannot be estimated is NaN.
"""

import math

import numpy as np
from scipy.special import stdtrit

Z = 1.959963984540054  # 97.5 % point of the standard normal

Estimate = tuple[float, float, float]
NONE: Estimate = (math.nan, math.nan, math.nan)


def columns(name: str, estimate: Estimate) -> dict[str, float]:
    """An estimate as the three columns ``name``, ``name_low`` and ``name_high``."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), estimate, strict=True))


def mean(values: np.ndarray) -> Estimate:
    """Mean and its normal interval, +- 1.96 sd / sqrt(n); the ends need two values."""
    if len(values) == 0:
        return NONE
    center = float(np.mean(values))
    if len(values) == 1:
        return center, math.nan, math.nan
    half = Z * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return center, center - half, center + half


def count(k: int, n: int) -> Estimate:
    """Number of successes among n trials, with Wilson's score interval scaled to a count."""
    if n == 0:
        return NONE
    low, high = _wilson(k, n)
    return float(k), low * n, high * n


def _wilson(k: int, n: int) -> tuple[float, float]:
    share = k / n
    center = share + Z**2 / (2 * n)
    half = Z * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    # At the ends the formula gives 0 and 1 but for rounding.
    low = 0.0 if k == 0 else (center - half) / (1 + Z**2 / n)
    high = 1.0 if k == n else (center + half) / (1 + Z**2 / n)
    return low, high


def correlation(x: np.ndarray, y: np.ndarray) -> Estimate:
    """Pearson's r with Fisher's interval, tanh(atanh r +- 1.96 / sqrt(n - 3))."""
    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return NONE
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    if abs(r) == 1:
        return r, r, r
    half = Z / math.sqrt(len(x) - 3)
    return r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def mean_difference(x: np.ndarray, y: np.ndarray) -> Estimate:
    """Difference of two means, with Welch's t interval."""
    if min(len(x), len(y)) < 2:
        return NONE
    vx, vy = np.var(x, ddof=1) / len(x), np.var(y, ddof=1) / len(y)
    center = float(np.mean(x) - np.mean(y))
    if vx + vy == 0:
        return center, center, center
    freedom = (vx + vy) ** 2 / (vx**2 / (len(x) - 1) + vy**2 / (len(y) - 1))
    half = float(stdtrit(freedom, 0.975)) * math.sqrt(vx + vy)
    return center, center - half, center + half


def share_difference(k1: int, n1: int, k2: int, n2: int) -> Estimate:
    """Difference of two shares, k1/n1 - k2/n2, with Newcombe's hybrid score interval."""
    p1, p2 = k1 / n1, k2 / n2
    (l1, u1), (l2, u2) = _wilson(k1, n1), _wilson(k2, n2)
    low = p1 - p2 - math.hypot(p1 - l1, u2 - p2)
    high = p1 - p2 + math.hypot(u1 - p1, p2 - l2)
    return p1 - p2, low, high
