"""Scores of survival classifiers for which every constant answer is at chance."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold


def crossed_scores(
    x: np.ndarray,
    alive: np.ndarray,
    runs: np.ndarray,
    embeddings: np.ndarray,
    networks: np.ndarray,
    make: Callable,
) -> pd.DataFrame:
    """Score predictions of each run's survivors by a classifier fitted to runs with other seeds.

    Rows are frequencies. They have features ``x``, (rows, features), the truth ``alive``, bool, and
    the run, embedding and network that they belong to, (rows,). A run is scored by a classifier
    that has seen neither its embedding nor its network. ``make`` returns an unfitted classifier
    with a ``decision_function``.

    The result has a row per run: ``run``, ``embedding``, ``network``, ``auc`` (ROC within the run;
    NaN if all or none survive), ``jaccard`` (index of the predicted and the true set) and ``exact``
    (whether the two sets are equal). It is empty if no classifier can be fitted.
    """
    is_crossed = len(np.unique(networks)) < len(np.unique(runs))
    rows = []
    folds = min(10, len(np.unique(embeddings)))
    splits = GroupKFold(folds).split(x, alive, embeddings) if folds > 1 else ()
    for _, tested in splits:
        for network in np.unique(networks[tested]) if is_crossed else [None]:
            held_out = tested if network is None else tested[networks[tested] == network]
            other = ~np.isin(embeddings, embeddings[held_out]) & ~np.isin(
                networks, networks[held_out]
            )
            if len(np.unique(alive[other])) < 2:
                continue
            score = make().fit(x[other], alive[other]).decision_function(x[held_out])
            for run in np.unique(runs[held_out]):
                in_run = runs[held_out] == run
                truth, predicted = alive[held_out][in_run], score[in_run] > 0
                union = (truth | predicted).sum()
                has_both = 0 < truth.sum() < in_run.sum()
                rows.append(
                    {
                        "run": run,
                        "embedding": embeddings[held_out][in_run][0],
                        "network": networks[held_out][in_run][0],
                        "auc": roc_auc_score(truth, score[in_run]) if has_both else np.nan,
                        "jaccard": (truth & predicted).sum() / union if union else 1.0,
                        "exact": float((truth == predicted).all()),
                    }
                )
    columns = ["run", "embedding", "network", "auc", "jaccard", "exact"]
    return pd.DataFrame(rows, columns=columns)
