"""Table ``losses``: losses and accuracies of the runs whose figures draw or average them."""

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.storage.schema import RUN, SEEDS, STEP, column
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
    RUN,
    *SEEDS,
    STEP,
    column("train_loss", pa.float32(), "mean cross-entropy on the train set", "nat"),
    column("test_loss", pa.float32(), "mean cross-entropy on the test set", "nat"),
    column("train_accuracy", pa.float32(), "share of the train set that is right", "0..1"),
    column("test_accuracy", pa.float32(), "share of the test set that is right", "0..1"),
]


def table(study: Study) -> Iterator[pd.DataFrame]:
    """A row per run and logged step."""
    return (log_frames.finished(block, "curves") for block in study.blocks)
