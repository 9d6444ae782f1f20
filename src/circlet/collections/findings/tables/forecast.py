"""Table ``forecast``: how early survival is decided.

From the signals up to a step alone, a logistic regression says which frequencies will survive
(rule A). It is scored on embeddings that it was not fitted to, by the area under the ROC curve
within each embedding; the interval is Student's, over embeddings. What it sees of a frequency are
its signal now, its growth since step 0 and its growth since half of the steps, each as a logarithm
relative to the mean over the run's frequencies, so that nothing but the competition is left.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from circlet.analysis import log_frames
from circlet.analysis.classifiers import grouped_auc
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, STEP, column, estimate
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.schedules import Schedule

OPTIONAL_ROLES = ("initial_signals", "decay_circles")
LOGS = ("runs", "signals")
TABLES = ("survival",)
COLUMNS = [
    EXPERIMENT,
    column("weight_decay", pa.float64(), "decoupled weight decay"),
    STEP,
    *estimate("auc", "area under the ROC curve, whole embeddings held out", "0..1")[:3],
    column("auc_n", pa.int32(), "auc: embeddings that are scored, each held out"),
    *COUNTS,
]


def regression():
    """A logistic regression on standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression())


def nearest(steps: list[int], wanted: int) -> int:
    """The last of some steps that is not after ``wanted``."""
    return max(step for step in steps if step <= wanted)


def features(wide: pd.DataFrame, step: int) -> np.ndarray:
    """What is known at a logged step, (rows, 3).

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
    """The logged steps that are forecast from: 0, and evenly in the logarithm to the end."""
    logged = set.intersection(*(set(point.steps_logged("signals")) for point in points))
    last = min(point.steps for point in points)
    wanted = [0, *Schedule.of({"per_decade": 6}, last).steps]
    return sorted({nearest(sorted(logged), step) for step in wanted})


def table(study: Study) -> Iterator[dict]:
    """A row per experiment, weight decay and step that can be scored on at least three embeddings.

    An embedding of which all circles survive, or none, has no score.
    """
    for role, experiment in study.reproduce.items():
        survival = parquet.read_table(study, "survival", role)
        alive = survival.set_index(["run_id", "frequency"])["survived"]
        embeddings = survival.set_index(["run_id", "frequency"])["embedding_seed"]
        by_decay: dict[float, list[Point]] = {}
        for point in study.experiment(experiment):
            by_decay.setdefault(point.parameters["weight_decay"], []).append(point)
        for decay, points in by_decay.items():
            steps = grid(points)
            blocks = [block for point in points for block in point.blocks]
            log = log_frames.concatenate([log_frames.finished(b, "signals", steps) for b in blocks])
            if log.empty:
                continue
            wide = log.pivot(index=["run_id", "frequency"], columns="step", values="signal")
            truth = alive.reindex(wide.index).to_numpy(bool)
            groups = embeddings.reindex(wide.index).to_numpy()
            for step in steps:
                auc = grouped_auc(features(wide, step), truth, groups, regression)
                if auc.n < 3:
                    continue
                # Where all embeddings have the same AUC, as 1, the ends are the mean.
                low, high = np.nan_to_num(auc[1:3], nan=auc.value).clip(0, 1)
                yield {
                    "experiment": experiment,
                    "weight_decay": decay,
                    "step": step,
                    **auc._replace(low=low, high=high).columns("auc"),
                    "n_runs": wide.index.get_level_values("run_id").nunique(),
                    "n_planned": sum(p.count for p in points),
                }
