"""Table ``outcome_summary``: share, mean or median of each outcome at each point, with interval.

By ``kind`` of outcome:

``share``
    share of runs, with Wilson's interval;
``mean``
    mean, with Student's interval or Hall's, whichever end is further away;
``count``
    mean, likewise; if all counts are equal, with the exact Poisson interval;
``time``
    median by Kaplan and Meier (of an even number, the lower of the two in the middle). Its interval
    includes the uncertainty from logging at intervals: the lower end is that of the last steps
    before, the upper end that of the first steps after.

Null: an end that is unbounded, or a median that fewer than half of the runs have reached.
"""

from typing import Any

import numpy as np
import pandas as pd

from circlet.analysis import log_frames, stats
from circlet.analysis.stats import Estimate
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, POINT, Rows, column, interval
from circlet.study.plan import Study
from circlet.systems.spec import Outcome

TABLES = ("outcomes",)
CONFIG = ("milestones", "derived_metrics")
COLUMNS = [
    POINT,
    column("outcome", "string", "what it is called"),
    column("label", "string", "the outcome in words"),
    column("kind", "string", "share, mean, count or time"),
    column("unit", "string", "its unit; 0..1 is a share"),
    *interval("share, mean, or of times the median"),
    column("sd", "float64", "standard deviation over runs; null of times"),
    column("n_unreached", "int32", "of times: runs that have not got there by their end"),
    *COUNTS,
]


def estimate(outcome: Outcome, values: pd.Series, after: pd.Series) -> Estimate:
    """Estimate an outcome from runs of a point; ``after``: for times, the last steps before."""
    if outcome.kind == "time":
        return stats.median_time(after, values)
    if outcome.kind == "share":
        return stats.share(int(values.sum()), len(values))
    if outcome.kind == "count":
        return stats.mean_count(values)
    return stats.bounded_mean(values, *outcome.bounds)


def row(outcome: Outcome, runs: pd.DataFrame) -> dict:
    """Return the summary of an outcome over some runs, rows of ``outcomes``."""
    measured = estimate(outcome, runs["value"], runs["after"])
    is_time = outcome.kind == "time"
    ends = [x if np.isfinite(x) else None for x in (measured.value, measured.low, measured.high)]
    return {
        "outcome": outcome.name,
        "label": outcome.label,
        "kind": outcome.kind,
        "unit": outcome.unit,
        **dict(zip(("estimate", "low", "high"), ends, strict=True)),
        "sd": None if is_time or len(runs) < 2 else runs["value"].std(),
        "n_unreached": int(runs["value"].isna().sum()) if is_time else None,
        "n_runs": measured.n,
    }


def described(row: Any) -> Outcome:
    """Return the outcome that a row of the table is about; its columns are attributes."""
    return Outcome(row.outcome, row.label, row.kind, unit=row.unit)


def table(study: Study) -> Rows:
    """Yield a row per point and outcome."""
    outcomes = parquet.read_table(study, "outcomes")
    for point, keys, runs in log_frames.by_point(outcomes, study):
        by_name = dict(list(runs.groupby("outcome")))
        for outcome in study.outcomes(point.system.name):
            of_outcome = by_name.get(outcome.name, runs.iloc[:0])
            yield keys | row(outcome, of_outcome) | {"n_planned": point.count}
