"""Table ``table1``: accuracy and structures over weight decay (Mușat, table 1)."""

import pandas as pd
import pyarrow as pa

from circlet.collections.musat.structure_columns import SAMPLE, STRUCTURE
from circlet.storage import parquet
from circlet.storage.schema import column, names
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("structure_summary",)
COLUMNS = [column("weight_decay", pa.float64(), "decoupled weight decay"), SAMPLE, *STRUCTURE]


def table(study: Study) -> pd.DataFrame:
    """A row per weight decay and sample of seeds."""
    rows = parquet.read_table(study, "structure_summary", "table1")
    return rows[names(COLUMNS)]
