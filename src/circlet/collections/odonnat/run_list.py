"""Outcomes of transformers in the explorer: success or failure, and whether they have a head.

A success has a test accuracy above 0.98. A head is a clustering head; beyond p = 2, a cluster per
histogram. First come the run that stands for the two phases, those of the highest spikes, and the
best of each experiment, which figures show.
"""

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.collections.odonnat import success
from circlet.collections.odonnat.tables import snapshots
from circlet.storage import parquet
from circlet.storage.schema import column
from circlet.study.plan import Study

TABLES = ("heads", "spikes")
COLUMNS = [
    column("structure_step", pa.int32(), "as in heads"),
    column("fit_step", pa.int32(), "as in heads"),
]


def runs(study: Study) -> pd.DataFrame:
    """A row per finished run: ``run_id``, ``outcome`` in words, and its columns, and ``named``."""
    rows = parquet.read_table(study, "heads")
    ended = np.where(rows["success"].astype(bool), "success", "failure")
    head = rows["head_present"].map({True: ", head", False: ", no head"})
    clustered = rows["clustered"].map({True: ", clusters", False: ", no clusters"})
    ending = head.where(rows["p"] == 2, clustered).astype(object).fillna("")
    steps = rows[["run_id", "structure_step", "fit_step"]]
    spikes = parquet.read_table(study, "spikes")
    named = set()
    for experiment, own in rows.groupby("experiment"):
        of_spikes = spikes[spikes["experiment"] == experiment]
        named |= {run_id for run_id, *_ in snapshots.chosen(own, of_spikes, 0)}
        named.add(success.best(own))
    return steps.assign(outcome=ended + ending, named=rows["run_id"].isin(named))
