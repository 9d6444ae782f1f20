"""Table ``forecast_milestones``: first step from which the forecast's AUC stays above a threshold.

The step is where the mean AUC passes the threshold and stays above it; the ends of the interval are
those steps for the upper and the lower end of the AUC's interval. If all runs have the same AUC,
such as 1, it has no interval, and its value decides. Null: never.
"""

import math
from collections.abc import Iterator

import pandas as pd
import pyarrow as pa

from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("forecast", "decay_circles")
TABLES = ("forecast",)
COLUMNS = [
    EXPERIMENT,
    column("weight_decay", pa.float64(), "decoupled weight decay"),
    column("threshold", pa.float64(), "area under the ROC curve", "0..1"),
    *estimate("step", "first step from which on the AUC stays above it; null: never"),
    *COUNTS,
]


def passes(steps: pd.Series, auc: pd.Series, threshold: float) -> float:
    """First step from which on the AUC stays at or above a threshold; NaN if it does not."""
    below = steps[~(auc >= threshold)]
    after = steps[steps > below.max()] if len(below) else steps
    return float(after.min()) if len(after) else math.nan


def table(study: Study) -> Iterator[dict]:
    """A row per experiment, weight decay and threshold."""
    forecast = parquet.read_table(study, "forecast")
    for (name, decay), curve in forecast.groupby(["experiment", "weight_decay"], sort=False):
        curve = curve.sort_values("step")
        ends = [curve[end].fillna(curve["auc"]) for end in ("auc", "auc_high", "auc_low")]
        for threshold in (0.9, 0.95, 0.99):
            step, low, high = (passes(curve["step"], end, threshold) for end in ends)
            yield {
                "experiment": name,
                "weight_decay": decay,
                "threshold": threshold,
                "step": step,
                "step_low": low,
                "step_high": high,
                "step_n": curve["auc_n"].iloc[0],
                "n_runs": curve["n_runs"].iloc[0],
                "n_planned": curve["n_planned"].iloc[0],
            }
