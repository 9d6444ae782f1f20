"""Table ``classifier_maps``: class that a trained network predicts at points of the plane.

For two-dimensional embeddings (Mușat, figures 3 and 4 and the classifier gallery): the exemplars,
and fourteen runs at the weight decay nearest to 0.6.
"""

import numpy as np
import pandas as pd
import torch

from circlet.analysis import log_frames
from circlet.collections.musat import galleries
from circlet.collections.musat.equations import constant_attention
from circlet.storage import parquet
from circlet.storage.schema import RUN, Frames, column
from circlet.study.plan import Study

ROLES = ("table1",)
LOGS = ("runs", "parameters")
TABLES = ("exemplars", "structures")
COLUMNS = [
    RUN,
    column("x", "float32", "first coordinate in the plane of pair sums"),
    column("y", "float32", "second coordinate"),
    column("predicted", "int16", "class with the largest score there"),
    column("in_gallery", "bool", "whether the run is one of the gallery's"),
]

_SIDE = 160


def predicted(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Class at _SIDE x _SIDE points of a square around all pair sums; keys x, y, predicted."""
    reach = 1.15 * 2 * np.abs(weights["embedding"]).max()  # a little beyond the outermost sum
    axis = np.linspace(-reach, reach, _SIDE, dtype=np.float32)
    x, y = (grid.ravel() for grid in np.meshgrid(axis, axis))
    tensors = {name: torch.as_tensor(array)[None] for name, array in weights.items()}
    scores = constant_attention.logits(tensors, torch.as_tensor(np.stack([x, y]))[None])[0]
    return {"x": x, "y": y, "predicted": scores.argmax(0).numpy()}


def table(study: Study) -> Frames:
    """A row per run and point of its map."""
    structures = parquet.read_table(study, "structures", "table1")
    shown = galleries.classifiers(structures)
    chosen = parquet.read_table(study, "exemplars", "table1")["run_id"]
    frame = log_frames.final(study, "parameters")
    for run_id in dict.fromkeys([*chosen, *shown]):
        weights = log_frames.arrays(frame[frame["run_id"] == run_id])
        yield pd.DataFrame(predicted(weights)).assign(run_id=run_id, in_gallery=run_id in shown)
