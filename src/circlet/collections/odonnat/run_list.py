"""Outcomes of transformers in the explorer: success or failure, and whether they have a head.

A success has a test accuracy above 0.98. A head is a clustering head; beyond p = 2, a cluster per
histogram. The run that stands for the two phases comes first.
"""

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.collections.odonnat.tables import snapshots
from circlet.storage import parquet
from circlet.storage.schema import column
from circlet.study.plan import Study

TABLES = ("heads",)
COLUMNS = [
    column("structure_step", pa.int32(), "as in heads"),
    column("fit_step", pa.int32(), "as in heads"),
]


def runs(study: Study) -> pd.DataFrame:
    """A row per finished run: ``run_id``, ``outcome`` in words, and its columns, and ``named``."""
    rows = parquet.read_table(study, "heads")
    success = np.where(rows["success"].astype(bool), "success", "failure")
    head = rows["head_present"].map({True: ", head", False: ", no head"})
    clustered = rows["clustered"].map({True: ", clusters", False: ", no clusters"})
    ending = head.where(rows["p"] == 2, clustered).astype(object).fillna("")
    steps = rows[["run_id", "structure_step", "fit_step"]]
    chosen = [snapshots.exemplar(own) for _, own in rows.groupby("experiment")]
    named = {run["run_id"] for run in chosen if run is not None}
    return steps.assign(outcome=success + ending, named=rows["run_id"].isin(named))
