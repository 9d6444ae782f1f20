"""Runs of a role by setting, and the ends of their times."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from circlet.storage.schema import EXPERIMENT, column
from circlet.study.plan import Study

NAMES = ["p", "learning_rate", "weight_decay"]  # parameters that are swept
COLUMNS = [
    EXPERIMENT,
    column("system", pa.string(), "the network"),
    column("p", pa.int32(), "modulus"),
    column("learning_rate", pa.float64(), "learning rate"),
    column("weight_decay", pa.float64(), "weight decay"),
]
TIMES = {"grok": "generalised_step", "delay": "delay"}  # names of milestones


def by(
    study: Study, role: str, frame: pd.DataFrame, names: list[str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame, int]]:
    """Yield each combination of parameters of a role, its runs, and the number of planned runs."""
    planned: dict[tuple, int] = {}
    if role in study.reproduce:
        for point in study.experiment(study.reproduce[role]):
            values = tuple(point.keys[name] for name in names)
            planned[values] = planned.get(values, 0) + point.count
        frame = frame[frame["experiment"] == study.reproduce[role]]
    for values, count in planned.items():
        keys = dict(zip(names, values, strict=True))
        rows = frame
        for name, value in keys.items():
            rows = rows[rows[name] == value]
        system = study.experiment(study.reproduce[role])[0].system.name
        yield {"system": system} | keys, rows, count


def times(rows: pd.DataFrame, time: str, x: str) -> pd.DataFrame:
    """Return seed, x, and the ends (after, by] of a time of each run."""
    name = TIMES[time]
    ends = {"after": rows[f"{name}_after"], "by": rows[name]}
    return pd.DataFrame({"seed": rows["seed"], "x": rows[x], **ends}).astype(float)
