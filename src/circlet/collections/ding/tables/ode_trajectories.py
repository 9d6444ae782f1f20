"""Table ``ode_trajectories``: signals and rollouts of the fitted ODEs, per step (figures 9, 16)."""

import numpy as np
import pandas as pd

from circlet.collections.ding import ode
from circlet.storage import parquet
from circlet.storage.schema import FREQUENCY, RUN_SEEDS, STEP, Frames, column
from circlet.study.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "signals")
TABLES = ("survival",)
COLUMNS = [
    *RUN_SEEDS,
    FREQUENCY,
    STEP,
    column("survived", "bool", "rule A, at the end"),
    column("signal", "float64", "as logged"),
    column("least_squares", "float64", "rollout of the least-squares fit"),
    column("lasso", "float64", "rollout of the Lasso fit"),
    column("analytic", "float64", "analytic solution with the Lasso's coefficients"),
]

_STRIDE = 10  # steps between the rows of a figure's line


def table(study: Study) -> Frames:
    """A row per run, frequency and every tenth step."""
    survival = parquet.read_table(study, "survival", "trajectory")
    alive = survival.set_index(["run_id", "frequency"])["survived"]
    for run_id, x, _ in ode.runs(study):
        if not ode.enough(x):
            continue
        laws = {method: ode.fit(x, method) for method in ("least_squares", "lasso")}
        lines = {m: ode.rollout(law, x[0], len(x) - 1) for m, law in laws.items()}
        lines |= {"signal": x, "analytic": ode.analytic(laws["lasso"], x[0], len(x) - 1)}
        step, frequency = np.indices(x[::_STRIDE].shape)
        frame = pd.DataFrame({name: line[::_STRIDE].ravel() for name, line in lines.items()})
        yield frame.assign(
            run_id=run_id, step=_STRIDE * step.ravel(), frequency=1 + frequency.ravel()
        ).join(alive, on=["run_id", "frequency"])
