"""Table ``table1``: accuracy and structures over weight decay (Mușat, table 1)."""

import pandas as pd

from circlet import io, tables
from circlet.plan import Study

ROLES = ("table1",)
TABLES = ("structure_summary",)


def table(study: Study) -> pd.DataFrame:
    """A row per weight decay and sample of seeds."""
    rows = io.read_table(study, "structure_summary", "table1")
    return rows[tables.names("table1")]
