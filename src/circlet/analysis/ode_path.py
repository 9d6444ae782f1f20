"""Table ``ode_path``: the Lasso fits of the trajectories for many strengths of the penalty."""

import numpy as np
import pandas as pd

from circlet import tables
from circlet.analysis import gather, ode
from circlet.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "signals")
TABLES = ()

ALPHAS = np.logspace(-3, 1, 13)


def table(study: Study) -> pd.DataFrame:
    """A row per run and strength."""
    columns = tables.names("ode_path")
    rows = []
    for point in study.points:
        runs = ode.signals(point, study)
        for run_id, x in runs.items():
            others = [other for name, other in runs.items() if name != run_id]
            for alpha in ALPHAS if ode.enough(x) else ():
                law = ode.fit(x, "lasso", float(alpha))
                rows.append({"run_id": run_id, "alpha": alpha} | ode.measures(law, x, others))
    return gather.keyed([pd.DataFrame(rows)] if rows else [], study, columns)
