"""Table ``frozen_losses``: mean test loss with frozen embeddings, per d and step (figure 4)."""

from circlet.analysis import log_frames, stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, STEP, Rows, column, estimate, names
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


def table(study: Study) -> Rows:
    """A row per dimension and step."""
    losses = parquet.read_table(study, "losses", "frozen")
    shown = losses[losses["step"].isin((500, 1000, 5000, 10_000))]  # as in the figure
    for row, runs in log_frames.groups(study, shown, names(COLUMNS)):
        for step, at in runs.groupby("step"):
            mean = stats.mean(at["test_loss"]).columns("test_loss")
            yield row | {"step": step, "n_runs": at["run_id"].nunique()} | mean
