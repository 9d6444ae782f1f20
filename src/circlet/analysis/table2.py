"""Table ``table2``: structures of the particles over f_a (Mușat, table 2)."""

import pandas as pd

from circlet import io, tables
from circlet.plan import Study

ROLES = ("table2",)
TABLES = ("structure_summary",)


def table(study: Study) -> pd.DataFrame:
    """A row per f_a and sample of seeds; what is no circle is called a grid."""
    rows = io.read_table(study, "structure_summary", "table2")
    rows = rows.rename(columns=lambda name: name.replace("non_circles", "grids"))
    return rows[tables.names("table2")]
