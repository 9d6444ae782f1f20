"""Table ``constructed_rates``: survival of two constructed frequencies, by signal ratio (figure 6).

The two drawn frequencies are those with the largest signals at step 0. At a ratio of 1 neither is
stronger, so they are ordered by frequency.
"""

import pandas as pd

from circlet.analysis import stats
from circlet.collections.ding.shared_seeds import SEEDS
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("construction",)
TABLES = ("survival",)
COLUMNS = [
    EXPERIMENT,
    column("ratio", "float64", "initial signal of the second frequency by the first's"),
    *estimate("first", "share of runs in which the first survives", "0..1"),
    *estimate("second", "share of runs in which the second survives", "0..1"),
    *estimate("revived", "share of runs in which any other comes to life", "0..1"),
    *COUNTS,
]


def outcomes(survival: pd.DataFrame) -> pd.DataFrame:
    """A row per run: ratio, seeds, and whether the first, the second and any other survive."""
    rows = []
    for _, run in survival.groupby("run_id"):
        # Rounded, because at equal sizes the order of float32 signals is arbitrary.
        ranked = run.assign(size=-run["initial_signal"].round(2)).sort_values(["size", "frequency"])
        alive = ranked["survived"].to_numpy(bool)
        seeds = run[SEEDS].iloc[0]
        rows.append((run["construct_ratio"].iloc[0], *seeds, *alive[:2], alive[2:].any()))
    return pd.DataFrame(rows, columns=["ratio", *SEEDS, "first", "second", "revived"])


def table(study: Study) -> Rows:
    """A row per ratio."""
    planned = {point.keys["construct_ratio"]: point.count for point in study.points}
    survival = parquet.read_table(study, "survival", "construction")
    for ratio, runs in outcomes(survival).groupby("ratio"):
        row = {"experiment": study.reproduce["construction"], "ratio": ratio}
        for name in ("first", "second", "revived"):
            row |= stats.share(*stats.counted(runs[name])).columns(name)
        yield row | {"n_runs": len(runs), "n_planned": planned[ratio]}
