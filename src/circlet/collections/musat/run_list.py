"""What the explorer says of networks and particles: a circle, or a grid, however imperfect."""

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.storage import parquet
from circlet.storage.schema import column
from circlet.study.plan import Study

TABLES = ("structures",)
COLUMNS = [
    column("norm_ratio", pa.float64(), "as in structures"),
    column("imperfections", pa.int32(), "as in structures"),
]


def runs(study: Study) -> pd.DataFrame:
    """A row per finished run: ``run_id``, ``outcome`` in a word, and its columns."""
    rows = parquet.read_table(study, "structures")
    outcome = np.where(rows["is_circle"].astype(bool), "circle", "grid")
    return rows[["run_id", "norm_ratio", "imperfections"]].assign(outcome=outcome)
