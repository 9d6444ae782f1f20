"""Table ``table1``: accuracy and structures at each weight decay (Mușat, table 1)."""

import pandas as pd
import pyarrow as pa

from circlet.collections.musat import published_rows
from circlet.storage.schema import column, names
from circlet.study.plan import Study

ROLES = ("table1",)
TABLES = ("structures",)
COLUMNS = [
    column("weight_decay", pa.float64(), "decoupled weight decay"),
    published_rows.SAMPLE,
    *published_rows.STRUCTURE,
]


def table(study: Study) -> pd.DataFrame:
    """A row per weight decay and sample of seeds."""
    return pd.DataFrame(published_rows.rows(study, "table1"))[names(COLUMNS)]
