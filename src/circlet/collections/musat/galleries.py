"""Selection of the runs in galleries: by seed, never by eye."""

import pandas as pd

from circlet.collections.musat.tables import exemplars

_EMBEDDINGS = range(10, 30)  # seeds
_CLASSIFIERS = 14
_PROJECTIONS = {3: 7, 4: 8}  # number of runs by dimension, as in the paper


def embeddings(runs: pd.DataFrame) -> list[str]:
    """Return a point's runs with seeds 10 to 29, or its last twenty if one of them is missing."""
    ordered = runs.sort_values("seed")
    chosen = ordered[ordered["seed"].isin(_EMBEDDINGS)]
    if len(chosen) < len(_EMBEDDINGS):
        chosen = ordered.tail(len(_EMBEDDINGS))
    return chosen["run_id"].tolist()


def classifiers(structures: pd.DataFrame) -> list[str]:
    """The first runs by seed at the weight decay nearest to 0.6."""
    near = exemplars.nearest(structures, "weight_decay", 0.6)
    return near.sort_values("seed")["run_id"].head(_CLASSIFIERS).tolist()


def projections(runs: pd.DataFrame, d: int) -> list[str]:
    """Return the first runs by seed; the paper shows the same number in d dimensions."""
    return runs.sort_values("seed")["run_id"].head(_PROJECTIONS.get(d, 8)).tolist()
