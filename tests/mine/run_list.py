"""Outcomes of the particles in the explorer."""

import numpy as np

from circlet.storage import parquet

TABLES = ("mine.distances",)
COLUMNS = []


def runs(study):
    """Return whether runs end near or far."""
    rows = parquet.read_table(study, "mine.distances")
    return rows[["run_id"]].assign(outcome=np.where(rows["distance"] < 0.1, "near", "far"))
