"""Table ``interpolations``: the loss on the straight line between two ends of training.

From the end of a run from scratch to that of the run of the same seed that went through the
curriculum. At no point in between is there a reason for the weights to make sense; how high the
loss is there says how far apart the two solutions are.
"""

import numpy as np
import pandas as pd
import torch

from circlet import io, tables
from circlet.analysis import gather
from circlet.plan import Study
from circlet.points import Block
from circlet.systems import sparse_transformer as system

ROLES = ("curriculum", "curriculum_scratch")
LOGS = ("runs", "parameters")
TABLES = ()

POINTS = 51


def _ends(study: Study, role: str) -> dict[int, tuple[Block, dict[str, np.ndarray]]]:
    """Block and last weights of the finished runs of a role, by seed."""
    found = {}
    for block in (b for p in study.experiment(study.reproduce[role]) for b in p.blocks):
        status = io.read_log(block, "runs").set_index("seed")["status"]
        weights = io.read_weights(block, [block.point.steps])
        for i, seed in enumerate(block.seeds):
            if status[seed] == "finished":
                found[seed] = block, {name: array[0, i] for name, array in weights.items()}
    return found


@torch.no_grad()
def _line(block: Block, seed: int, start: dict, end: dict) -> pd.DataFrame:
    """Losses and accuracies of a run along the line; t = 1 is its own end."""
    point = block.point
    shares = torch.linspace(0, 1, POINTS, dtype=torch.float64)
    problem = system.problem(
        point.parameters, [point.seeds(seed)], torch.float64, torch.device("cpu")
    )
    values = []
    for t in shares:
        weights = {
            name: torch.as_tensor((1 - t.item()) * start[name] + t.item() * end[name])[None]
            for name in end
        }
        weights = {name: array.double() for name, array in weights.items()}
        values.append({k: v.item() for k, v in system.curves(weights, problem).items()})
    return pd.DataFrame(values).assign(t=shares.numpy(), run_id=point.run_id(seed))


def table(study: Study) -> pd.DataFrame:
    """A row per seed that both have finished, and place on the line."""
    columns = tables.names("interpolations")
    scratch = _ends(study, "curriculum_scratch")
    frames = [
        _line(block, seed, scratch[seed][1], end)
        for seed, (block, end) in _ends(study, "curriculum").items()
        if seed in scratch
        and all(scratch[seed][1][n].shape == array.shape for n, array in end.items())
    ]
    return gather.keyed(frames, study, columns)
