"""Table ``table2``: structures of the particles over f_a (Mușat, table 2)."""

import pandas as pd
import pyarrow as pa

from circlet.collections.musat.structure_columns import SAMPLE
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, column, estimate, names
from circlet.study.plan import Study

ROLES = ("table2",)
TABLES = ("structure_summary",)
COLUMNS = [
    column("f_a", pa.float64(), "strength of the alignment force"),
    SAMPLE,
    *estimate("circles", "runs that end as circles"),
    *estimate("grids", "runs that do not"),
    *estimate("imperfections", "mean imperfections of grids"),
    *COUNTS,
]


def table(study: Study) -> pd.DataFrame:
    """A row per f_a and sample of seeds; what is not a circle is called a grid."""
    rows = parquet.read_table(study, "structure_summary", "table2")
    rows = rows.rename(columns=lambda name: name.replace("non_circles", "grids"))
    return rows[names(COLUMNS)]
