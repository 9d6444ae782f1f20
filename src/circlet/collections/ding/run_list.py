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
    found = pd.DataFrame({"run_id": rows["run_id"].unique()})
    found["survivors"] = [alive.get(run_id, []) for run_id in found["run_id"]]
    words = [f"{len(ks)} survivor{'' if len(ks) == 1 else 's'}" for ks in found["survivors"]]
    own = rows["experiment"] == study.reproduce.get("trajectory")
    named = found["run_id"].isin(rows.loc[own, "run_id"].head(1))
    return found.assign(outcome=words, named=named)
