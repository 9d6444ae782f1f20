"""Table ``classifier_maps``: the class that a trained network gives to every point of the plane.

For two-dimensional embeddings (Mușat, figures 3 and 4 and the classifier gallery): the exemplars,
and the first runs at the weight decay nearest to 0.6.
"""

import numpy as np
import pandas as pd
import torch

from circlet import io
from circlet.analysis import gather
from circlet.plan import Study
from circlet.systems import constant_attention

ROLES = ("table1",)
SYSTEMS = ("constant_attention",)
LOGS = ("parameters",)
TABLES = ("exemplars", "structures")

GALLERY_RUNS = 14
GALLERY_WEIGHT_DECAY = 0.6
SIDE = 160
MARGIN = 1.15  # the map reaches beyond the outermost pair sum by this factor


def gallery_runs(structures: pd.DataFrame, experiment: str) -> list[str]:
    """The first finished runs at the weight decay nearest to 0.6, by seed."""
    runs = structures[(structures["experiment"] == experiment) & (structures["d"] == 2)]
    near = (runs["weight_decay"] - GALLERY_WEIGHT_DECAY).abs()
    return runs[near == near.min()].sort_values("seed")["run_id"].head(GALLERY_RUNS).tolist()


def predicted(weights: dict[str, np.ndarray]) -> pd.DataFrame:
    """Class at SIDE x SIDE points of a square around all pair sums; columns x, y, predicted."""
    reach = MARGIN * 2 * np.abs(weights["embedding"]).max()
    axis = np.linspace(-reach, reach, SIDE, dtype=np.float32)
    x, y = np.meshgrid(axis, axis)
    tensors = {name: torch.as_tensor(array)[None] for name, array in weights.items()}
    points = torch.as_tensor(np.stack([x.ravel(), y.ravel()]))[None]
    scores = constant_attention.logits(tensors, points)[0]
    return pd.DataFrame({"x": x.ravel(), "y": y.ravel(), "predicted": scores.argmax(0).numpy()})


def table(study: Study) -> pd.DataFrame:
    """A row per run and point of its map."""
    exemplars = io.read_table(study, "exemplars")
    chosen = exemplars[(exemplars["role"] == "table1") & (exemplars["d"] == 2)]["run_id"].tolist()
    experiment = study.reproduce["table1"]
    gallery = gallery_runs(io.read_table(study, "structures"), experiment)
    frame = gather.logs(study.part([experiment]), "parameters", final=True)
    frames = []
    for run_id in dict.fromkeys(chosen + gallery):
        of_run = frame[frame["run_id"] == run_id]
        weights = {
            row.name_: np.reshape(row.values_, row.shape).astype(np.float32)
            for row in of_run.rename(columns={"name": "name_", "values": "values_"}).itertuples()
        }
        grid = predicted(weights)
        keys = gather.per_run(of_run.iloc[[0] * len(grid)], study.part([experiment]), [])
        frames.append(pd.concat([keys.reset_index(drop=True), grid], axis=1))
    return pd.concat(frames, ignore_index=True)
