"""Table ``circle_summary``: circles at every point, over its runs.

What Ding et al. draw against p, d and weight decay (figures 5, 10, 11 left and 14).
"""

from collections.abc import Iterator

import pyarrow as pa

from circlet.analysis import log_frames, stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, POINT, column, estimate
from circlet.study.plan import Study

SYSTEMS = ("embedding_mlp",)
TABLES = ("circle_counts",)
COLUMNS = [
    POINT,
    *estimate("circles", "mean number of circles (rule A)"),
    *estimate("circles_absolute", "mean number of circles by rule B"),
    *estimate("mean_circularity", "mean over runs of mean_circularity"),
    *estimate("max_circularity", "mean over runs of max_circularity"),
    *estimate("test_accuracy", "mean over runs", "0..1"),
    column("n_frequencies", pa.int32(), "frequencies there are, (p-1)//2"),
    *COUNTS,
]


def table(study: Study) -> Iterator[dict]:
    """A row per point; means with Student's t interval."""
    counts = parquet.read_table(study, "circle_counts")
    counts.columns = counts.columns.str.replace("n_circles", "circles")
    means = ("circles", "circles_absolute", "mean_circularity", "max_circularity", "test_accuracy")
    for point, row, runs in log_frames.by_point(counts, study):
        for name in means:
            row |= stats.mean(runs[name]).columns(name)
        row["n_frequencies"] = (point.parameters["p"] - 1) // 2
        yield row | {"n_runs": len(runs), "n_planned": point.count}
