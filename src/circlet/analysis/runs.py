"""Table ``runs``: a row per run of every system."""

import pandas as pd

from circlet import tables
from circlet.analysis import gather
from circlet.plan import Study

LOGS = ("runs",)
TABLES = ()


def table(study: Study) -> pd.DataFrame:
    """Seeds, outcome, cost and code of every run."""
    columns = tables.names("runs")
    return gather.per_run(gather.outcomes(study), study, columns)
