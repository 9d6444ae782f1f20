"""Table ``ode_coefficients``: the matrices A and constants b of the trajectories (figure 15)."""

import numpy as np
import pandas as pd

from circlet import tables
from circlet.analysis import gather, ode
from circlet.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "signals")
TABLES = ()


def table(study: Study) -> pd.DataFrame:
    """A row per run, linear method and pair of frequencies; source 0 is the constant."""
    columns = tables.names("ode_coefficients")
    frames = []
    for point in study.points:
        for run_id, x in ode.signals(point, study).items():
            for method in ("least_squares", "lasso") if ode.enough(x) else ():
                law = ode.fit(x, method)
                every = np.column_stack([law.intercept, law.coefficients])
                target, source = np.indices(every.shape)
                frames.append(
                    pd.DataFrame(
                        {
                            "target": target.ravel() + 1,
                            "source": source.ravel(),
                            "coefficient": every.ravel(),
                        }
                    ).assign(run_id=run_id, method=method)
                )
    return gather.keyed(frames, study, columns)
