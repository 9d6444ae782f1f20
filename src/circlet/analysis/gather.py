"""Logs of many blocks as one frame, with the keys of the runs."""

from collections.abc import Iterator

import pandas as pd

from circlet import io
from circlet.plan import Point, Study

PUBLISHED_SEEDS = 100


def _keys(point: Point, seed: int) -> dict:
    return {
        "experiment": point.experiment,
        "system": point.system,
        "run_id": point.run_id(seed),
        **point.parameters,
    }


def logs(study: Study, kind: str, final: bool = False) -> pd.DataFrame:
    """One kind of log of all blocks that have it, with the keys of each run.

    Parameters are null where a run's system does not have them. ``final`` keeps the last step.
    """
    frames = []
    for block in study.blocks:
        if kind not in block.point.logs:
            continue
        frame = io.read_log(block, kind)
        if final:
            frame = frame[frame["step"] == block.point.steps]
        keys = pd.DataFrame([_keys(block.point, s) for s in block.seeds], index=block.seeds)
        frames.append(frame.join(keys.reindex(columns=_key_columns(study)), on="seed"))
    return pd.concat([f.astype(_nullable(study)) for f in frames], ignore_index=True)


def _key_columns(study: Study) -> list[str]:
    return ["experiment", "system", "run_id", *study.parameters]


def _nullable(study: Study) -> dict[str, str]:
    """Column types that hold nulls, so that blocks of different systems can be put together."""
    types = {"integer": "Int32", "number": "Float64", "string": "string", "boolean": "boolean"}
    return {name: types[schema["type"]] for name, schema in study.parameters.items()}


def rows_per_run(rows: list[dict], study: Study, columns: list[str]) -> pd.DataFrame:
    """Rows with the key columns and some others as a frame; there may be no rows."""
    return pd.DataFrame(rows, columns=_key_columns(study) + columns)


def per_run(frame: pd.DataFrame, study: Study, columns: list[str]) -> pd.DataFrame:
    """The key columns and some others of a frame of runs."""
    return frame[_key_columns(study) + columns]


def samples(
    study: Study, role: str, frame: pd.DataFrame
) -> Iterator[tuple[Point, str, int, pd.DataFrame]]:
    """Points of the experiment with a role, each as (point, sample, runs planned, rows of runs).

    The samples are all seeds and, where there are more, the first as many as the paper has.
    """
    for point in study.experiment(study.reproduce[role]):
        first, n = point.settings["seeds"]["first"], point.settings["seeds"]["count"]
        here = frame[(frame["experiment"] == point.experiment)]
        here = here[here["run_id"].isin(point.run_id(seed) for seed in range(first, first + n))]
        if n > PUBLISHED_SEEDS:
            few = here[here["seed"] < first + PUBLISHED_SEEDS]
            yield point, f"first_{PUBLISHED_SEEDS}", PUBLISHED_SEEDS, few
        yield point, "all", n, here
