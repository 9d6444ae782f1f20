"""Table ``structures``: norm ratio, circle or not, and imperfections of each run (appendix A)."""

import itertools

import numpy as np
from scipy.spatial.distance import cdist

from circlet.analysis import log_frames
from circlet.storage.schema import RUN, SEED, Rows, column
from circlet.study.plan import Study

SYSTEMS = ("constant_attention", "particles")
LOGS = ("runs", "embeddings")
COLUMNS = [
    RUN,
    SEED,
    column("norm_ratio", "float64", "largest over smallest norm of an embedding vector"),
    column("is_circle", "bool", "norm_ratio < 1.2 (algorithm 1)"),
    column("imperfections", "int32", "pairs whose nearest pair sum has another class"),
    column("test_accuracy", "float64", "null for particles", "0..1"),
]


def norm_ratio(embedding: np.ndarray) -> float:
    """Largest over smallest distance of the embeddings (p, d) to the origin (algorithm 1)."""
    norms = np.linalg.norm(embedding, axis=1)
    return float(norms.max() / norms.min()) if norms.min() > 0 else np.inf


def count_imperfections(embedding: np.ndarray) -> int:
    """Pairs whose nearest other pair sum belongs to another class (algorithm 2).

    For an embedding (p, d). A perfect grid has 0; the maximum is p (p + 1) / 2. If several pair
    sums are equally near, the first in lexicographic order counts.
    """
    p = len(embedding)
    pairs = np.array(list(itertools.combinations_with_replacement(range(p), 2)))
    classes = pairs.sum(1) % p
    sums = embedding[pairs].sum(1)
    distances = cdist(sums, sums, "sqeuclidean")
    np.fill_diagonal(distances, np.inf)
    return int((classes[distances.argmin(1)] != classes).sum())


def table(study: Study) -> Rows:
    """Structure of every finished run at its last step."""
    for block in study.blocks:
        runs = log_frames.finished(block, "runs").set_index("run_id")
        accuracy = runs.reindex(columns=["test_accuracy"])["test_accuracy"]  # particles have none
        last = log_frames.finished(block, "embeddings", [block.point.steps])
        for run_id, frame in last.groupby("run_id", sort=False):
            embedding = log_frames.vectors(frame).astype(float)
            ratio = norm_ratio(embedding)
            yield {
                "run_id": run_id,
                "norm_ratio": ratio,
                "is_circle": ratio < 1.2,
                "imperfections": count_imperfections(embedding),
                "test_accuracy": accuracy[run_id],
            }
