"""Outcomes of transformers in the explorer: success or failure, and whether they have a head.

A success has a test accuracy above 0.98. A head is a clustering head at the end; it is lost if it
formed but is absent at the end. For p > 2, tight clusters by histogram count instead of a head.
Moments are the two phases and the highest loss spikes. First come the runs that figures show: the
run of the two phases, those of the highest spikes, and the best of each experiment.
"""

import numpy as np
import pandas as pd

from circlet.collections.odonnat import success
from circlet.collections.odonnat.tables import snapshots
from circlet.storage import parquet
from circlet.storage.schema import column
from circlet.study.plan import Study

TABLES = ("heads", "spikes")
COLUMNS = [
    column("structure_step", "int32", "as in heads"),
    column("fit_step", "int32", "as in heads"),
]


_SPIKES = 3  # spikes among the moments of a run


def _moments(rows: pd.DataFrame, spikes: pd.DataFrame) -> dict[str, list[dict]]:
    words = {"drop_step": "loss leaves chance", "structure_step": "head forms", "fit_step": "fits"}
    moments = rows.melt("run_id", list(words), "text", "step").replace({"text": words})
    highest = spikes.sort_values("height", ascending=False).groupby("run_id").head(_SPIKES)
    moments = pd.concat([moments, highest[["run_id", "step"]].assign(text="loss spike")])
    moments = moments.dropna(subset=["step"]).astype({"step": int}).sort_values(["run_id", "step"])
    return {
        run_id: group[["step", "text"]].to_dict("records")
        for run_id, group in moments.groupby("run_id")
    }


def runs(study: Study) -> pd.DataFrame:
    """Return a row per finished run: ``run_id``, ``outcome`` in words, `COLUMNS` and ``named``."""
    rows = parquet.read_table(study, "heads")
    ended = np.where(rows["success"].astype(bool), "success", "failure")
    head = rows["head_present"].map({True: ", head", False: ", no head"})
    head = head.mask((head == ", no head") & rows["structure_step"].notna(), ", head lost")
    clustered = rows["clustered"].map({True: ", clusters", False: ", no clusters"})
    ending = head.where(rows["p"] == 2, clustered).astype(object).fillna("")
    steps = rows[["run_id", "structure_step", "fit_step"]]
    spikes = parquet.read_table(study, "spikes")
    named = set()
    for experiment, group in rows.groupby("experiment"):
        of_spikes = spikes[spikes["experiment"] == experiment]
        named |= {run_id for run_id, *_ in snapshots.chosen(group, of_spikes, 0)}
        named.add(success.best(group))
    moments = rows["run_id"].map(_moments(rows, spikes))
    outcome = ended + ending
    return steps.assign(outcome=outcome, moments=moments, named=rows["run_id"].isin(named))
