"""Runs of some roles by setting, and the ends of their times."""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from circlet.storage import parquet
from circlet.study.plan import Study

NAMES = ["p", "learning_rate", "weight_decay"]  # parameters that are swept
TIMES = {"grok": "generalised_step", "delay": "delay"}  # names of milestones


def by(
    study: Study, roles: Iterable[str], table: str | pd.DataFrame, names: list[str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the keys and counts of each combination of parameters of some roles, and its runs.

    Keys and counts are the columns experiment, system, the names of parameters, and `COUNTS`. Runs
    are rows of a frame, or of the table with a name.
    """
    frame = parquet.read_table(study, table) if isinstance(table, str) else table
    for experiment in (study.reproduce[role] for role in roles if role in study.reproduce):
        points, planned = study.experiment(experiment), dict[tuple, int]()
        for point in points:
            values = tuple(point.keys[name] for name in names)
            planned[values] = planned.get(values, 0) + point.count
        for values, count in planned.items():
            keys = dict(zip(names, values, strict=True))
            runs = frame[frame["experiment"] == experiment]
            for name, value in keys.items():
                runs = runs[runs[name] == value]
            row = {"experiment": experiment, "system": points[0].system.name}
            yield row | keys | {"n_runs": len(runs), "n_planned": count}, runs


def times(rows: pd.DataFrame, time: str, x: str) -> pd.DataFrame:
    """Return seed, x, and the ends (after, by] of a time of each run."""
    name = TIMES[time]
    ends = {"after": rows[f"{name}_after"], "by": rows[name]}
    return pd.DataFrame({"seed": rows["seed"], "x": rows[x], **ends}).astype(float)
