"""Outcomes of networks with many circles in the explorer: how many survive by rule A.

The run whose trajectory the figures show comes first.
"""

import pandas as pd
import pyarrow as pa

from circlet.storage import parquet
from circlet.storage.schema import column
from circlet.study.plan import Study

TABLES = ("survival",)
COLUMNS = [column("survivors", pa.list_(pa.int16()), "frequencies that survive by rule A")]


def runs(study: Study) -> pd.DataFrame:
    """Return a row per finished run: ``run_id``, ``outcome`` in words, ``named`` and `COLUMNS`."""
    rows = parquet.read_table(study, "survival")
    alive = rows[rows["survived"].astype(bool)].groupby("run_id")["frequency"].agg(list)
    by_run = pd.DataFrame({"run_id": rows["run_id"].unique()})
    by_run["survivors"] = [alive.get(run_id, []) for run_id in by_run["run_id"]]
    words = [f"{len(ks)} survivor{'' if len(ks) == 1 else 's'}" for ks in by_run["survivors"]]
    in_trajectory = rows["experiment"] == study.reproduce.get("trajectory")
    named = by_run["run_id"].isin(rows.loc[in_trajectory, "run_id"].head(1))
    return by_run.assign(outcome=words, named=named)
