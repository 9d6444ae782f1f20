"""Table ``losses``: losses and accuracies of the runs whose figures draw or average them."""

import pandas as pd

from circlet import tables
from circlet.analysis import gather
from circlet.plan import Study

OPTIONAL_ROLES = (
    "trajectory",
    "frozen",
    "ablated_starts",
    "random_starts",
    "precision",
    "heads",
    "full_batch",
    "curriculum",
    "curriculum_scratch",
)
LOGS = ("runs", "curves")
TABLES = ()

MEASURED = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")


def table(study: Study) -> pd.DataFrame:
    """A row per run and logged step."""
    columns = tables.names("losses")
    frames = []
    for block in study.blocks:
        frame = gather.finished(block, "curves", study)
        frames.append(frame[["run_id", "step", *MEASURED]])
    return gather.keyed(frames, study, columns)
