"""The score of a classifier of circles that no constant answer can reach."""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from circlet.analysis import stats
from circlet.analysis.stats import Estimate


def grouped_auc(x: np.ndarray, alive: np.ndarray, groups: np.ndarray, make: Callable) -> Estimate:
    """ROC AUC within each group, scored by a classifier that has not seen the group.

    It is the mean over groups, with Student's interval; groups in which all or none survive have no
    AUC. Of each row there are the features x, (rows, features), the truth ``alive``, (rows,), bool,
    and the embedding that it is of, ``groups``, (rows,). ``make`` makes the unfitted classifier,
    with a ``decision_function``.
    """
    folds = min(10, len(np.unique(groups)))
    if folds < 2:
        return Estimate()
    found = []
    for fitted, tested in GroupKFold(folds).split(x, alive, groups):
        if len(np.unique(alive[fitted])) < 2:
            continue
        score = make().fit(x[fitted], alive[fitted]).decision_function(x[tested])
        for group in np.unique(groups[tested]):
            here = groups[tested] == group
            if 0 < alive[tested][here].sum() < here.sum():
                found.append(roc_auc_score(alive[tested][here], score[here]))
    return stats.mean(found)
