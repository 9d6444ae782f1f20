"""Table ``survival_classifiers``: how well early features predict survival.

The paper fits a linear support vector machine to four fifths of the (run, frequency) pairs and
reports its accuracy on the rest. Pairs of one embedding are dependent, so we hold out whole
embeddings in turn (whole runs, if all share one). Intervals are those of `shared_seeds`. Most
circles die, so the table also has the accuracy of always answering "dies", and the area under the
ROC curve, which is 0.5 for every constant answer.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from circlet.analysis import log_frames, stats
from circlet.analysis.classifiers import crossed_scores
from circlet.analysis.stats import Estimate
from circlet.collections.ding import survivors
from circlet.collections.ding.shared_seeds import fewest, over_runs
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("initial_signals", "initial_gradients")
TABLES = ("survival",)
COLUMNS = [
    EXPERIMENT,
    column("features", "string", "signal, gradient, both, circularity, or signal_circularity"),
    column("rule", "string", "of survival, A or B"),
    *estimate("accuracy", "linear SVM on embeddings that it was not fitted to", "%"),
    *estimate("majority", "accuracy of always saying that it dies", "%"),
    *estimate("gain", "the first minus the second, in points of per cent", "%"),
    *estimate("auc", "area under the ROC curve, whole embeddings held out", "0..1"),
    column("n_embeddings", "int32", "embeddings that are held out in turn"),
    *COUNTS,
]

_FEATURES = {
    "signal": ["initial_signal"],
    "gradient": ["initial_gradient"],
    "both": ["initial_signal", "initial_gradient"],
    "circularity": ["circularity"],
    "signal_circularity": ["initial_signal", "circularity"],
}
_FEWEST = 10  # minimum number of rows to fit


def machine():
    """A linear support vector machine on standardised features."""
    return make_pipeline(StandardScaler(), LinearSVC(random_state=0))


def held_out_accuracy(
    x: np.ndarray, alive: np.ndarray, rows: pd.DataFrame
) -> tuple[Estimate, Estimate, Estimate]:
    """Accuracy (%) of the machine, of the majority, and the difference, on held-out embeddings.

    If all share one embedding, runs are held out. ``rows`` has the run and the seeds of each row.
    """
    none = (Estimate(n=rows[fewest(rows)].nunique()),) * 3
    units = rows["embedding_seed"] if rows["embedding_seed"].nunique() > 1 else rows["run_id"]
    folds = min(10, units.nunique())
    if folds < 2 or len(np.unique(alive)) < 2:
        return none
    try:
        answer = cross_val_predict(machine(), x, alive, groups=units, cv=GroupKFold(folds))
    except ValueError:  # in some fold none of the fitted frequencies survive, or all do
        return none
    right, usual = answer == alive, alive == (alive.mean() > 0.5)
    gain = 100.0 * (right.astype(int) - usual.astype(int))
    return (
        over_runs(100.0 * right, rows, 0, 100),
        over_runs(100.0 * usual, rows, 0, 100),
        over_runs(gain, rows, -100, 100),
    )


def held_out_auc(x: np.ndarray, alive: np.ndarray, embeddings: np.ndarray) -> Estimate:
    """Return the mean ROC AUC of embeddings, each scored by a machine that has not seen it."""
    scores = crossed_scores(x, alive, embeddings, embeddings, embeddings, machine)
    return stats.bounded_mean(scores["auc"], 0, 1)


def table(study: Study) -> Rows:
    """A row per experiment and set of features."""
    logged = parquet.read_table(study, "survival")
    complete = logged.dropna(subset=["initial_gradient", "circularity"])
    for row, survival in log_frames.groups(study, complete, ["experiment"]):
        rule, column = survivors.rule(study.experiment(row["experiment"])[0].steps)
        alive = survival[column].to_numpy(bool)
        if len(alive) < _FEWEST:
            continue
        for features, columns in _FEATURES.items():
            x = survival[columns].to_numpy(float)
            accuracy, majority, gain = held_out_accuracy(x, alive, survival)
            auc = held_out_auc(x, alive, survival["embedding_seed"].to_numpy())
            yield row | {
                "features": features,
                "rule": rule,
                **accuracy.columns("accuracy"),
                **majority.columns("majority"),
                **gain.columns("gain"),
                **auc.columns("auc"),
                "n_embeddings": survival["embedding_seed"].nunique(),
            }
