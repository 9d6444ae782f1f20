"""Means over runs that may share an initial embedding, a network or a split.

Such runs are dependent, so n is the number of distinct seeds of the kind that has the fewest.
"""

import math

import pandas as pd
from numpy.typing import ArrayLike

from circlet.analysis import stats
from circlet.analysis.stats import Estimate

SEEDS = ["embedding_seed", "network_seed", "data_seed"]


def fewest(runs: pd.DataFrame) -> str:
    """Return the kind of seed that has the fewest distinct values among runs."""
    return str(runs[SEEDS].nunique().idxmin())


def over_runs(values: ArrayLike, runs: pd.DataFrame, least: float, most: float) -> Estimate:
    """Return the mean of a value per row of ``runs``, within bounds; n counts `fewest` seeds.

    If runs combine embeddings and networks, the interval allows for both being shared.
    """
    n_seeds = runs[SEEDS].nunique()
    estimate = Estimate()
    if n_seeds.min() > 1 and len(runs[SEEDS].drop_duplicates()) > n_seeds.max():
        estimate = stats.crossed_mean(values, runs["embedding_seed"], runs["network_seed"])
    if math.isnan(estimate.low):
        estimate = stats.over_units(values, runs[fewest(runs)], least, most)
    return estimate._replace(n=int(n_seeds.min())).within(least, most)
