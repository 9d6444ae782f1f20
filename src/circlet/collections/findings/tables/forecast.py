"""Table ``forecast``: accuracy of a forecast of survival, per weight decay and step.

From the signals up to a step, a logistic regression predicts which frequencies will survive (rule
A). It is scored on runs of which it has seen neither the embedding nor the network: by the area
under the ROC curve within each run, by the Jaccard index of the predicted and the true set of
survivors, and by how often the two sets are equal. Runs that share an embedding or a network are
dependent, so intervals are from a bootstrap over both. The features of a frequency are its signal
now, its growth since step 0 and its growth since half of the steps, each as a logarithm relative to
the mean over the run's frequencies, so that only the competition is left.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from circlet.analysis import log_frames, stats
from circlet.analysis.classifiers import crossed_scores
from circlet.config.experiment import Schedule
from circlet.config.schedules import steps_of
from circlet.storage.schema import COUNTS, EXPERIMENT, STEP, Rows, column, estimate
from circlet.study.plan import Study
from circlet.study.points import Point

OPTIONAL_ROLES = ("forecast", "decay_circles")
LOGS = ("runs", "signals")
TABLES = ("survival",)
COLUMNS = [
    EXPERIMENT,
    column("weight_decay", "float64", "decoupled weight decay"),
    STEP,
    *estimate("auc", "area under the ROC curve; n: embeddings or networks, the fewer", "0..1"),
    *estimate("gain", "auc minus that at step 0, of the same runs", "0..1"),
    *estimate("jaccard", "Jaccard index of the predicted and the true set of survivors", "0..1"),
    *estimate("exact", "share of runs whose set of survivors is predicted", "0..1"),
    *COUNTS,
]


def regression():
    """A logistic regression on standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression())


def nearest(steps: list[int], target: int) -> int:
    """The last of some steps that is not after ``target``."""
    return max(step for step in steps if step <= target)


def features(wide: pd.DataFrame, step: int) -> np.ndarray:
    """Return the features at a logged step, (rows, 3).

    ``wide`` are signals: a row per run and frequency with these as index, a column per logged step.
    """
    now = np.log(wide[step].clip(lower=1e-30))
    start, half = (
        np.log(wide[s].clip(lower=1e-30)) for s in (0, nearest(list(wide.columns), step // 2))
    )
    parts = [now, now - start, now - half]
    centred = [part - part.groupby(level="run_id").transform("mean") for part in parts]
    return np.column_stack(centred)


def grid(points: list[Point]) -> list[int]:
    """Return the logged steps of forecasts: 0, and evenly in the logarithm to the end."""
    logged = set.intersection(*(set(point.steps_logged("signals")) for point in points))
    last = min(point.steps for point in points)
    targets = steps_of(Schedule(per_decade=6), last).tolist()
    return sorted({nearest(sorted(logged), step) for step in targets})


def table(study: Study) -> Rows:
    """A row per experiment, weight decay and step that can be scored on at least three embeddings.

    A run of which all circles survive, or none, has no AUC.
    """
    keys = ["experiment", "weight_decay"]
    for row, survival in log_frames.groups(study, "survival", keys, study.reproduce):
        all_points = study.experiment(row["experiment"])
        points = [p for p in all_points if p.parameters["weight_decay"] == row["weight_decay"]]
        steps = grid(points)
        blocks = [block for point in points for block in point.blocks]
        log = log_frames.concatenate([log_frames.finished(b, "signals", steps) for b in blocks])
        if log.empty:
            continue
        wide = log.pivot(index=["run_id", "frequency"], columns="step", values="signal")
        aligned = survival.set_index(["run_id", "frequency"]).reindex(wide.index)
        runs = wide.index.get_level_values("run_id").to_numpy()
        embedding, network = (
            aligned[f"{part}_seed"].to_numpy() for part in ("embedding", "network")
        )
        first = None
        for step in steps:
            x, alive = features(wide, step), aligned["survived"].to_numpy(bool)
            scores = crossed_scores(x, alive, runs, embedding, network, regression)
            scores = scores.set_index("run")
            first = scores if first is None else first
            if scores["auc"].groupby(scores["embedding"]).count().gt(0).sum() < 3:
                continue
            scores["gain"] = scores["auc"] - first["auc"]
            estimates = {
                name: stats.crossed_mean(
                    scores[name], scores["embedding"], scores["network"]
                ).within(-1 if name == "gain" else 0, 1)
                for name in ("auc", "gain", "jaccard", "exact")
            }
            yield row | {"step": step, **stats.columns(estimates)}
