"""Table ``weight_magnitudes``: mean absolute weights and biases of each layer of each run."""

import numpy as np

from circlet.analysis import log_frames
from circlet.storage.schema import RUN, SEED, Rows, column
from circlet.study.plan import Study

SYSTEMS = ("constant_attention",)
LOGS = ("runs", "parameters")
COLUMNS = [
    RUN,
    SEED,
    column("layer", "string", "hidden or output"),
    column("mean_abs_weight", "float64", "mean absolute weight of the layer"),
    column("mean_abs_bias", "float64", "mean absolute bias of the layer"),
]


def table(study: Study) -> Rows:
    """A row per run and layer, ``hidden`` and ``output``."""
    frame = log_frames.final(study, "parameters")
    for (run_id, layer), parts in frame[frame["name"] != "embedding"].groupby(
        ["run_id", frame["name"].str.split(".").str[0]], sort=False
    ):
        row = {"run_id": run_id, "layer": layer}
        for name, values in zip(parts["name"], parts["values"], strict=True):
            row[f"mean_abs_{name.split('.')[1]}"] = float(np.abs(values).mean())
        yield row
