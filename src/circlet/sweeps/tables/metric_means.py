"""Table ``metric_means``: what every point ends with, averaged over its runs.

Of each system these are the outcomes that it declares of the table ``runs``, else all its metrics.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames, stats
from circlet.analysis.stats import Estimate
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, POINT, column, estimate
from circlet.study.plan import Study
from circlet.systems.spec import Outcome, SystemSpec

TABLES = ("runs",)
COLUMNS = [
    POINT,
    column("metric", pa.string(), "column of the table runs"),
    column("label", pa.string(), "the metric in words"),
    column("unit", pa.string(), "its unit; 0..1 is a share"),
    *estimate("mean", "mean over finished runs"),
    *COUNTS,
]
_SHARE = "0..1"


def _outcomes(system: SystemSpec) -> list[Outcome]:
    """What is averaged over runs of a system."""
    return [one for one in system.outcomes if one.table == "runs"] or [
        Outcome(name, name.replace("_", " "), "mean", "runs", name, metric.unit)
        for name, metric in system.metrics.items()
    ]


def mean(outcome: Outcome, runs: pd.Series) -> Estimate:
    """Mean over runs with an interval that holds only what the mean can be."""
    values = stats.known(runs)
    if outcome.kind == "share":
        return stats.share(int(values.sum()), len(values))
    found = stats.mean(values)
    least = 0.0 if np.all(values >= 0) else -np.inf
    most = 1.0 if outcome.unit == _SHARE else np.inf
    return found._replace(low=max(found.low, least), high=min(found.high, most))


def table(study: Study) -> Iterator[dict]:
    """A row per point and metric; intervals are Student's, those of shares of runs Wilson's."""
    runs = parquet.read_table(study, "runs")
    runs = runs[runs["status"] == "finished"]
    for point, row, own in log_frames.by_point(runs, study):
        for outcome in _outcomes(point.system):
            yield row | {
                "metric": outcome.column,
                "label": outcome.label,
                "unit": outcome.unit,
                **mean(outcome, own[outcome.column]).columns("mean"),
                "n_runs": len(own),
                "n_planned": point.count,
            }
