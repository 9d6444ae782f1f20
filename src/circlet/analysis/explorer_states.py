"""Table ``explorer_states``: arrays of the runs that the explorer shows, step by step.

``embedding``; every weight and bias of networks that the page computes; ``signals``, of frequencies
1..(p-1)//2; ``curves``: train and test loss, train and test accuracy. Which runs and steps is in
``downsample``. Diverged runs have theirs, too, as far as they are logged.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from circlet import io, tables
from circlet.analysis import downsample, gather
from circlet.plan import Study
from circlet.points import Block

LOGS = ("embeddings", "signals", "curves", "parameters")
TABLES = ("explorer_runs",)

# Columns of a log that are its values, and the one by which they are ordered within a run.
COLUMNS = {
    "embeddings": ("embedding", "vector", ["token"]),
    "signals": ("signals", "signal", ["frequency"]),
    "curves": ("curves", list(downsample.MEASURED), []),
}


def _arrays(block: Block, kind: str, steps: list[int]) -> dict[str, np.ndarray]:
    """Arrays of a log by name, (steps, runs, *shape)."""
    if kind == "parameters":
        weights = io.read_weights(block, steps)
        if "embeddings" in downsample.arrays(block.point):
            del weights["embedding"]  # is in its own log
        return weights
    name, columns, order = COLUMNS[kind]
    rows = io.read_log(block, kind, steps).sort_values(["step", "seed", *order])[columns]
    values = np.stack(rows) if rows.ndim == 1 and rows.dtype == object else rows.to_numpy()
    shape = values.shape[1:] if kind == "curves" else (-1, *values.shape[1:])
    return {name: values.reshape(len(steps), block.count, *shape)}


def _rows(block: Block, shown: dict[int, str]) -> Iterator[tuple]:
    """Seed, step, name, shape and values of every array of a block that is shown."""
    for kind in downsample.arrays(block.point):
        steps = {"training": downsample.frames(block.point, kind), "end": [block.point.steps]}
        if kind == "curves":
            del steps["end"]  # whose values are in the table of runs
        for how, wanted in steps.items():
            seeds = [seed for seed in block.seeds if shown.get(seed) == how]
            for name, array in _arrays(block, kind, wanted).items() if seeds else ():
                for i, step in enumerate(wanted):
                    for seed in seeds:
                        values = array[i, seed - block.first]
                        yield seed, step, name, values.shape, values.astype(np.float32).ravel()


def table(study: Study) -> pd.DataFrame:
    """A row per run, step and array."""
    columns = tables.names("explorer_states")
    runs = io.read_table(study, "explorer_runs")
    shown = dict(zip(runs["run_id"], runs["shown"], strict=True))
    frames = []
    for block in study.blocks:
        names = {seed: block.point.run_id(seed) for seed in block.seeds}
        wanted = {seed: shown.get(name, "nothing") for seed, name in names.items()}
        rows = list(_rows(block, wanted))
        frame = pd.DataFrame(rows, columns=["seed", "step", "name", "shape", "values"])
        frames.append(frame.assign(run_id=frame.pop("seed").map(names)))
    return gather.keyed([f for f in frames if len(f)], study, columns)
