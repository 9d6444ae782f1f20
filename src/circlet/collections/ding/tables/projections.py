"""Table ``projections``: embeddings in Fourier and principal planes (figures 2, 3).

The run is the first finished one of ``trajectory``. Fourier planes are those of its strongest final
circle and its strongest dead one; at the last step, those of the five strongest frequencies and of
the strongest dead one.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from circlet.analysis import log_frames, spectrum
from circlet.storage import parquet
from circlet.storage.schema import RUN_SEEDS, STEP, column
from circlet.study.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "embeddings")
TABLES = ("survival",)
COLUMNS = [
    *RUN_SEEDS,
    STEP,
    column("view", "string", "fourier or pca"),
    column("index", "int16", "the frequency, or the first of two principal components"),
    column("rank", "int16", "0 for the strongest final signal or component"),
    column("survived", "bool", "of frequencies: rule A, at the end"),
    column("delta", "int16", "step between neighbours on the circle, 1/k mod p"),
    column("token", "int16", "number that the point stands for"),
    column("x", "float64", "along Re F_k, or the first component"),
    column("y", "float64", "along Im F_k, or the second"),
]

_PLANES = 5  # pairs of the first ten principal components, and as many frequencies


def components(embedding: np.ndarray) -> np.ndarray:
    """Principal components of an embedding (p, d) in order, (p, min(p, d))."""
    u, s, _ = np.linalg.svd(embedding - embedding.mean(0), full_matrices=False)
    return u * s


def _planes(
    embedding: np.ndarray, circles: pd.DataFrame, last: bool
) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    """Yield the tokens' coordinates in each plane of a step, and columns that identify it."""
    alive, dead = circles[circles["survived"]], circles[~circles["survived"]]
    shown = pd.concat([circles.head(_PLANES) if last else alive.head(1), dead.head(1)])
    for circle in shown.drop_duplicates("frequency").itertuples():
        k = circle.frequency
        kind = {"view": "fourier", "index": k, "rank": circle.Index, "survived": circle.survived}
        yield spectrum.plane(embedding, k), kind | {"delta": spectrum.delta(k, len(embedding))}
    parts = components(embedding)
    for i in range(_PLANES if last and parts.shape[1] >= 2 * _PLANES else 0):
        kind = {"view": "pca", "index": 2 * i, "rank": i, "survived": None, "delta": None}
        yield parts[:, 2 * i : 2 * i + 2], kind


def table(study: Study) -> Iterator[pd.DataFrame]:
    """A row per step, view, plane and token."""
    survival = parquet.read_table(study, "survival", "trajectory")
    if survival.empty:
        return
    run_id = survival["run_id"].iloc[0]
    circles = survival[survival["run_id"] == run_id]
    circles = circles.sort_values("final_signal", ascending=False, ignore_index=True)
    for block in study.blocks:
        rows = log_frames.finished(block, "embeddings")
        for step, at in rows[rows["run_id"] == run_id].groupby("step"):
            embedding = log_frames.vectors(at).astype(float)
            for xy, plane in _planes(embedding, circles, step == block.point.steps):
                x, y = xy.T
                frame = pd.DataFrame({"token": np.arange(len(xy)), "x": x, "y": y})
                yield frame.assign(run_id=run_id, step=step, **plane)
