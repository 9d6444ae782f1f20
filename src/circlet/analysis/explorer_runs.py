"""Table ``explorer_runs``: the outcome of every run in a word, and what the explorer shows of it.

The outcome is, of networks and particles that form one structure, a circle, or else a grid, however
imperfect (Mușat); of those with many circles, how many survive by rule A
(Ding et al.); of transformers, success or failure (test accuracy above 0.98 or not) with a
clustering head or without, or, beyond p = 2, with a cluster per histogram (Odonnat et al.).
"""

import numpy as np
import pandas as pd

from circlet import io, tables
from circlet.analysis import downsample, gather
from circlet.plan import Study

TABLES = ("runs",)
OPTIONAL_TABLES = ("structures", "survival", "heads")

OF = {  # systems of each of these tables
    "structures": ("constant_attention", "particles"),
    "survival": ("embedding_mlp",),
    "heads": ("sparse_transformer",),
}


def _structures(rows: pd.DataFrame) -> pd.DataFrame:
    outcome = np.where(rows["is_circle"].astype(bool), "circle", "grid")
    return rows[["run_id", "norm_ratio", "imperfections"]].assign(outcome=outcome)


def _survival(rows: pd.DataFrame) -> pd.DataFrame:
    alive = rows[rows["survived"].astype(bool)].groupby("run_id")["frequency"].agg(list)
    found = pd.DataFrame({"run_id": rows["run_id"].unique()})
    found["survivors"] = [alive.get(run_id, []) for run_id in found["run_id"]]
    words = [f"{len(ks)} survivor{'' if len(ks) == 1 else 's'}" for ks in found["survivors"]]
    return found.assign(outcome=words)


def _heads(rows: pd.DataFrame) -> pd.DataFrame:
    success = np.where(rows["success"].astype(bool), "success", "failure")
    head = rows["head_present"].map({True: ", head", False: ", no head"})
    clustered = rows["clustered"].map({True: ", clusters", False: ", no clusters"})
    ending = head.where(rows["p"] == 2, clustered).astype(object).fillna("")
    steps = rows[["run_id", "structure_step", "fit_step"]]
    return steps.assign(outcome=success + ending)


def table(study: Study) -> pd.DataFrame:
    """A row per run of any system."""
    columns = tables.names("explorer_runs")
    runs = io.read_table(study, "runs")
    read = {"structures": _structures, "survival": _survival, "heads": _heads}
    parts = [read[name](io.read_table(study, name)) for name in OF if study.of_systems(OF[name])]
    found = pd.concat([pd.DataFrame(columns=["run_id", "outcome"]), *parts]).set_index("run_id")
    frame = runs.join(found, on="run_id")
    words = frame["status"].str.replace("_", " ")
    told = (frame["status"] == "finished") & frame["outcome"].notna()
    frame["outcome"] = np.where(told, frame["outcome"].astype(object), words.astype(object))
    places = {f"{p.experiment}/{p.name}": i for i, p in enumerate(study.points)}
    frame["seed"] = frame["run_id"].str.rsplit("/s", n=1).str[1].astype(int)
    frame["point"] = frame["run_id"].str.rsplit("/", n=1).str[0].map(places)
    frame["shown"] = downsample.choose(frame, study.points)
    frame = frame.reindex(columns=[*gather.key_columns(study), *columns])
    frame["survivors"] = frame["survivors"].astype(object).where(frame["survivors"].notna(), None)
    return frame
