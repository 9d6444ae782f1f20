"""Table ``projections``: an embedding seen in Fourier planes and principal components.

Figures 2 (right) and 3: the first finished run of ``trajectory``. Fourier planes are those of its
strongest final circle, its strongest dead one and, at the last step, all that are drawn beside the
first ten principal components.
"""

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames, spectrum
from circlet.storage import parquet
from circlet.storage.schema import SEEDS, STEP, column, names
from circlet.study.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "embeddings")
TABLES = ("survival",)
COLUMNS = [
    *SEEDS,
    STEP,
    column("view", pa.string(), "fourier or pca"),
    column("index", pa.int16(), "the frequency, or the first of two principal components"),
    column("rank", pa.int16(), "0 for the strongest final signal or component"),
    column("survived", pa.bool_(), "of frequencies: rule A, at the end"),
    column("delta", pa.int16(), "step between neighbours on the circle, 1/k mod p"),
    column("token", pa.int16(), "number that the point stands for"),
    column("x", pa.float64(), "along Re F_k, or the first component"),
    column("y", pa.float64(), "along Im F_k, or the second"),
]

_PLANES = 5  # pairs of the first ten principal components, and as many frequencies


def components(embedding: np.ndarray) -> np.ndarray:
    """Principal components of an embedding (p, d) in order, (p, min(p, d))."""
    u, s, _ = np.linalg.svd(embedding - embedding.mean(0), full_matrices=False)
    return u * s


def _points(run_id: str, step: int, xy: np.ndarray, **others) -> pd.DataFrame:
    token = np.arange(len(xy))
    return pd.DataFrame({"token": token, "x": xy[:, 0], "y": xy[:, 1]}).assign(
        run_id=run_id, step=step, **others
    )


def table(study: Study) -> pd.DataFrame:
    """A row per step, view, plane and token."""
    columns = names(COLUMNS)
    survival = parquet.read_table(study, "survival", "trajectory")
    if survival.empty:
        return log_frames.keyed([], study, columns)
    run_id = survival["run_id"].iloc[0]
    circles = survival[survival["run_id"] == run_id].sort_values("final_signal", ascending=False)
    frames = []
    for block in study.blocks:
        rows = log_frames.finished(block, "embeddings", study)
        rows = rows[rows["run_id"] == run_id]
        for step, at in rows.groupby("step"):
            embedding = np.stack(at.sort_values("token")["vector"]).astype(np.float64)
            last = step == block.point.steps
            alive, dead = circles[circles["survived"]], circles[~circles["survived"]]
            shown = circles.head(_PLANES) if last else alive.head(1)
            p = len(embedding)
            for _, circle in (
                pd.concat([shown, dead.head(1)]).drop_duplicates("frequency").iterrows()
            ):
                k = int(circle["frequency"])
                frames.append(
                    _points(
                        run_id,
                        step,
                        spectrum.plane(embedding, k),
                        view="fourier",
                        index=k,
                        rank=int((circles["frequency"] == k).argmax()),
                        survived=bool(circle["survived"]),
                        delta=spectrum.delta(k, p),
                    )
                )
            parts = components(embedding)
            for i in range(_PLANES if last and parts.shape[1] >= 2 * _PLANES else 0):
                pair = parts[:, 2 * i : 2 * i + 2]
                frames.append(
                    _points(
                        run_id,
                        step,
                        pair,
                        view="pca",
                        index=2 * i,
                        rank=i,
                        survived=None,
                        delta=None,
                    )
                )
    return log_frames.keyed(frames, study, columns)
