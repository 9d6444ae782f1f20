"""Table ``pair_sums``: sum of the two embedding vectors of each pair of numbers, per run.

The runs are those of ``classifier_maps`` (Mușat, figures 3 and 4 and the classifier gallery).
"""

import pandas as pd

from circlet.analysis import log_frames
from circlet.collections.musat.equations import constant_attention
from circlet.storage import parquet
from circlet.storage.schema import RUN, Frames, column
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("classifier_maps", "embeddings")
COLUMNS = [
    RUN,
    column("a", "int16", "smaller number of the pair"),
    column("b", "int16", "larger number of the pair"),
    column("x", "float32", "first coordinate of E_a + E_b"),
    column("y", "float32", "second coordinate"),
    column("target", "int16", "(a + b) mod p"),
    column("train", "bool", "whether the pair was trained on"),
]


def table(study: Study) -> Frames:
    """A row per run and pair a <= b."""
    drawn = set(parquet.read_table(study, "classifier_maps")["run_id"])
    embeddings = parquet.read_table(study, "embeddings")
    runs = log_frames.runs(study)
    for run_id, frame in embeddings[embeddings["run_id"].isin(drawn)].groupby("run_id"):
        block, seed = runs[run_id]
        vectors = log_frames.vectors(frame)
        pairs = constant_attention.pairs(len(vectors))
        x, y = vectors[pairs].sum(1).T
        yield pd.DataFrame(
            {
                "run_id": run_id,
                "a": pairs[:, 0],
                "b": pairs[:, 1],
                "x": x,
                "y": y,
                "target": pairs.sum(1) % len(vectors),
                "train": constant_attention.train_mask(
                    block.point.parameters, block.point.seeds(seed)
                ),
            }
        )
