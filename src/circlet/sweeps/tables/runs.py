"""Table ``runs``: a row per run of every system."""

import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.storage.schema import OUTCOME, column, names
from circlet.study.plan import Study

LOGS = ("runs",)
TABLES = ()
COLUMNS = [*OUTCOME, column("commit", pa.string(), "version of the code that made it")]


def table(study: Study) -> pd.DataFrame:
    """Seeds, outcome, cost and code of every run."""
    columns = names(COLUMNS)
    return log_frames.per_run(log_frames.outcomes(study), study, columns)
