"""Table ``losses``: losses and accuracies of the runs whose figures draw or average them."""

import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.storage.schema import SEEDS, STEP, column, names
from circlet.study.plan import Study

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
COLUMNS = [
    *SEEDS,
    STEP,
    column("train_loss", pa.float32(), "mean cross-entropy on the train set", "nat"),
    column("test_loss", pa.float32(), "mean cross-entropy on the test set", "nat"),
    column("train_accuracy", pa.float32(), "share of the train set that is right", "0..1"),
    column("test_accuracy", pa.float32(), "share of the test set that is right", "0..1"),
]

_MEASURED = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")


def table(study: Study) -> pd.DataFrame:
    """A row per run and logged step."""
    columns = names(COLUMNS)
    frames = []
    for block in study.blocks:
        frame = log_frames.finished(block, "curves", study)
        frames.append(frame[["run_id", "step", *_MEASURED]])
    return log_frames.keyed(frames, study, columns)
