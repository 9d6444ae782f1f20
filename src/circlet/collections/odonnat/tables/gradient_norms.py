"""Table ``gradient_norms``: norm of the gradient by each part of a network (figure 3).

It is the gradient of the loss on the whole train set, not of a batch.
"""

import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.storage.schema import SEEDS, STEP, column, names
from circlet.study.plan import Study

OPTIONAL_ROLES = ("heads", "full_batch")
LOGS = ("runs", "gradient_norms")
TABLES = ()
COLUMNS = [
    *SEEDS,
    STEP,
    column("name", pa.string(), "name of the weight or bias"),
    column("norm", pa.float32(), "norm of the gradient of the loss on the train set"),
]


def table(study: Study) -> pd.DataFrame:
    """A row per finished run, logged step and part."""
    columns = names(COLUMNS)
    logged = (log_frames.finished(block, "gradient_norms", study) for block in study.blocks)
    frames = [frame[["run_id", "step", "name", "norm"]] for frame in logged]
    return log_frames.keyed(frames, study, columns)
