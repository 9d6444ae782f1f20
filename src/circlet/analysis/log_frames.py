"""Logs of many blocks as one frame, with the ``run_id`` of each row; groups of runs in a table."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from circlet.storage import parquet
from circlet.study.blocks import Block
from circlet.study.plan import Study
from circlet.study.points import Point


def keys(point: Point, study: Study) -> dict[str, Any]:
    """Return the key columns of a point's runs; null where its system lacks a parameter."""
    named = {"experiment": point.experiment, "system": point.system.name}
    return named | dict.fromkeys(study.parameters) | point.keys


def by_point(
    frame: pd.DataFrame, study: Study
) -> Iterator[tuple[Point, dict[str, Any], pd.DataFrame]]:
    """Yield every point of a study with its keys and the rows of its runs, possibly none."""
    rows = dict(list(frame.groupby(frame["run_id"].str.rsplit("/", n=1).str[0])))
    for point in study.points:
        of_point = rows.get(f"{point.experiment}/{point.name}", frame.iloc[:0])
        yield point, keys(point, study) | {"point": point.name}, of_point


def planned(study: Study) -> pd.DataFrame:
    """Return the keys and seeds of all planned runs, by run_id."""
    rows = {
        point.run_id(seed): {
            **of_point,
            "seed": seed,
            **{f"{purpose}_seed": s for purpose, s in vars(point.seeds(seed)).items()},
        }
        for point, of_point in ((point, keys(point, study)) for point in study.points)
        for seed in point.all_seeds
    }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    # Types that hold nulls: some systems lack a parameter that others have.
    types = {"integer": "Int32", "number": "Float64", "string": "string", "boolean": "boolean"}
    return frame.astype(
        {name: types.get(p["type"], "object") for name, p in study.parameters.items()}
    )


def groups(
    study: Study,
    table: str | pd.DataFrame,
    columns: Iterable[str],
    roles: Iterable[str] | None = None,
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield each combination of the keys and seeds among ``columns``, and the rows of its runs.

    Rows are those of a frame, or of the table with a name; perhaps there are none. Beside the keys
    are the counts of finished and of planned runs: a run counts as finished if it has a row, so
    give all runs, and choose among the rows of each group. The order is that of the points, and if
    there are ``roles``, theirs.
    """
    frame = parquet.read_table(study, table) if isinstance(table, str) else table
    plan = planned(study)
    if roles is not None:
        experiments = dict.fromkeys(map(study.reproduce.get, roles))
        parts = (plan[plan["experiment"] == name] for name in experiments)
        plan = pd.concat([plan[:0], *parts])
    names = [name for name in columns if name in plan]
    # By values: tables of a frozen study may have other names of points.
    frame = frame[frame["experiment"].isin(plan["experiment"])]
    rows = dict(list(frame.groupby(_values(frame, names))))
    for values, of_group in plan.groupby(_values(plan, names), sort=False):
        group = rows.get(values, frame.iloc[:0])
        counts = {"n_runs": group["run_id"].nunique(), "n_planned": len(of_group)}
        yield dict(zip(names, values, strict=True)) | counts, group


def _values(frame: pd.DataFrame, names: list[str]) -> pd.Series:
    """Return the values of some columns of each row, as tuples with None for null."""
    cells = frame[names].astype(object).where(frame[names].notna(), None)
    return pd.Series([*cells.itertuples(index=False, name=None)], frame.index, dtype=object)


def runs(study: Study) -> dict[str, tuple[Block, int]]:
    """Return the block and seed of every run of a study, by run_id."""
    return {b.point.run_id(seed): (b, seed) for b in study.blocks for seed in b.seeds}


def named(frame: pd.DataFrame, block: Block) -> pd.DataFrame:
    """Return the rows of a log of a block, with the ``run_id`` of each."""
    return frame.assign(run_id=frame["seed"].map({s: block.point.run_id(s) for s in block.seeds}))


def finished(block: Block, kind: str, steps: Iterable[int] | None = None) -> pd.DataFrame:
    """Return the rows of one kind of log for the finished runs of a block."""
    runs = parquet.read_log(block, "runs")
    frame = parquet.read_log(block, kind, steps)
    done = runs.loc[runs["status"] == "finished", "seed"]
    return named(frame[frame["seed"].isin(done)], block)


def final(study: Study, kind: str) -> pd.DataFrame:
    """Return the rows of one kind of log at the last step, for all finished runs."""
    blocks = [block for block in study.blocks if kind in block.point.logs]
    return concatenate([finished(block, kind, [block.point.steps]) for block in blocks])


def vectors(rows: pd.DataFrame) -> np.ndarray:
    """Return the embedding (p, d) from rows of the log ``embeddings``, of one run and step."""
    return np.stack(rows.sort_values("token")["vector"])


def arrays(rows: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the arrays of one network from the columns ``name``, ``shape`` and ``values``."""
    cells = zip(rows["name"], rows["shape"], rows["values"], strict=True)
    return {name: np.array(values).reshape(shape) for name, shape, values in cells}


def concatenate(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the frames of blocks; frames may be empty, and so may the list."""
    # Blocks without finished runs are left out: their empty columns have no type to agree on.
    full = [frame for frame in frames if len(frame)] or frames[:1]
    return pd.concat(full, ignore_index=True) if full else pd.DataFrame()
