"""Table ``classifier_maps``: the class that a trained network gives to every point of the plane.

For two-dimensional embeddings (Mușat, figures 3 and 4 and the classifier gallery): the exemplars,
and fourteen runs at the weight decay nearest to 0.6.
"""

import numpy as np
import pandas as pd
import torch

from circlet import io, tables
from circlet.analysis import exemplars, gather
from circlet.plan import Study
from circlet.systems import constant_attention

ROLES = ("table1",)
LOGS = ("runs", "parameters")
TABLES = ("exemplars", "structures")

GALLERY_RUNS = 14
GALLERY_WEIGHT_DECAY = 0.6
SIDE = 160
MARGIN = 1.15  # the map reaches beyond the outermost pair sum by this factor


def gallery(structures: pd.DataFrame) -> list[str]:
    """The first runs by seed at the weight decay nearest to 0.6."""
    near = exemplars.nearest(structures, "weight_decay", GALLERY_WEIGHT_DECAY)
    return near.sort_values("seed")["run_id"].head(GALLERY_RUNS).tolist()


def predicted(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Class at SIDE x SIDE points of a square around all pair sums; keys x, y, predicted."""
    reach = MARGIN * 2 * np.abs(weights["embedding"]).max()
    axis = np.linspace(-reach, reach, SIDE, dtype=np.float32)
    x, y = (grid.ravel() for grid in np.meshgrid(axis, axis))
    tensors = {name: torch.as_tensor(array)[None] for name, array in weights.items()}
    scores = constant_attention.logits(tensors, torch.as_tensor(np.stack([x, y]))[None])[0]
    return {"x": x, "y": y, "predicted": scores.argmax(0).numpy()}


def table(study: Study) -> pd.DataFrame:
    """A row per run and point of its map."""
    structures = io.read_table(study, "structures", "table1")
    shown = gallery(structures)
    chosen = io.read_table(study, "exemplars", "table1")["run_id"]
    frame = gather.final(study, "parameters")
    frames = [gather.rows_per_run([], study, tables.names("classifier_maps"))]
    for run_id in dict.fromkeys([*chosen, *shown]):
        of_run = frame[frame["run_id"] == run_id]
        weights = {
            name: np.reshape(values, shape).astype(np.float32)
            for name, values, shape in zip(
                of_run["name"], of_run["values"], of_run["shape"], strict=True
            )
        }
        keys = gather.per_run(of_run, study, []).iloc[[0] * SIDE**2].reset_index(drop=True)
        frames.append(keys.assign(**predicted(weights), in_gallery=run_id in shown))
    return pd.concat(frames[1:] or frames, ignore_index=True)
