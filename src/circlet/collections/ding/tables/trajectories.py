"""Table ``trajectories``: signals and gradients of a few runs, per step (figures 2, 13).

The gradient is that of the loss with respect to the embedding, without weight decay, in the Fourier
basis.
"""

from circlet.analysis import log_frames
from circlet.storage import parquet
from circlet.storage.schema import FREQUENCY, RUN_SEEDS, STEP, Frames, column
from circlet.study.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "signals", "gradients")
TABLES = ("survival",)
COLUMNS = [
    *RUN_SEEDS,
    STEP,
    FREQUENCY,
    column("signal", "float64", "norm of F_k, if logged"),
    column("gradient", "float64", "norm of the Fourier coefficient of dL/dE, if logged"),
    column("survived", "bool", "rule A, at the end"),
]


def table(study: Study) -> Frames:
    """A row per run, frequency and step at which its signal or its gradient is logged."""
    survival = parquet.read_table(study, "survival", "trajectory")
    alive = survival.set_index(["run_id", "frequency"])["survived"]
    at = ["run_id", "step", "frequency"]
    for block in study.blocks:
        signals = log_frames.finished(block, "signals")
        gradients = log_frames.finished(block, "gradients")[[*at, "gradient"]]
        frame = signals[[*at, "signal"]].merge(gradients, on=at, how="outer")
        yield frame.join(alive, on=["run_id", "frequency"])
