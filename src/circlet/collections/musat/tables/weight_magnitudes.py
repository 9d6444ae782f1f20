"""Table ``weight_magnitudes``: mean absolute weights and biases of every finished run."""

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.storage.schema import SEED, column, names
from circlet.study.plan import Study

SYSTEMS = ("constant_attention",)
LOGS = ("runs", "parameters")
TABLES = ()
COLUMNS = [
    SEED,
    column("layer", pa.string(), "hidden or output"),
    column("mean_abs_weight", pa.float64(), "mean absolute weight of the layer"),
    column("mean_abs_bias", pa.float64(), "mean absolute bias of the layer"),
]


def table(study: Study) -> pd.DataFrame:
    """A row per run and layer, ``hidden`` and ``output``."""
    frame = log_frames.final(study, "parameters")
    rows = []
    for (_, layer), parts in frame[frame["name"] != "embedding"].groupby(
        ["run_id", frame["name"].str.split(".").str[0]], sort=False
    ):
        row = parts.iloc[0].to_dict() | {"layer": layer}
        for name, values in zip(parts["name"], parts["values"], strict=True):
            row[f"mean_abs_{name.split('.')[1]}"] = float(np.abs(values).mean())
        rows.append(row)
    columns = names(COLUMNS)
    return log_frames.rows_per_run(rows, study, columns)
