"""Table ``table1``: accuracy and structures at each weight decay (Mușat, table 1).

Intervals: Wilson for counts, normal for imperfections (as the paper has them), Student or Hall for
accuracies, of which there may be few, between 0 and 100 %, and Fisher for correlations.
"""

from collections.abc import Iterator

import pandas as pd

from circlet.analysis import association, log_frames, stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, column, estimate, names
from circlet.study.plan import Study
from circlet.study.points import Point

ROLES = ("table1",)
TABLES = ("structures",)
COLUMNS = [
    column("weight_decay", "float64", "decoupled weight decay"),
    column("sample", "string", "first_100 (the number in the paper) or all seeds"),
    *estimate("circles", "runs that end as circles"),
    *estimate("circle_accuracy", "mean test accuracy of circles", "%"),
    *estimate("non_circles", "runs that do not"),
    *estimate("non_circle_accuracy", "mean test accuracy of non-circles", "%"),
    *estimate("imperfections", "mean imperfections of non-circles"),
    *estimate("correlation", "Pearson r of imperfections and accuracy of non-circles"),
    *COUNTS,
]

_PUBLISHED_SEEDS = 100


def samples(point: Point, runs: pd.DataFrame) -> Iterator[tuple[str, int, pd.DataFrame]]:
    """Yield samples of the runs at a point, each as (name, runs planned, rows of runs).

    One has all seeds. If these are more than the paper's 100 runs, another has the first 100.
    """
    first, n = point.settings.seeds.first, point.count
    if n > _PUBLISHED_SEEDS:
        few = runs[runs["seed"] < first + _PUBLISHED_SEEDS]
        yield f"first_{_PUBLISHED_SEEDS}", _PUBLISHED_SEEDS, few
    yield "all", n, runs


def summary(runs: pd.DataFrame) -> dict[str, float]:
    """Return the estimates and the number of some rows of ``structures``."""
    circle = runs["is_circle"].to_numpy(dtype=bool)
    accuracy = 100 * runs["test_accuracy"].to_numpy(dtype=float)  # particles have none
    imperfections = runs["imperfections"].to_numpy(dtype=float)
    rest = ~circle
    estimates = {
        "circles": stats.count(*stats.counted(circle)),
        "circle_accuracy": stats.bounded_mean(accuracy[circle], 0, 100),
        "non_circles": stats.count(*stats.counted(rest)),
        "non_circle_accuracy": stats.bounded_mean(accuracy[rest], 0, 100),
        "imperfections": stats.mean(imperfections[rest], normal=True),
        "correlation": association.correlation(imperfections[rest], accuracy[rest]),
    }
    return stats.columns(estimates) | {"n_runs": len(runs)}


def rows(study: Study, role: str) -> Iterator[dict]:
    """Yield a row per point of a role of table 1 or 2, and sample of seeds."""
    structures = parquet.read_table(study, "structures", role)
    for point, keys, runs in log_frames.by_point(structures, study):
        for sample, n_planned, chosen in samples(point, runs):
            yield keys | {"sample": sample, **summary(chosen), "n_planned": n_planned}


def table(study: Study) -> pd.DataFrame:
    """A row per weight decay and sample of seeds."""
    return pd.DataFrame(rows(study, "table1"))[names(COLUMNS)]
