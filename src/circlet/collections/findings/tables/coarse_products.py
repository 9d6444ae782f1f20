"""Table ``coarse_products``: final structures when factors of matrix products are rounded.

Runs with rounded factors are paired with float32 runs of the same seed. The two trajectories of a
seed may diverge from each other, so shares of final structures are compared, not single runs.
"""

import pandas as pd

from circlet.analysis import contrasts, log_frames, stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("coarse_products", "coarse_products_of_heads")
OPTIONAL_TABLES = ("structures", "heads")
COLUMNS = [
    EXPERIMENT,
    column("products", "string", "type that the factors are rounded to; float32: not rounded"),
    *estimate("share", "share of runs that end as a circle, or that solve the task", "0..1"),
    *estimate("change", "the same minus that of float32, paired by seed"),
    *COUNTS,
]
_ENDS = {
    "coarse_products": ("structures", "is_circle"),
    "coarse_products_of_heads": ("heads", "success"),
}


def table(study: Study) -> Rows:
    """A row per role and type of the factors."""
    for role, (name, end) in _ENDS.items():
        if role not in study.reproduce:
            continue
        runs = parquet.read_table(study, name, role)
        ends: dict[str, pd.Series] = {}
        for point, _, of_point in log_frames.by_point(runs, study):
            if point.experiment != study.reproduce[role]:
                continue
            products = point.settings.products
            ends[products] = of_point.set_index("seed")[end].astype(float)
            row = {
                "experiment": point.experiment,
                "products": products,
                **stats.share(*stats.counted(of_point[end].astype(bool))).columns("share"),
                "n_runs": len(of_point),
                "n_planned": point.count,
            }
            if products != "float32" and "float32" in ends:
                pair = (ends["float32"], ends[products])
                change, _ = contrasts.paired_difference(*pair, is_share=True)
                row |= change.columns("change")
            yield row
