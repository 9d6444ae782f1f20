"""Table ``gradient_norms``: norm of the gradient by each part of a network (figure 3).

It is the gradient of the loss on the whole train set, not of a batch.
"""

import pandas as pd

from circlet import tables
from circlet.analysis import gather
from circlet.plan import Study

OPTIONAL_ROLES = ("heads", "full_batch")
LOGS = ("runs", "gradient_norms")
TABLES = ()


def table(study: Study) -> pd.DataFrame:
    """A row per finished run, logged step and part."""
    columns = tables.names("gradient_norms")
    logged = (gather.finished(block, "gradient_norms", study) for block in study.blocks)
    frames = [frame[["run_id", "step", "name", "norm"]] for frame in logged]
    return gather.keyed(frames, study, columns)
