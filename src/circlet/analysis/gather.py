"""Logs of many blocks as one frame, with the keys of the runs."""

from typing import Any

import pandas as pd

from circlet import io
from circlet.plan import Block, Study


def key_columns(study: Study) -> list[str]:
    """Names of the key columns of a table of runs."""
    return ["experiment", "system", "run_id", *study.parameters]


def _keys(block: Block, study: Study) -> pd.DataFrame:
    """Keys of the runs of a block, by seed; null where its system lacks a parameter."""
    point = block.point
    rows = [
        {
            "experiment": point.experiment,
            "system": point.system,
            "run_id": point.run_id(seed),
            **point.keys,
        }
        for seed in block.seeds
    ]
    # Types that hold nulls, so that blocks of different systems can be put together.
    types = {"integer": "Int32", "number": "Float64", "string": "string", "boolean": "boolean"}
    frame = pd.DataFrame(rows, index=block.seeds, columns=key_columns(study))
    wanted = {name: types.get(p["type"], "object") for name, p in study.parameters.items()}
    return frame.astype(wanted)


def outcomes(study: Study) -> pd.DataFrame:
    """The logs of outcomes of all blocks, with the commit of each block's footer."""
    return _together(
        study,
        [
            io.read_log(block, "runs")
            .assign(commit=io.footer(block.log("runs")).get("commit"))
            .join(_keys(block, study), on="seed")
            for block in study.blocks
        ],
    )


def final(study: Study, kind: str) -> pd.DataFrame:
    """The last step of one kind of log, of all finished runs, with their test accuracy."""
    frames = []
    for block in study.blocks:
        if kind in block.point.logs:
            runs = io.read_log(block, "runs").set_index("seed")[["status", "test_accuracy"]]
            frame = io.read_log(block, kind, final=True).join(runs, on="seed")
            finished = frame[frame["status"] == "finished"]
            frames.append(finished.join(_keys(block, study), on="seed"))
    return _together(study, frames)


def _together(study: Study, frames: list[pd.DataFrame]) -> pd.DataFrame:
    # Blocks without finished runs are left out: their empty columns have no type to agree on.
    full = [frame for frame in frames if len(frame)] or frames[:1]
    return pd.concat(full, ignore_index=True)


def per_run(frame: pd.DataFrame, study: Study, columns: list[str]) -> pd.DataFrame:
    """The key columns and some others of a frame of runs."""
    return frame[key_columns(study) + columns]


def rows_per_run(rows: list[dict[str, Any]], study: Study, columns: list[str]) -> pd.DataFrame:
    """Rows with the key columns and some others as a frame; there may be no rows."""
    return pd.DataFrame(rows, columns=key_columns(study) + columns)
