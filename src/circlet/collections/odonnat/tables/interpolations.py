"""Table ``interpolations``: losses on the line between the final weights of two runs.

The line goes from the final weights of a run from scratch to those of the run with the same seed
that went through the curriculum. The loss in between says how far apart the two solutions are.
"""

import numpy as np
import torch

from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.storage import parquet
from circlet.storage.schema import RUN_SEEDS, Rows, column
from circlet.study.blocks import Block
from circlet.study.plan import Study

ROLES = ("curriculum", "curriculum_scratch")
LOGS = ("runs", "parameters")
COLUMNS = [
    *RUN_SEEDS,
    column("t", "float64", "0: end from scratch, 1: end of the curriculum"),
    column("train_loss", "float64", "mean cross-entropy on the train set", "nat"),
    column("train_accuracy", "float64", "share of the train set that is right", "0..1"),
    column("test_loss", "float64", "mean cross-entropy on the test set", "nat"),
    column("test_accuracy", "float64", "share of the test set that is right", "0..1"),
]


def _ends(study: Study, role: str) -> dict[int, tuple[Block, dict[str, np.ndarray]]]:
    """Block and last weights of the finished runs of a role, by seed."""
    ends = {}
    for block in (b for p in study.experiment(study.reproduce[role]) for b in p.blocks):
        status = parquet.read_log(block, "runs").set_index("seed")["status"]
        weights = parquet.read_weights(block, [block.point.steps])
        for i, seed in enumerate(block.seeds):
            if status[seed] == "finished":
                ends[seed] = block, {name: array[0, i] for name, array in weights.items()}
    return ends


@torch.no_grad()
def _line(block: Block, seed: int, start: dict, end: dict) -> Rows:
    """Losses and accuracies along the line to a run; t = 1 is its final weights."""
    point = block.point
    data = system.data(point.parameters, [point.seeds(seed)], torch.float64, torch.device("cpu"))
    for t in torch.linspace(0, 1, 51, dtype=torch.float64).tolist():
        mixed = {name: (1 - t) * start[name] + t * array for name, array in end.items()}
        weights = {name: torch.as_tensor(array)[None].double() for name, array in mixed.items()}
        metrics = {name: value.item() for name, value in system.metrics(weights, data).items()}
        yield {"run_id": point.run_id(seed), "t": t, **metrics}


def table(study: Study) -> Rows:
    """Yield a row per place on the line, for each seed whose two runs have finished."""
    scratch = _ends(study, "curriculum_scratch")
    for seed, (block, end) in _ends(study, "curriculum").items():
        if seed in scratch:
            _, start = scratch[seed]
            if all(start[name].shape == array.shape for name, array in end.items()):
                yield from _line(block, seed, start, end)
