"""Table ``delay_runs``: norm and scale of the logits of each run when it memorises and groks.

``kappa`` solves T_grok - T_mem = ln(V_mem / V_grok) / (2 kappa eta lambda), with V the squared
norm, eta the learning rate and lambda the weight decay (Khanh et al. 2026, arXiv:2605.18845): the
rate at which the norm shrinks, as a share of that of weight decay alone. Steps are the first logged
ones at which the accuracy is above the threshold of the milestone.
"""

import numpy as np
import pandas as pd

from circlet.analysis import log_frames
from circlet.storage import parquet
from circlet.storage.schema import RUN, SEED, Frames, column
from circlet.study.plan import Study

OPTIONAL_ROLES = ("gelu_decays", "transformer_decays", "clamped_norms", "clamped_norms_97")
LOGS = ("runs", "curves")
TABLES = ("milestones",)
COLUMNS = [
    RUN,
    SEED,
    column("memorised_step", "float64", "when it memorises", "steps"),
    column("generalised_step", "float64", "when it groks", "steps"),
    column("norm_memorised", "float64", "norm of all weights when it memorises"),
    column("norm_grokked", "float64", "norm of all weights when it groks"),
    column("logit_scale_grokked", "float64", "scale of the logits when it groks"),
    column("kappa", "float64", "shrinking of the squared norm relative to weight decay alone"),
]


def kappa(runs: pd.DataFrame) -> pd.Series:
    """Return kappa of each run; NaN without a delay."""
    time = (runs["generalised_step"] - runs["memorised_step"]).where(lambda steps: steps > 0)
    shrunk = 2 * np.log(runs["norm_memorised"] / runs["norm_grokked"])
    return shrunk / (2 * time * runs["learning_rate"] * runs["weight_decay"])


def table(study: Study) -> Frames:
    """Yield frames with a row per finished run."""
    milestones = parquet.read_table(study, "milestones")
    names = ["memorised_step", "generalised_step"]
    for block in study.blocks:
        curves = log_frames.finished(block, "curves").set_index(["run_id", "step"])
        runs = milestones[milestones["run_id"].isin(curves.index.unique("run_id"))]
        if runs.empty:
            continue
        for at, step in (("memorised", "memorised_step"), ("grokked", "generalised_step")):
            seen = curves.reindex(pd.MultiIndex.from_frame(runs[["run_id", step]]))
            values = seen[["norm", "logit_scale"]].add_suffix(f"_{at}").set_axis(runs.index)
            runs = runs.join(values)
        runs = runs.assign(**{name: block.point.parameters[name]
                              for name in ("learning_rate", "weight_decay")})  # fmt: skip
        runs["kappa"] = kappa(runs)
        columns = ["norm_memorised", "norm_grokked", "logit_scale_grokked", "kappa"]
        yield runs[["run_id", *names, *columns]]
