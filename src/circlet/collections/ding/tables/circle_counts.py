"""Table ``circle_counts``: final number of circles and circularity at step 0, per run."""

import pandas as pd

from circlet.storage import parquet
from circlet.storage.schema import RUN_SEEDS, column
from circlet.study.plan import Study

SYSTEMS = ("embedding_mlp",)
TABLES = ("survival", "runs")
COLUMNS = [
    *RUN_SEEDS,
    column("n_circles", "int32", "frequencies that survive by rule A"),
    column("n_circles_absolute", "int32", "frequencies that survive by rule B"),
    column("n_frequencies", "int32", "frequencies there are, (p-1)//2"),
    column("mean_circularity", "float64", "over frequencies, at step 0", "0..1"),
    column("max_circularity", "float64", "over frequencies, at step 0", "0..1"),
    column("test_loss", "float64", "at the last step", "nat"),
    column("test_accuracy", "float64", "at the last step", "0..1"),
]


def table(study: Study) -> pd.DataFrame:
    """A row per finished run."""
    by_run = parquet.read_table(study, "survival").groupby("run_id", sort=False)
    counts = by_run.agg(
        n_circles=("survived", "sum"),
        n_circles_absolute=("survived_absolute", "sum"),
        n_frequencies=("frequency", "size"),
        mean_circularity=("circularity", "mean"),
        max_circularity=("circularity", "max"),
    )
    runs = parquet.read_table(study, "runs").set_index("run_id")[["test_loss", "test_accuracy"]]
    return counts.join(runs).reset_index()
