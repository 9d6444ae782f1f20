"""Means and correlations over runs that may share an initial embedding, a network or a split.

Such runs are dependent, so n is the number of distinct seeds of the kind that has the fewest.
"""

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from circlet.analysis import stats
from circlet.analysis.stats import Estimate

SEEDS = ["embedding_seed", "network_seed", "data_seed"]
_OF_RATES = (("initial_signal", "mean"), ("alive", "mean"), ("alive", "count"))


def fewest(runs: pd.DataFrame) -> str:
    """Return the kind of seed that has the fewest distinct values among runs."""
    return str(runs[SEEDS].nunique().idxmin())


def over_runs(values: ArrayLike, runs: pd.DataFrame, lower: float, upper: float) -> Estimate:
    """Return the mean of a value per row of ``runs``, within bounds; n counts `fewest` seeds.

    If runs combine embeddings and networks, the interval allows for both being shared.
    """
    n_seeds = runs[SEEDS].nunique()
    estimate = Estimate()
    if n_seeds.min() > 1 and len(runs[SEEDS].drop_duplicates()) > n_seeds.max():
        estimate = stats.crossed_mean(values, runs["embedding_seed"], runs["network_seed"])
    if math.isnan(estimate.low):
        estimate = stats.over_units(values, runs[fewest(runs)], lower, upper)
    return estimate._replace(n=int(n_seeds.min())).within(lower, upper)


def signal_correlation(survival: pd.DataFrame, trials: int | None = None) -> Estimate:
    """Pearson r of survival rate and initial signal, over embeddings and frequencies.

    The frequencies of an embedding compete, and embeddings may share networks. So the jackknife, on
    Fisher's z, leaves out whole embeddings, then whole networks; the wider interval counts. A rate
    from few runs is noisy, which lowers r. ``trials`` corrects r to that number of runs per
    embedding: the variance of our binomial noise is subtracted and that of ``trials`` runs added.
    """

    def z(runs: pd.DataFrame) -> float:
        groups = runs.groupby(["embedding_seed", "frequency"])
        signal, rate, n = (groups[c].agg(how) for c, how in _OF_RATES)
        if trials is not None and n.min() < 2:
            return math.nan
        with np.errstate(invalid="ignore", divide="ignore"):
            r = np.corrcoef(signal, rate)[0, 1]
            if trials is not None:
                total = rate.var(ddof=1)
                noise = (rate * (1 - rate) / (n - 1)).mean()  # unbiased for p (1 - p) / n
                # With few runs the noise may exceed the variance; then r is unknown.
                r *= np.sqrt(total / (total - noise + noise * n.mean() / trials))
            return float(np.arctanh(r))

    whole, intervals = z(survival), []
    for kind in ("embedding_seed", "network_seed"):
        seeds = survival[kind].unique()
        parts = np.array([z(survival[survival[kind] != seed]) for seed in seeds])
        if len(seeds) > 2 and np.isfinite(parts).all():
            intervals.append(stats.jackknife(whole, parts).mapped(math.tanh))
    n_seeds = int(survival[SEEDS].nunique().min())
    if not intervals:
        return Estimate(math.tanh(whole), n=n_seeds)
    return max(intervals, key=lambda interval: interval.high - interval.low)._replace(n=n_seeds)
