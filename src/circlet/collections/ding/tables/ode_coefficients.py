"""Table ``ode_coefficients``: coefficients of the linear ODEs fitted to each run (figure 15)."""

import numpy as np
import pandas as pd

from circlet.collections.ding import ode
from circlet.storage.schema import RUN_SEEDS, Frames, column
from circlet.study.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "signals")
COLUMNS = [
    *RUN_SEEDS,
    column("method", "string", "least_squares or lasso"),
    column("target", "int16", "frequency whose signal changes"),
    column("source", "int16", "frequency that it depends on; 0: the constant"),
    column("coefficient", "float64", "change per step and unit of the source's signal"),
]


def table(study: Study) -> Frames:
    """A row per run, linear method and pair of frequencies; source 0 is the constant."""
    for run_id, x, _ in ode.runs(study):
        for method in ("least_squares", "lasso") if ode.enough(x) else ():
            law = ode.fit(x, method)
            coefficients = np.column_stack([law.intercept, law.coefficients])
            target, source = np.indices(coefficients.shape)
            yield pd.DataFrame(
                {
                    "run_id": run_id,
                    "method": method,
                    "target": target.ravel() + 1,
                    "source": source.ravel(),
                    "coefficient": coefficients.ravel(),
                }
            )
