"""Table ``weight_magnitude_means``: mean absolute weights per weight decay and layer (figure 6)."""

from circlet.analysis import log_frames, stats
from circlet.storage.schema import COUNTS, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("weight_magnitudes",)
TABLES = ("weight_magnitudes",)
COLUMNS = [
    column("weight_decay", "float64", "decoupled weight decay"),
    column("layer", "string", "hidden or output"),
    *estimate("mean_abs_weight", "mean over runs"),
    *estimate("mean_abs_bias", "mean over runs"),
    *COUNTS,
]


def table(study: Study) -> Rows:
    """A row per layer and weight decay: means over runs."""
    groups = log_frames.groups(study, "weight_magnitudes", ["weight_decay"])
    ordered = sorted(groups, key=lambda group: group[0]["weight_decay"])
    for layer in ("hidden", "output"):
        for row, runs in ordered:
            of_layer = runs[runs["layer"] == layer]
            yield row | {
                "layer": layer,
                **stats.mean(of_layer["mean_abs_weight"]).columns("mean_abs_weight"),
                **stats.mean(of_layer["mean_abs_bias"]).columns("mean_abs_bias"),
            }
