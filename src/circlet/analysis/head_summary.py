"""Table ``head_summary``: how often the runs of each point of ``sparse_transformer`` succeed."""

import numpy as np
import pandas as pd

from circlet import io
from circlet.analysis import gather, stats
from circlet.plan import Study

SYSTEMS = ("sparse_transformer",)
TABLES = ("heads",)

STUCK = 0.6  # test accuracy below which a run of p = 2 has learned nothing


def table(study: Study) -> pd.DataFrame:
    """A row per point."""
    rows = []
    for point, keys, runs in gather.by_point(io.read_table(study, "heads"), study):
        accuracy = runs["test_accuracy"].to_numpy(np.float64)
        successes = runs["success"].astype(bool)
        shares = {
            "success": successes,
            "stuck": runs["test_accuracy"] < STUCK,
            "head": runs["head_present"].dropna(),
            "head_of_success": runs.loc[successes, "head_present"].dropna(),
            "clustered": runs["clustered"],
        }
        row = keys | stats.mean(accuracy).columns("test_accuracy")
        for name, holds in shares.items():
            row |= stats.share(int(holds.sum()), len(holds)).columns(name)
        rows.append(row | {"n_runs": len(runs), "n_planned": point.count})
    return pd.DataFrame(rows)
