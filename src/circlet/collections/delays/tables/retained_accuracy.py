"""Table ``retained_accuracy``: hysteresis, networks that continue with a lower weight decay.

Some runs have generalised when the weight decay changes (intervention ``change``). The table has
the share of them whose test accuracy is above 0.99 at the end, and this share of networks that were
trained from the start with the lower decay (role ``mlp_decays``).
"""

from circlet.analysis import contrasts, log_frames, stats
from circlet.collections.delays import survival
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("lowered_decay",)
OPTIONAL_ROLES = ("lowered_decay_again", "mlp_decays")
TABLES = ("runs", "milestones")
COLUMNS = [
    EXPERIMENT,
    column("p", "int32", "modulus"),
    column("learning_rate", "float64", "learning rate"),
    column("change_step", "int32", "step of the change"),
    column("weight_decay", "float64", "weight decay after the change, or from the start"),
    *estimate("kept", "share above 0.99 at the end, of runs that had generalised", "0..1"),
    *estimate("from_start", "share above 0.99 at the end, of runs from the start", "0..1"),
    *estimate("difference", "kept minus from_start", "0..1"),
    *COUNTS,
]
_ABOVE = 0.99


def table(study: Study) -> Rows:
    """Yield a row per modulus, learning rate, step and later weight decay."""
    steps = parquet.read_table(study, "milestones", columns=["run_id", "generalised_step"])
    all_runs = parquet.read_table(study, "runs").merge(steps, on="run_id")
    keys = ["experiment", "p", "learning_rate", "change_step", "change_weight_decay"]
    starts = {
        (row["p"], row["learning_rate"], row["weight_decay"]): runs
        for row, runs in log_frames.groups(study, all_runs, survival.NAMES, ["mlp_decays"])
    }
    for row, runs in log_frames.groups(study, all_runs, keys, (*ROLES, "lowered_decay_again")):
        decay = row.pop("change_weight_decay")
        had = runs[runs["generalised_step"] <= row["change_step"]]
        kept = stats.counted(had["test_accuracy"] > _ABOVE)
        start = starts.get((row["p"], row["learning_rate"], decay), all_runs.iloc[:0])
        from_start = stats.counted(start["test_accuracy"] > _ABOVE)
        yield row | {
            "weight_decay": decay,
            **stats.share(*kept, method="exact").columns("kept"),
            **stats.share(*from_start, method="exact").columns("from_start"),
            **contrasts.share_difference(*kept, *from_start).columns("difference"),
        }
