"""Table ``table1``: accuracy and structures over weight decay (Mușat, table 1)."""

import numpy as np
import pandas as pd

from circlet import io
from circlet.analysis import gather, stats
from circlet.plan import Study

ROLES = ("table1",)
TABLES = ("structures",)


def table(study: Study) -> pd.DataFrame:
    """A row per weight decay and sample of seeds."""
    rows = []
    structures = io.read_table(study, "structures")
    for point, sample, n_planned, runs in gather.samples(study, "table1", structures):
        circle = runs["is_circle"].to_numpy(dtype=bool)
        accuracy = 100 * runs["validation_accuracy"].to_numpy(dtype=float)
        imperfections = runs["imperfections"].to_numpy(dtype=float)
        rows.append(
            {
                "weight_decay": point.parameters["weight_decay"],
                "sample": sample,
                **stats.columns("circles", stats.count(int(circle.sum()), len(circle))),
                **stats.columns("circle_accuracy", stats.mean(accuracy[circle])),
                "circle_accuracy_sd": _sd(accuracy[circle]),
                "non_circles": int((~circle).sum()),
                **stats.columns("non_circle_accuracy", stats.mean(accuracy[~circle])),
                "non_circle_accuracy_sd": _sd(accuracy[~circle]),
                **stats.columns("imperfections", stats.mean(imperfections[~circle])),
                **stats.columns(
                    "correlation", stats.correlation(imperfections[~circle], accuracy[~circle])
                ),
                "n_runs": len(runs),
                "n_planned": n_planned,
            }
        )
    return pd.DataFrame(rows)


def _sd(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
