"""Table ``losses``: losses and accuracies of the runs in the loss figures, per logged step.

The roles of these runs list this table under ``tables``, in their ``collection.yaml``.
"""

import pyarrow as pa

from circlet.analysis import log_frames
from circlet.storage.schema import RUN_SEEDS, STEP, Frames, metrics
from circlet.study.plan import Study

OPTIONAL_ROLES = "losses"
LOGS = ("runs", "curves")
COLUMNS = [*RUN_SEEDS, STEP]


def columns(study: Study) -> list[pa.Field]:
    """Return the columns, with the metrics of the study's systems."""
    return COLUMNS + metrics(study.specs[name] for name in study.systems)


def table(study: Study) -> Frames:
    """Return frames with a row per run and logged step."""
    return (log_frames.finished(block, "curves") for block in study.blocks)
