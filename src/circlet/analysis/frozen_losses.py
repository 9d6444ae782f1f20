"""Table ``frozen_losses``: test loss of frozen embeddings against their dimension (figure 4)."""

import pandas as pd

from circlet import io
from circlet.analysis import stats
from circlet.plan import Study

ROLES = ("frozen",)
TABLES = ("losses",)

STEPS = (500, 1000, 5000, 10_000)  # of the figure; those that a study has


def table(study: Study) -> pd.DataFrame:
    """A row per dimension and step."""
    losses = io.read_table(study, "losses", "frozen")
    counts = {point.parameters["d"]: point.count for point in study.points}
    rows = [
        {
            "experiment": study.reproduce["frozen"],
            "d": d,
            "p": runs["p"].iloc[0],
            "step": step,
            **stats.mean(runs["test_loss"].to_numpy(float)).columns("test_loss"),
            "n_runs": len(runs),
            "n_planned": counts[d],
        }
        for (d, step), runs in losses[losses["step"].isin(STEPS)].groupby(["d", "step"])
    ]
    return pd.DataFrame(rows)
