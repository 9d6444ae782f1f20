"""Table ``seed_effects``: variance of test accuracy due to initialisation, data and batch order.

All combinations of the three seeds are trained. An analysis of variance of the final test accuracy
has effects of the train set, of the order, and of the initialisation for a given train set: an
initialisation that does well with one train set may fail with another. The residual contains
interactions with the order and chaotic dynamics. The effect of a factor is its partial share of the
variance, lambda / (lambda + N), where lambda is the noncentrality of its F, whose interval follows
from the noncentral F distribution. It holds for the train sets and orders of the study.
"""

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import ncf

from circlet.analysis import log_frames
from circlet.analysis.stats import Estimate
from circlet.storage.schema import COUNTS, EXPERIMENT, column, estimate
from circlet.study.plan import Study

ROLES = ("seed_effects",)
TABLES = ("heads",)
COLUMNS = [
    EXPERIMENT,
    column("factor", "string", "initialisation, data or order"),
    column("levels", "int32", "how many seeds of it"),
    *estimate("share", "partial share of the variance of the last test accuracy", "0..1"),
    *COUNTS,
]

# A run's seed is both its embedding and its network seed, so one column stands for both.
_FACTORS = {"initialisation": "embedding_seed", "data": "data_seed", "order": "order_seed"}


def _noncentrality(statistic: float, within: int, residual_df: int, quantile: float) -> float:
    """Return the lambda at which an F is at a quantile; 0 if F is too small for any lambda."""

    def excess(noncentrality: float) -> float:
        return float(ncf.cdf(statistic, within, residual_df, noncentrality)) - quantile

    if excess(1e-9) <= 0:
        return 0.0
    top = 10.0
    while excess(top) > 0:
        top *= 2
    return float(brentq(excess, 1e-9, top))


def effects(runs: pd.DataFrame) -> dict[str, Estimate]:
    """Partial share of variance of each factor; unknown unless the design is complete.

    ``runs`` has a row per run, with the columns of ``_FACTORS`` and ``test_accuracy``. n counts
    the seeds of the factor; for the initialisation, at most the train sets.
    """
    n = len(runs)
    levels = {name: runs[column].nunique() for name, column in _FACTORS.items()}
    counts = levels | {"initialisation": min(levels["initialisation"], levels["data"])}
    y = runs["test_accuracy"].to_numpy(np.float64)
    total = ((y - y.mean()) ** 2).sum()
    unknown = {name: Estimate(n=k) for name, k in counts.items()}
    if n != np.prod(list(levels.values())) or total == 0:
        return unknown

    def between(*columns: str) -> float:
        groups = runs.groupby([*columns])["test_accuracy"]
        return float((groups.size() * (groups.mean() - y.mean()) ** 2).sum())

    squares = {"data": between("data_seed"), "order": between("order_seed")}
    squares["initialisation"] = between("data_seed", "embedding_seed") - squares["data"]
    freedom = {name: levels[name] - 1 for name in ("data", "order")}
    freedom["initialisation"] = levels["data"] * (levels["initialisation"] - 1)
    rest, residual_df = total - sum(squares.values()), n - 1 - sum(freedom.values())
    if residual_df < 1 or rest <= 0:
        return unknown
    by_factor = dict(unknown)
    for name, df in freedom.items():
        if df:
            statistic = squares[name] / df / (rest / residual_df)
            ends = (_noncentrality(statistic, df, residual_df, q) for q in (0.975, 0.025))
            low, high = (value / (value + n) for value in ends)
            center = max(0.0, (statistic - 1) * df)
            by_factor[name] = Estimate(center / (center + n), low, high, counts[name])
    return by_factor


def table(study: Study) -> list[dict]:
    """A row per factor."""
    [(row, runs)] = log_frames.groups(study, "heads", ["experiment"])
    return [
        row
        | {
            "factor": name,
            "levels": runs[_FACTORS[name]].nunique(),
            **effect.columns("share"),
        }
        for name, effect in effects(runs).items()
    ]
