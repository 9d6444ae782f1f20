"""Table ``table1``: accuracy and structures over weight decay (Mușat, table 1)."""

import pandas as pd

from circlet import io, schema
from circlet.plan import Study

ROLES = ("table1",)
TABLES = ("structure_summary",)


def table(study: Study) -> pd.DataFrame:
    """A row per weight decay and sample of seeds."""
    rows = io.read_table(study, "structure_summary", "table1")
    return rows[[field.name for field in schema.TABLES["table1"]]]
