"""Table ``curve_summary``: mean of each metric over the runs of a point, per logged step.

The ``derived_metrics`` of the config are included, at the steps at which they are measured.
"""

import pandas as pd

from circlet.analysis import log_frames, stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, POINT, STEP, Frames, column, interval
from circlet.study.plan import Study

LOGS = ("runs", "curves")
CONFIG = ("derived_metrics",)
USES = ("derived_metrics",)
COLUMNS = [
    POINT,
    STEP,
    column("metric", "string", "what is measured"),
    column("unit", "string", "its unit; 0..1 is a share"),
    *interval("mean over finished runs; its interval is that of outcome_summary, of one run none"),
    *COUNTS,
]


def _measured(study: Study, table: str) -> dict[tuple[str, str], pd.DataFrame]:
    rows = parquet.read_table(study, table)
    return {point.key: of_point for point, _, of_point in log_frames.by_point(rows, study)}


def table(study: Study) -> Frames:
    """Yield frames with a row per point, logged step and metric."""
    needed = {of for name in study.systems for _, of in study.derived_metrics(name).values()}
    measured = {name: _measured(study, name) for name in sorted(needed)}
    for point in study.points:
        metrics = point.system.metrics if "curves" in point.logs else {}
        logs = [log_frames.finished(block, "curves") for block in point.blocks if metrics]
        curves = log_frames.concatenate(logs)
        shown = [(name, metric, curves) for name, metric in metrics.items()]
        shown += [
            (name, metric, measured[of][point.key])
            for name, (metric, of) in study.derived_metrics(point.system.name).items()
        ]
        keys = log_frames.keys(point, study) | {"point": point.name, "n_planned": point.count}
        for name, metric, values in shown:
            if values.empty:
                continue
            wide = values.pivot(index="step", columns="run_id", values=name)
            means = stats.means(wide.to_numpy(float), *metric.bounds)
            row = {key: [value] * len(means) for key, value in keys.items()}  # some are lists
            yield pd.DataFrame(
                {**means, **row, "step": wide.index, "metric": name, "unit": metric.unit}
            )
