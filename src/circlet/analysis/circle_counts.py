"""Table ``circle_counts``: how many circles a run ends with, and how circular it began."""

import pandas as pd

from circlet import io, tables
from circlet.analysis import gather
from circlet.plan import Study

SYSTEMS = ("embedding_mlp",)
TABLES = ("survival", "runs")


def table(study: Study) -> pd.DataFrame:
    """A row per finished run."""
    by_run = io.read_table(study, "survival").groupby("run_id", sort=False)
    counts = pd.DataFrame(
        {
            "n_circles": by_run["survived"].sum(),
            "n_circles_absolute": by_run["survived_absolute"].sum(),
            "n_frequencies": by_run.size(),
            "mean_circularity": by_run["circularity"].mean(),
            "max_circularity": by_run["circularity"].max(),
        }
    )
    runs = io.read_table(study, "runs").set_index("run_id")[["test_loss", "test_accuracy"]]
    columns = tables.names("circle_counts")
    return gather.keyed([counts.join(runs).reset_index()], study, columns)
