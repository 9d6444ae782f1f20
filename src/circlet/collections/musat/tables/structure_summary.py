"""Table ``structure_summary``: circles, grids and accuracy at every point, over its runs.

The columns are those of Mușat's tables 1 and 2, which are the rows of two experiments. Intervals:
Wilson for counts, normal for imperfections (as the paper has them), Student for accuracies, of
which there may be few, and Fisher for correlations.
"""

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames, stats
from circlet.collections.musat.structure_columns import SAMPLE, STRUCTURE
from circlet.storage import parquet
from circlet.storage.schema import POINT, column
from circlet.study.plan import Study
from circlet.study.points import Point

SYSTEMS = ("constant_attention", "particles")
TABLES = ("structures",)
COLUMNS = [POINT, column("dtype", pa.string(), "float32 or float64"), SAMPLE, *STRUCTURE]

_PUBLISHED_SEEDS = 100


def samples(point: Point, runs: pd.DataFrame) -> Iterator[tuple[str, int, pd.DataFrame]]:
    """Samples of the runs at a point, each as (name, runs planned, rows of runs).

    All seeds and, where there are more, the first as many as the paper has.
    """
    first, n = point.settings["seeds"]["first"], point.count
    if n > _PUBLISHED_SEEDS:
        few = runs[runs["seed"] < first + _PUBLISHED_SEEDS]
        yield f"first_{_PUBLISHED_SEEDS}", _PUBLISHED_SEEDS, few
    yield "all", n, runs


def summary(runs: pd.DataFrame) -> dict[str, float]:
    """The columns of table 1 over some rows of ``structures``."""
    circle = runs["is_circle"].to_numpy(dtype=bool)
    accuracy = 100 * runs["validation_accuracy"].to_numpy(dtype=float)  # particles have none
    imperfections = runs["imperfections"].to_numpy(dtype=float)
    rest = ~circle
    estimates = {
        "circles": stats.count(*stats.counted(circle)),
        "circle_accuracy": stats.mean(accuracy[circle]),
        "non_circles": stats.count(*stats.counted(rest)),
        "non_circle_accuracy": stats.mean(accuracy[rest]),
        "imperfections": stats.mean(imperfections[rest], normal=True),
        "correlation": stats.correlation(imperfections[rest], accuracy[rest]),
    }
    columns: dict[str, float] = {}
    for name, estimate in estimates.items():
        columns |= estimate.columns(name)
    return columns | {"n_runs": len(runs)}


def table(study: Study) -> Iterator[dict]:
    """A row per point and sample of seeds."""
    structures = parquet.read_table(study, "structures")
    for point, keys, runs in log_frames.by_point(structures, study):
        for sample, n_planned, chosen in samples(point, runs):
            yield {
                **keys,
                "dtype": point.settings["dtype"],
                "sample": sample,
                **summary(chosen),
                "n_planned": n_planned,
            }
