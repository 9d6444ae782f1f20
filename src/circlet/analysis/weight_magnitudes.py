"""Table ``weight_magnitudes``: mean absolute weights and biases (Mușat, figure 6)."""

import numpy as np
import pandas as pd

from circlet.analysis import gather
from circlet.plan import Study

SYSTEMS = ("constant_attention",)
LOGS = ("parameters",)
TABLES = ()


def table(study: Study) -> pd.DataFrame:
    """A row per run and layer, ``hidden`` and ``output``."""
    frame = gather.logs(study, "parameters", final=True)
    frame = frame[frame["name"] != "embedding"]
    frame[["layer", "part"]] = frame["name"].str.split(".", expand=True)
    frame["magnitude"] = [float(np.abs(values).mean()) for values in frame["values"]]
    wide = frame.pivot(index=["run_id", "layer"], columns="part", values="magnitude")
    keys = gather.per_run(frame, study, ["seed"]).drop_duplicates("run_id")
    return (
        wide.reset_index()
        .rename(columns={"weight": "mean_abs_weight", "bias": "mean_abs_bias"})
        .merge(keys, on="run_id", sort=False)
    )
