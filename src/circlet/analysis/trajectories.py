"""Table ``trajectories``: signals and gradient norms over the steps of a few runs (figures 2, 13).

The gradient is that of the loss by the embedding, without weight decay, in the Fourier basis.
"""

import pandas as pd

from circlet import io, tables
from circlet.analysis import gather
from circlet.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "signals", "gradients")
TABLES = ("survival",)


def table(study: Study) -> pd.DataFrame:
    """A row per run, frequency and step at which its signal or its gradient is logged."""
    columns = tables.names("trajectories")
    survival = io.read_table(study, "survival", "trajectory")
    alive = survival.set_index(["run_id", "frequency"])["survived"]
    at = ["run_id", "step", "frequency"]
    frames = []
    for block in study.blocks:
        signals = gather.finished(block, "signals", study)
        gradients = gather.finished(block, "gradients", study)[[*at, "gradient"]]
        frames.append(signals[[*at, "signal"]].merge(gradients, on=at, how="outer"))
    frame = pd.concat(frames).join(alive, on=["run_id", "frequency"])
    return gather.keyed([frame], study, columns)
