"""Table ``survival_classifiers``: telling survival from initial signal and gradient.

The paper fits a linear support vector machine to four fifths of the (run, frequency) pairs and
reports its accuracy on the rest. Most circles die, so the accuracy of always saying "it dies"
stands beside it, and a score that no constant can reach: the area under the ROC curve, with whole
embeddings held out, as pairs of one embedding are not independent. Its interval is Student's, over
the embeddings.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from circlet.analysis import stats
from circlet.analysis.classifiers import grouped_auc
from circlet.analysis.stats import Estimate
from circlet.collections.ding import survivors
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("initial_signals", "initial_gradients")
TABLES = ("survival",)
COLUMNS = [
    EXPERIMENT,
    column("features", pa.string(), "signal, gradient, both, circularity, or signal_circularity"),
    column("rule", pa.string(), "of survival, A or B"),
    *estimate("accuracy", "linear SVM on a fifth of the rows that it was not fitted to", "%"),
    *estimate("majority", "accuracy of always saying that it dies, on the same fifth", "%"),
    *estimate("gain", "the first minus the second, in points of per cent", "%"),
    *estimate("auc", "area under the ROC curve, whole embeddings held out", "0..1"),
    column("n_embeddings", pa.int32(), "embeddings that are held out in turn"),
    *COUNTS,
]

_FEATURES = {
    "signal": ["initial_signal"],
    "gradient": ["initial_gradient"],
    "both": ["initial_signal", "initial_gradient"],
    "circularity": ["circularity"],
    "signal_circularity": ["initial_signal", "circularity"],
}
_FEWEST = 10  # rows to fit


def machine():
    """A linear support vector machine on standardised features."""
    return make_pipeline(StandardScaler(), LinearSVC(random_state=0))


def split_accuracy(x: np.ndarray, alive: np.ndarray) -> tuple[Estimate, Estimate, Estimate]:
    """Accuracy (%) of the machine, of the majority, and the difference, on a random fifth.

    Wilson's intervals for the accuracies; the difference is of pairs of answers, with the normal
    interval of their mean.
    """
    fitted, tested, y, truth = train_test_split(x, alive, test_size=0.2, random_state=0)
    if len(np.unique(y)) < 2:
        return (Estimate(n=len(truth)),) * 3
    right = machine().fit(fitted, y).predict(tested) == truth
    usual = truth == (y.mean() > 0.5)
    accuracy, majority = (stats.share(*stats.counted(a)).times(100) for a in (right, usual))
    gain = stats.mean(100.0 * (right.astype(int) - usual.astype(int)), normal=True)
    return accuracy, majority, gain


def table(study: Study) -> Iterator[dict]:
    """A row per experiment and set of features."""
    every = parquet.read_table(study, "survival").dropna(subset=["initial_gradient"])
    for experiment in study.config["experiments"]:
        points = study.experiment(experiment)
        rule, column = survivors.rule(points[0].steps)
        survival = every[every["experiment"] == experiment]
        alive = survival[column].to_numpy(bool)
        if len(alive) < _FEWEST:
            continue
        for features, columns in _FEATURES.items():
            x = survival[columns].to_numpy(float)
            accuracy, majority, gain = split_accuracy(x, alive)
            auc = grouped_auc(x, alive, survival["embedding_seed"].to_numpy(), machine)
            yield {
                "experiment": experiment,
                "features": features,
                "rule": rule,
                **accuracy.columns("accuracy"),
                **majority.columns("majority"),
                **gain.columns("gain"),
                **auc.columns("auc"),
                "n_embeddings": survival["embedding_seed"].nunique(),
                "n_runs": survival["run_id"].nunique(),
                "n_planned": sum(p.count for p in points),
            }
