"""Means over runs that may share an initial embedding, a network or a split.

Such runs are dependent, so at most as many are independent as they have seeds of the rarest kind.
"""

import math

import pandas as pd
from numpy.typing import ArrayLike

from circlet.analysis import stats
from circlet.analysis.stats import Estimate

SEEDS = ["embedding_seed", "network_seed", "data_seed"]


def fewest(runs: pd.DataFrame) -> str:
    """The kind of seed of which runs have the fewest values, so that many are independent."""
    return str(runs[SEEDS].nunique().idxmin())


def over_runs(values: ArrayLike, runs: pd.DataFrame, least: float, most: float) -> Estimate:
    """Mean of values of runs, a row of ``runs`` each, between two bounds; n counts `fewest` seeds.

    The interval allows for embeddings and networks that several runs share, if runs combine them.
    """
    n_seeds = runs[SEEDS].nunique()
    found = Estimate()
    if n_seeds.min() > 1 and len(runs[SEEDS].drop_duplicates()) > n_seeds.max():
        found = stats.crossed_mean(values, runs["embedding_seed"], runs["network_seed"])
    if math.isnan(found.low):
        found = stats.over_units(values, runs[fewest(runs)], least, most)
    return found._replace(n=int(n_seeds.min())).within(least, most)
