"""Table ``ode_path``: the Lasso fits of the trajectories for many strengths of the penalty."""

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.collections.ding import ode
from circlet.storage.schema import SEEDS, column, names
from circlet.study.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "signals")
TABLES = ()
COLUMNS = [
    *SEEDS,
    column("alpha", pa.float64(), "strength of the Lasso"),
    column("r2", pa.float64(), "as in ode_fits"),
    column("r2_heldout", pa.float64(), "as in ode_fits"),
    column("rollout_error", pa.float64(), "as in ode_fits"),
    column("mean_signal", pa.float64(), "as in ode_fits"),
    column("nonzero", pa.float64(), "as in ode_fits", "0..1"),
    column("converged", pa.bool_(), "as in ode_fits"),
]

_ALPHAS = np.logspace(-3, 1, 13)


def table(study: Study) -> pd.DataFrame:
    """A row per run and strength."""
    columns = names(COLUMNS)
    rows = []
    for point in study.points:
        runs = ode.signals(point, study)
        for run_id, x in runs.items():
            others = [other for name, other in runs.items() if name != run_id]
            for alpha in _ALPHAS if ode.enough(x) else ():
                law = ode.fit(x, "lasso", float(alpha))
                rows.append({"run_id": run_id, "alpha": alpha} | ode.measures(law, x, others))
    return log_frames.keyed([pd.DataFrame(rows)] if rows else [], study, columns)
