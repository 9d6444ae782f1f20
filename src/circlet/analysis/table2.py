"""Table ``table2``: structures of the particles over f_a (Mușat, table 2)."""

import pandas as pd

from circlet import io
from circlet.analysis import gather, stats
from circlet.plan import Study

ROLES = ("table2",)
TABLES = ("structures",)


def table(study: Study) -> pd.DataFrame:
    """A row per f_a and sample of seeds."""
    rows = []
    structures = io.read_table(study, "structures")
    for point, sample, n_planned, runs in gather.samples(study, "table2", structures):
        circle = runs["is_circle"].to_numpy(dtype=bool)
        imperfections = runs["imperfections"].to_numpy(dtype=float)
        rows.append(
            {
                "f_a": point.parameters["f_a"],
                "sample": sample,
                **stats.columns("circles", stats.count(int(circle.sum()), len(circle))),
                "grids": int((~circle).sum()),
                **stats.columns("imperfections", stats.mean(imperfections[~circle])),
                "n_runs": len(runs),
                "n_planned": n_planned,
            }
        )
    return pd.DataFrame(rows)
