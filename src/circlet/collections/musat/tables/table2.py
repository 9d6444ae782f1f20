"""Table ``table2``: structures of the particle model at each alignment force f_a (table 2)."""

import pandas as pd

from circlet.collections.musat.tables import table1
from circlet.storage.schema import COUNTS, column, estimate, names
from circlet.study.plan import Study

ROLES = ("table2",)
TABLES = ("structures",)
COLUMNS = [
    column("f_a", "float64", "strength of the alignment force"),
    column("sample", "string", "first_100 (the number in the paper) or all seeds"),
    *estimate("circles", "runs that end as circles"),
    *estimate("grids", "runs that do not"),
    *estimate("imperfections", "mean imperfections of grids"),
    *COUNTS,
]


def table(study: Study) -> pd.DataFrame:
    """A row per f_a and sample of seeds; what is not a circle is called a grid."""
    rows = pd.DataFrame(table1.rows(study, "table2"))
    return rows.rename(columns=lambda name: name.replace("non_circles", "grids"))[names(COLUMNS)]
