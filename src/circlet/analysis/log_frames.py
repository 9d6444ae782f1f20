"""Logs of many blocks as one frame, with the keys of the runs."""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from circlet.storage import parquet
from circlet.study.plan import Study
from circlet.study.points import Block, Point
from circlet.study.seeds import PURPOSES

SEEDS = ("seed", *(f"{purpose}_seed" for purpose in PURPOSES))


def key_columns(study: Study) -> list[str]:
    """Names of the key columns of a table of runs."""
    return ["experiment", "system", "run_id", *study.parameters]


def _keys(block: Block, study: Study) -> pd.DataFrame:
    """Keys and seeds of the runs of a block, by seed; null where its system lacks a parameter."""
    point = block.point
    rows = [
        {
            "experiment": point.experiment,
            "system": point.system.name,
            "run_id": point.run_id(seed),
            **point.keys,
            "seed": seed,
            **{f"{purpose}_seed": getattr(point.seeds(seed), purpose) for purpose in PURPOSES},
        }
        for seed in block.seeds
    ]
    # Types that hold nulls, so that blocks of different systems can be put together.
    types = {"integer": "Int32", "number": "Float64", "string": "string", "boolean": "boolean"}
    frame = pd.DataFrame(rows, index=block.seeds).reindex(columns=[*key_columns(study), *SEEDS])
    wanted = {name: types.get(p["type"], "object") for name, p in study.parameters.items()}
    return frame.astype(wanted)


def by_point(
    frame: pd.DataFrame, study: Study
) -> Iterator[tuple[Point, dict[str, Any], pd.DataFrame]]:
    """Every point of a study, its keys, and the rows of its runs; there may be none."""
    rows = dict(list(frame.groupby(frame["run_id"].str.rsplit("/", n=1).str[0])))
    for point in study.points:
        keys: dict[str, Any] = {
            "experiment": point.experiment,
            "system": point.system.name,
            "point": point.name,
        }
        keys |= dict.fromkeys(study.parameters) | point.keys
        yield point, keys, rows.get(f"{point.experiment}/{point.name}", frame.iloc[:0])


def outcomes(study: Study) -> pd.DataFrame:
    """The logs of outcomes of all blocks, with the commit of each block's footer."""
    return concatenate(
        [
            parquet.read_log(block, "runs")
            .assign(commit=parquet.footer(block.log("runs")).get("commit"))
            .join(_keys(block, study)[key_columns(study)], on="seed")
            for block in study.blocks
        ],
    )


def finished(
    block: Block, kind: str, study: Study, steps: Iterable[int] | None = None
) -> pd.DataFrame:
    """One kind of log of the finished runs of a block, with their keys."""
    status = parquet.read_log(block, "runs").set_index("seed")["status"]
    frame = parquet.read_log(block, kind, steps).join(status, on="seed")
    keys = _keys(block, study)[key_columns(study)]
    return frame[frame["status"] == "finished"].join(keys, on="seed")


def final(study: Study, kind: str) -> pd.DataFrame:
    """The last step of one kind of log, of all finished runs."""
    return concatenate(
        [
            finished(block, kind, study, [block.point.steps])
            for block in study.blocks
            if kind in block.point.logs
        ],
    )


def concatenate(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames of blocks, one below the other; there may be no row in any of them, or no frame."""
    # Blocks without finished runs are left out: their empty columns have no type to agree on.
    full = [frame for frame in frames if len(frame)] or frames[:1]
    return pd.concat(full, ignore_index=True) if full else pd.DataFrame()


def per_run(frame: pd.DataFrame, study: Study, columns: list[str]) -> pd.DataFrame:
    """The key columns and some others of a frame of runs."""
    return frame[key_columns(study) + columns]


def rows_per_run(rows: list[dict[str, Any]], study: Study, columns: list[str]) -> pd.DataFrame:
    """Rows with the key columns and some others as a frame; there may be no rows."""
    return pd.DataFrame(rows, columns=key_columns(study) + columns)


def keyed(frames: list[pd.DataFrame], study: Study, columns: list[str]) -> pd.DataFrame:
    """Frames with a ``run_id``, one below the other, with the keys and seeds of their runs.

    There may be none. Columns that the frames lack, as ``embedding_seed``, are the run's own.
    """
    if not frames:
        return rows_per_run([], study, columns)
    frame = pd.concat(frames, ignore_index=True)
    keys = pd.concat([_keys(block, study) for block in study.blocks]).set_index("run_id")
    lacking = [name for name in [*key_columns(study), *columns] if name not in frame]
    return frame.join(keys[lacking], on="run_id")[key_columns(study) + columns]
