"""Table ``weight_magnitude_means``: mean absolute weights and biases (Mușat, figure 6)."""

import pandas as pd

from circlet import io
from circlet.analysis import stats
from circlet.plan import Study

ROLES = ("weight_magnitudes",)
TABLES = ("weight_magnitudes",)


def table(study: Study) -> pd.DataFrame:
    """A row per weight decay and layer: means over runs."""
    frame = io.read_table(study, "weight_magnitudes", "weight_magnitudes")
    rows = []
    for point in study.points:
        weight_decay = point.parameters["weight_decay"]
        for layer in ("hidden", "output"):
            runs = frame[(frame["weight_decay"] == weight_decay) & (frame["layer"] == layer)]
            rows.append(
                {
                    "weight_decay": weight_decay,
                    "layer": layer,
                    **stats.mean(runs["mean_abs_weight"].to_numpy()).columns("mean_abs_weight"),
                    **stats.mean(runs["mean_abs_bias"].to_numpy()).columns("mean_abs_bias"),
                    "n_runs": len(runs),
                    "n_planned": point.count,
                }
            )
    return pd.DataFrame(rows).sort_values(["layer", "weight_decay"])
