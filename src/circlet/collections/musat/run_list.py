"""Outcomes of networks and particles in the explorer: circle, or grid, however imperfect.

The exemplars of each point come first: its best circle, its best grid, and an imperfect grid.
"""

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.collections.musat.tables import exemplars
from circlet.storage import parquet
from circlet.storage.schema import column
from circlet.study.plan import Study

TABLES = ("structures",)
COLUMNS = [
    column("norm_ratio", pa.float64(), "as in structures"),
    column("imperfections", pa.int32(), "as in structures"),
]


def runs(study: Study) -> pd.DataFrame:
    """A row per finished run: ``run_id``, ``outcome`` in a word, its columns, and ``named``."""
    rows = parquet.read_table(study, "structures")
    outcome = np.where(rows["is_circle"].astype(bool), "circle", "grid")
    named = set()
    for _, point in rows.groupby(rows["run_id"].str.rsplit("/", n=1).str[0]):
        chosen = exemplars.choose(point.astype({"is_circle": bool}))
        named |= {run["run_id"] for run in chosen.values()}
    shown = rows[["run_id", "norm_ratio", "imperfections"]]
    return shown.assign(outcome=outcome, named=rows["run_id"].isin(named))
