"""Table ``circle_summary``: circles at every point, over its runs.

What Ding et al. draw against p, d and weight decay (figures 5, 10, 11 left and 14).
"""

import numpy as np
import pandas as pd

from circlet import io
from circlet.analysis import gather, stats
from circlet.plan import Study

SYSTEMS = ("embedding_mlp",)
TABLES = ("circle_counts",)

MEANS = {
    "circles": "n_circles",
    "circles_absolute": "n_circles_absolute",
    "mean_circularity": "mean_circularity",
    "max_circularity": "max_circularity",
    "test_accuracy": "test_accuracy",
}


def table(study: Study) -> pd.DataFrame:
    """A row per point; means with Student's t interval."""
    counts = io.read_table(study, "circle_counts")
    rows = []
    for point, row, runs in gather.by_point(counts, study):
        for name, column in MEANS.items():
            row |= stats.mean(runs[column].to_numpy(float, na_value=np.nan)).columns(name)
        rows.append(
            row
            | {
                "n_frequencies": (point.parameters["p"] - 1) // 2,
                "n_runs": len(runs),
                "n_planned": point.count,
            }
        )
    return pd.DataFrame(rows)
