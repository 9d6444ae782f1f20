"""Table ``ode_trajectories``: signals, and what the fits make of step 0 (figures 9 and 16)."""

import numpy as np
import pandas as pd

from circlet import io, tables
from circlet.analysis import gather, ode
from circlet.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "signals")
TABLES = ("survival",)

EVERY = 10  # steps between the rows of a figure's line


def table(study: Study) -> pd.DataFrame:
    """A row per run, frequency and every tenth step."""
    columns = tables.names("ode_trajectories")
    survival = io.read_table(study, "survival", "trajectory")
    alive = survival.set_index(["run_id", "frequency"])["survived"]
    frames = []
    for point in study.points:
        for run_id, x in ode.signals(point, study).items():
            if not ode.enough(x):
                continue
            laws = {method: ode.fit(x, method) for method in ("least_squares", "lasso")}
            lines = {m: ode.rollout(law, x[0], len(x) - 1) for m, law in laws.items()}
            lines |= {"signal": x, "analytic": ode.analytic(laws["lasso"], x[0], len(x) - 1)}
            step, frequency = np.indices(x[::EVERY].shape)
            frame = pd.DataFrame({name: line[::EVERY].ravel() for name, line in lines.items()})
            frames.append(
                frame.assign(
                    run_id=run_id, step=EVERY * step.ravel(), frequency=1 + frequency.ravel()
                ).join(alive, on=["run_id", "frequency"])
            )
    return gather.keyed(frames, study, columns)
