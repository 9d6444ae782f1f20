"""Models of a time by a parameter, fitted to times that are known to lie in intervals.

The logarithm of the time is normal with one standard deviation, about a location that a model
gives. A run whose event has not happened by its last logged step is censored there. lifelines fits
only locations that are linear in the logarithm; with such, the tests compare.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize, root
from scipy.special import expit, log_ndtr

from circlet.analysis import stats
from circlet.analysis.stats import Estimate

MAX_GROUPS = 20  # of seeds that a jackknife leaves out, one group at a time

MODELS = ("inverse", "power", "sum")
NAMES = ["p", "learning_rate", "weight_decay"]  # parameters that are swept
TIMES = {"grok": "generalised_step", "delay": "delay"}  # names of milestones


def ends(rows: pd.DataFrame, time: str, x: str) -> pd.DataFrame:
    """Return seed, x, and the ends (after, by] of a time of each run."""
    name = TIMES[time]
    both = {"after": rows[f"{name}_after"], "by": rows[name]}
    return pd.DataFrame({"seed": rows["seed"], "x": rows[x], **both}).astype(float)


class Fit(NamedTuple):
    """A fitted model: its parameters, and the logarithm of the standard deviation."""

    model: str
    parameters: np.ndarray
    log_sigma: float

    def location(self, log_x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the median of log(time) by log(x), and its derivatives by the parameters."""
        level, one = self.parameters[0], np.ones_like(log_x)
        if self.model == "inverse":  # constant / x
            return level - log_x, one[None]
        second = self.parameters[1]
        if self.model == "power":
            return level - second * log_x, np.array([one, -log_x])
        least = max(second, 0.0)  # a time, a step at least, + constant / x
        share = expit(least - level + log_x)
        return np.logaddexp(least, level - log_x), np.array([1 - share, share * (second > 0)])

    def likelihood(self, times: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-likelihood of each run, and the derivatives by all numbers of the fit.

        ``times`` has a row with ``x``, ``after`` and ``by`` for each run.
        """
        location, by_parameters = self.location(np.log(times["x"].to_numpy(float)))
        with np.errstate(divide="ignore"):
            after, by = (np.log(times[end].to_numpy(float)) for end in ("after", "by"))
        by = np.where(np.isnan(by), np.inf, by)
        sigma = np.exp(self.log_sigma)
        low, high = ((end - location) / sigma for end in (after, by))
        # In the upper half the same by symmetry, where ndtr is near 1.
        below, above = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = log_ndtr(above) + np.log(-np.expm1(log_ndtr(below) - log_ndtr(above)))
        inside = np.where(np.isneginf(below), log_ndtr(above), np.maximum(inside, -1e4))
        densities = [np.exp(-(end**2) / 2 - inside) / np.sqrt(2 * np.pi) for end in (low, high)]
        by_location = (densities[0] - densities[1]) / sigma
        low, high = (np.where(np.isinf(end), 0, end) for end in (low, high))
        by_sigma = low * densities[0] - high * densities[1]
        return inside, np.array([*by_parameters * by_location, by_sigma])


def usable(times: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that say something: not those that began with the event or at their end."""
    began = (times["by"] <= 0) | (times["by"].isna() & (times["after"] <= 0))
    return times[times["after"].notna() & ~began]


def fit(model: str, times: pd.DataFrame) -> Fit:
    """Return the model of largest likelihood; NaN if there is none."""
    log_x = np.log(times["x"].to_numpy(float))
    log_time = np.log(times["by"].fillna(times["after"]).to_numpy(float))
    level = float(np.mean(log_time + log_x))
    start = {"inverse": [level], "power": [level, 1.0], "sum": [level, log_time.min() - 1]}[model]
    sigma = np.log(max(float(np.std(log_time + log_x)), 0.05))

    def loss(q: np.ndarray) -> tuple[float, np.ndarray]:
        values, slopes = Fit(model, q[:-1], q[-1]).likelihood(times)
        return -values.sum(), -slopes.sum(axis=1)

    fitted = minimize(loss, [*start, sigma], jac=True)
    if not np.isfinite(fitted.fun):
        return Fit(model, np.full(len(start), np.nan), np.nan)
    # Near its least value a loss changes by less than its rounding, and processors round
    # differently. A root of its slopes is exact enough to be the same on all.
    best = root(lambda q: loss(q)[1], fitted.x, tol=1e-12)
    is_best = np.abs(best.fun).max() < 1e-6 and loss(best.x)[0] <= fitted.fun + 1e-6
    parameters = best.x if is_best else fitted.x
    return Fit(model, parameters[:-1], float(parameters[-1]))


def is_enough(times: pd.DataFrame) -> bool:
    """Return whether events were seen at two values of x at least, and at five runs."""
    seen = times[times["by"].notna()]
    return len(seen) >= 5 and seen["x"].nunique() >= 2


def exponent(times: pd.DataFrame) -> Estimate:
    """Return b of time ~ x^-b, with Student's interval of a jackknife over seeds; n: seeds."""
    times = usable(times)
    seeds = times["seed"].unique()
    if not is_enough(times) or len(seeds) < 3:
        return Estimate(n=len(seeds))
    groups = np.array_split(seeds, min(len(seeds), MAX_GROUPS))
    kept = (times[~times["seed"].isin(group)] for group in groups)
    parts = np.array([fit("power", part).parameters[1] if is_enough(part) else np.nan
                      for part in kept])  # fmt: skip
    whole = float(fit("power", times).parameters[1])
    return stats.jackknife(whole, parts)._replace(n=len(seeds))


def left_out(model: str, times: pd.DataFrame) -> pd.Series:
    """Return the log-likelihood of each run by the model fitted to all other values of x."""
    parts = [
        pd.Series(fit(model, times[times["x"] != x]).likelihood(rows)[0], rows.index)
        for x, rows in times.groupby("x")
    ]
    return pd.concat(parts)
