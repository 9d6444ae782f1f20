"""Table ``losses``: losses and accuracies of the runs whose figures draw or average them."""

from collections.abc import Iterator

import pandas as pd

from circlet.analysis import log_frames
from circlet.storage.schema import METRICS, RUN, SEEDS, STEP
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
COLUMNS = [RUN, *SEEDS, STEP, *METRICS]


def table(study: Study) -> Iterator[pd.DataFrame]:
    """A row per run and logged step."""
    return (log_frames.finished(block, "curves") for block in study.blocks)
