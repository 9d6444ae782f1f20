"""Table ``trajectories``: signals and gradient norms over the steps of a few runs (figures 2, 13).

The gradient is that of the loss by the embedding, without weight decay, in the Fourier basis.
"""

import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.storage import parquet
from circlet.storage.schema import FREQUENCY, SEEDS, STEP, column, names
from circlet.study.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "signals", "gradients")
TABLES = ("survival",)
COLUMNS = [
    *SEEDS,
    STEP,
    FREQUENCY,
    column("signal", pa.float64(), "norm of F_k, if logged"),
    column("gradient", pa.float64(), "norm of the Fourier coefficient of dL/dE, if logged"),
    column("survived", pa.bool_(), "rule A, at the end"),
]


def table(study: Study) -> pd.DataFrame:
    """A row per run, frequency and step at which its signal or its gradient is logged."""
    columns = names(COLUMNS)
    survival = parquet.read_table(study, "survival", "trajectory")
    alive = survival.set_index(["run_id", "frequency"])["survived"]
    at = ["run_id", "step", "frequency"]
    frames = []
    for block in study.blocks:
        signals = log_frames.finished(block, "signals", study)
        gradients = log_frames.finished(block, "gradients", study)[[*at, "gradient"]]
        frames.append(signals[[*at, "signal"]].merge(gradients, on=at, how="outer"))
    frame = pd.concat(frames).join(alive, on=["run_id", "frequency"])
    return log_frames.keyed([frame], study, columns)
