"""Table ``weight_magnitudes``: mean absolute weights and biases of every finished run."""

import numpy as np
import pandas as pd

from circlet import tables
from circlet.analysis import gather
from circlet.plan import Study

SYSTEMS = ("constant_attention",)
LOGS = ("runs", "parameters")
TABLES = ()


def table(study: Study) -> pd.DataFrame:
    """A row per run and layer, ``hidden`` and ``output``."""
    frame = gather.final(study, "parameters")
    rows = []
    for (_, layer), parts in frame[frame["name"] != "embedding"].groupby(
        ["run_id", frame["name"].str.split(".").str[0]], sort=False
    ):
        row = parts.iloc[0].to_dict() | {"layer": layer}
        for name, values in zip(parts["name"], parts["values"], strict=True):
            row[f"mean_abs_{name.split('.')[1]}"] = float(np.abs(values).mean())
        rows.append(row)
    columns = tables.names("weight_magnitudes")
    return gather.rows_per_run(rows, study, columns)
