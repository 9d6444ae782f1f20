"""Table ``pair_sums``: sums of the embeddings of every pair of the runs whose classifier is drawn.

The runs are those of ``classifier_maps`` (Mușat, figures 3 and 4 and the classifier gallery).
"""

import numpy as np
import pandas as pd

from circlet import io, tables
from circlet.analysis import gather
from circlet.plan import Study
from circlet.systems import constant_attention

ROLES = ("table1",)
TABLES = ("classifier_maps", "embeddings")


def table(study: Study) -> pd.DataFrame:
    """A row per run and pair a <= b."""
    drawn = set(io.read_table(study, "classifier_maps")["run_id"])
    embeddings = io.read_table(study, "embeddings")
    runs = {b.point.run_id(seed): (b.point, seed) for b in study.blocks for seed in b.seeds}
    frames = [gather.rows_per_run([], study, tables.names("pair_sums"))]
    for run_id, frame in embeddings[embeddings["run_id"].isin(drawn)].groupby("run_id"):
        point, seed = runs[run_id]
        vectors = np.stack(frame.sort_values("token")["vector"])
        pairs = constant_attention.pairs(len(vectors))
        x, y = vectors[pairs].sum(1).T
        keys = gather.per_run(frame, study, []).iloc[[0] * len(pairs)]
        frames.append(
            keys.assign(
                a=pairs[:, 0],
                b=pairs[:, 1],
                x=x,
                y=y,
                target=pairs.sum(1) % len(vectors),
                train=constant_attention.train_mask(point.parameters, point.seeds(seed)),
            )
        )
    return pd.concat(frames[1:] or frames, ignore_index=True)
