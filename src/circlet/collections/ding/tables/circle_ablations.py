"""Table ``circle_ablations``: loss with only some circles kept, per run and step (figure 8).

At every logged step the embedding is reduced to one, two or three of the circles that survive, and
the network of that step is evaluated on all p^2 pairs. All choices among the five strongest circles
are evaluated. The paper's choices of two always contain the frequency 2; ours need not.
"""

import itertools

import numpy as np
import pyarrow as pa
import torch

from circlet.analysis import log_frames
from circlet.collections.ding.equations import embedding_mlp
from circlet.storage import parquet
from circlet.storage.schema import RUN_SEEDS, STEP, Rows, column
from circlet.study import interventions
from circlet.study.plan import Study
from circlet.systems import loss

ROLES = ("ablations",)
LOGS = ("runs", "parameters")
TABLES = ("survival",)
COLUMNS = [
    *RUN_SEEDS,
    STEP,
    column("n_kept", "int16", "circles that are kept; 0: nothing is removed"),
    column("kept", pa.list_(pa.int16()), "their frequencies"),
    column("loss", "float64", "mean cross-entropy on all p^2 pairs", "nat"),
]


def choices(circles: list[int]) -> list[list[int]]:
    """Return the sets of circles that are kept; an empty set means that nothing is removed."""
    return [[], *(list(c) for n in (1, 2, 3) for c in itertools.combinations(circles, n))]


def _single(array: np.ndarray) -> torch.Tensor:
    """Return an array for one run, in single precision: losses change in the seventh digit."""
    return torch.as_tensor(array, dtype=torch.float32)[None]


@torch.no_grad()
def table(study: Study) -> Rows:
    """A row per run, logged step and choice."""
    survival = parquet.read_table(study, "survival", "ablations")
    for block in study.blocks:
        p, activation = (block.point.parameters[k] for k in ("p", "activation"))
        all_pairs = embedding_mlp.select(p, [np.ones(p * p, dtype=bool)], torch.device("cpu"))
        logged = log_frames.finished(block, "parameters")
        for (run_id, step), parts in logged.groupby(["run_id", "step"], sort=False):
            circles = survival[(survival["run_id"] == run_id) & survival["survived"]]
            strongest = circles.nlargest(5, "final_signal")["frequency"].tolist()
            arrays = log_frames.arrays(parts)
            network = {name: _single(array) for name, array in arrays.items()}
            whole = arrays["embedding"]
            for kept in choices(strongest):
                network["embedding"] = _single(interventions.keep(whole, kept) if kept else whole)
                logits = embedding_mlp.logits(network, all_pairs, activation)
                value, _ = loss.metrics(logits, all_pairs.target, 1)
                yield {
                    "run_id": run_id,
                    "step": step,
                    "n_kept": len(kept),
                    "kept": kept,
                    "loss": value.item(),
                }
