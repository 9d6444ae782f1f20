"""Models of a time by a parameter, fitted to times that are known to lie in intervals.

The logarithm of the time is normal with one standard deviation, about a location that a model
gives. A run whose event has not happened by its last logged step is censored there. lifelines fits
only locations that are linear in the logarithm; with such, the tests compare.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import log_ndtr

from circlet.analysis import stats
from circlet.analysis.stats import Estimate

MOST_GROUPS = 20  # of seeds that a jackknife leaves out, one group at a time

# Location by parameters and the logarithm of x, such as weight decay.
MODELS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "inverse": lambda q, log_x: q[0] - log_x,  # constant / x
    "power": lambda q, log_x: q[0] - q[1] * log_x,
    "sum": lambda q, log_x: np.logaddexp(q[1], q[0] - log_x),  # a time + constant / x
}


class Fit(NamedTuple):
    """A fitted model: its parameters, and the logarithm of the standard deviation."""

    model: str
    parameters: np.ndarray
    log_sigma: float

    def log_likelihood(self, times: pd.DataFrame) -> np.ndarray:
        """Return the log-likelihood of each run, a row with ``x``, ``after`` and ``by``."""
        location = MODELS[self.model](self.parameters, np.log(times["x"].to_numpy(float)))
        with np.errstate(divide="ignore"):
            after, by = (np.log(times[end].to_numpy(float)) for end in ("after", "by"))
        by = np.where(np.isnan(by), np.inf, by)
        low, high = ((end - location) / np.exp(self.log_sigma) for end in (after, by))
        # In the upper half the same by symmetry, where ndtr is near 1.
        low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = log_ndtr(high) + np.log(-np.expm1(log_ndtr(low) - log_ndtr(high)))
        return np.where(np.isneginf(low), log_ndtr(high), np.maximum(inside, -1e4))


def known(times: pd.DataFrame) -> pd.DataFrame:
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

    def loss(q: np.ndarray) -> float:
        return -float(Fit(model, q[:-1], q[-1]).log_likelihood(times).sum())

    found = minimize(loss, [*start, sigma])
    if not np.isfinite(found.fun):
        return Fit(model, np.full(len(start), np.nan), np.nan)
    return Fit(model, found.x[:-1], float(found.x[-1]))


def is_enough(times: pd.DataFrame) -> bool:
    """Return whether events were seen at two values of x at least, and at five runs."""
    seen = times[times["by"].notna()]
    return len(seen) >= 5 and seen["x"].nunique() >= 2


def exponent(times: pd.DataFrame) -> Estimate:
    """Return b of time ~ x^-b, with Student's interval of a jackknife over seeds; n: seeds."""
    times = known(times)
    seeds = times["seed"].unique()
    if not is_enough(times) or len(seeds) < 3:
        return Estimate(n=len(seeds))
    groups = np.array_split(seeds, min(len(seeds), MOST_GROUPS))
    kept = (times[~times["seed"].isin(group)] for group in groups)
    parts = np.array([fit("power", part).parameters[1] if is_enough(part) else np.nan
                      for part in kept])  # fmt: skip
    whole = float(fit("power", times).parameters[1])
    return stats.jackknife(whole, parts)._replace(n=len(seeds))


def left_out(model: str, times: pd.DataFrame) -> pd.Series:
    """Return the log-likelihood of each run by the model fitted to all other values of x."""
    parts = [
        pd.Series(fit(model, times[times["x"] != x]).log_likelihood(rows), rows.index)
        for x, rows in times.groupby("x")
    ]
    return pd.concat(parts)
