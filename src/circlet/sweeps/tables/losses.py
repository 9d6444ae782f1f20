"""Table ``losses``: losses and accuracies of runs whose figures draw or average them.

The roles of these runs name it under ``tables``, in the ``collection.yaml`` of their collection.
"""

from collections.abc import Iterator

import pandas as pd

from circlet.analysis import log_frames
from circlet.storage.schema import METRICS, RUN, SEEDS, STEP
from circlet.study.plan import Study

OPTIONAL_ROLES = "losses"
LOGS = ("runs", "curves")
TABLES = ()
COLUMNS = [RUN, *SEEDS, STEP, *METRICS]


def table(study: Study) -> Iterator[pd.DataFrame]:
    """A row per run and logged step."""
    return (log_frames.finished(block, "curves") for block in study.blocks)
