"""Table ``groups.signals``: how strong each representation is in a run, over training."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.collections.groups import representations, survivors
from circlet.storage.schema import RUN, STEP, column
from circlet.study.plan import Study
from circlet.study.points import Block

SYSTEMS = ("groups.mlp",)
LOGS = ("runs", "embeddings", "parameters")
COLUMNS = [
    RUN,
    STEP,
    column("part", pa.string(), "left or right (embedding), or output (weights by product)"),
    column("representation", pa.string(), "dimension and letter; 1a is trivial"),
    column("signal", pa.float64(), "sqrt(|G|) times the norm of the part in the representation"),
    column("relative", pa.float64(), "signal per dimension / that of the strongest nontrivial"),
]

_PARTS = {"right.weight": "right", "output.weight": "output"}


def table(study: Study) -> Iterator[pd.DataFrame]:
    """A row per finished run, step, part and representation.

    The right embedding and the output weights are those of the log ``parameters``.
    """
    for block in study.blocks:
        group = representations.of(block.point.parameters["group"])
        for run_id, step, part, rows in _states(block):
            signals = group.signals(rows)
            yield pd.DataFrame(
                {
                    "run_id": run_id,
                    "step": step,
                    "part": part,
                    "representation": group.names,
                    "signal": signals,
                    "relative": survivors.relative(signals, group),
                }
            )


def _states(block: Block) -> Iterator[tuple[str, int, str, np.ndarray]]:
    """Yield run, step, part, and the logged array of this part, which has a row per element."""
    for (run_id, step), rows in log_frames.finished(block, "embeddings").groupby(
        ["run_id", "step"]
    ):
        yield run_id, step, "left", log_frames.vectors(rows)
    for (run_id, step), rows in log_frames.finished(block, "parameters").groupby(
        ["run_id", "step"]
    ):
        arrays = log_frames.arrays(rows)
        for name, part in _PARTS.items():
            yield run_id, step, part, arrays[name]
