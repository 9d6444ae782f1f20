"""Table ``curve_summary``: the metrics of every point at every logged step, averaged over runs."""

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames, stats
from circlet.storage.schema import COUNTS, POINT, STEP, column, interval
from circlet.study.plan import Study

LOGS = ("runs", "curves")
TABLES = ()
COLUMNS = [
    POINT,
    STEP,
    column("metric", pa.string(), "what is measured"),
    column("unit", pa.string(), "its unit; 0..1 is a share"),
    *interval("mean over finished runs, with Student's interval; of equal values none"),
    *COUNTS,
]


def table(study: Study) -> Iterator[pd.DataFrame]:
    """A row per point, logged step and metric."""
    for point in study.points:
        if "curves" not in point.logs:
            continue
        logs = [log_frames.finished(block, "curves") for block in point.blocks]
        curves = log_frames.concatenate(logs)
        keys = log_frames.keys(point, study) | {"point": point.name, "n_planned": point.count}
        for name, metric in point.system.metrics.items() if len(curves) else ():
            wide = curves.pivot(index="step", columns="run_id", values=name)
            found = stats.means(wide.to_numpy(float), *metric.bounds)
            of = {key: [value] * len(found) for key, value in keys.items()}  # some are lists
            yield found.assign(step=wide.index, metric=name, unit=metric.unit, **of)
