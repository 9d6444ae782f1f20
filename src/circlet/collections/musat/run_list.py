"""Outcomes of networks and particles in the explorer: circle, or grid with any imperfections.

First come the runs that figures show, and the best: the exemplars of each point (its best circle,
its best grid, and an imperfect grid), the galleries, and the roundest runs of the tables' points.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from circlet.collections.musat import galleries
from circlet.collections.musat.tables import exemplars
from circlet.storage import parquet
from circlet.storage.schema import column
from circlet.study.plan import Study

TABLES = ("structures",)
COLUMNS = [
    column("norm_ratio", "float64", "as in structures"),
    column("imperfections", "int32", "as in structures"),
]

_ROUNDEST = 25  # runs of a point


def _shown(study: Study, rows: pd.DataFrame) -> Iterator[str]:
    for _, point in rows.groupby(rows["run_id"].str.rsplit("/", n=1).str[0]):
        yield from (run["run_id"] for run in exemplars.choose(point).values())
        experiment = point["experiment"].iloc[0]
        roles = [role for role, name in study.reproduce.items() if name == experiment]
        if "table1" in roles or "table2" in roles:
            yield from galleries.embeddings(point)
            yield from point.sort_values("norm_ratio")["run_id"].head(_ROUNDEST)
        if "projection_gallery" in roles:
            yield from galleries.projections(point, point["d"].iloc[0])
    if "table1" in study.reproduce:
        table1_runs = rows[rows["experiment"] == study.reproduce["table1"]]
        yield from galleries.classifiers(table1_runs)


def runs(study: Study) -> pd.DataFrame:
    """Return a row per finished run: ``run_id``, ``outcome`` in a word, `COLUMNS` and ``named``."""
    rows = parquet.read_table(study, "structures").astype({"is_circle": bool})
    outcome = np.where(rows["is_circle"], "circle", "grid")
    named = set(_shown(study, rows))
    shown = rows[["run_id", "norm_ratio", "imperfections"]]
    return shown.assign(outcome=outcome, named=rows["run_id"].isin(named))
