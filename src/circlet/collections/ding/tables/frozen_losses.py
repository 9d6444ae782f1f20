"""Table ``frozen_losses``: mean test loss with frozen embeddings, per d and step (figure 4)."""

from circlet.analysis import stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, STEP, column, estimate
from circlet.study.plan import Study

ROLES = ("frozen",)
TABLES = ("losses",)
COLUMNS = [
    EXPERIMENT,
    column("d", "int32", "embedding dimension"),
    column("p", "int32", "modulus"),
    STEP,
    *estimate("test_loss", "mean over runs", "nat"),
    *COUNTS,
]


def table(study: Study) -> list[dict]:
    """A row per dimension and step."""
    losses = parquet.read_table(study, "losses", "frozen")
    shown = losses[losses["step"].isin((500, 1000, 5000, 10_000))]  # as in the figure
    counts = {point.parameters["d"]: point.count for point in study.points}
    return [
        {
            "experiment": study.reproduce["frozen"],
            "d": d,
            "p": runs["p"].iloc[0],
            "step": step,
            **stats.mean(runs["test_loss"]).columns("test_loss"),
            "n_runs": len(runs),
            "n_planned": counts[d],
        }
        for (d, step), runs in shown.groupby(["d", "step"])
    ]
