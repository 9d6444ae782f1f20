"""Table ``ode_fits``: quality of the ODEs fitted to each run, per fitting method (figure 9).

A law easily has a high R^2 on the one-step differences that it was fitted to. So the table also has
R^2 on other runs of the same point, and the error of a rollout from step 0.
"""

import numpy as np

from circlet.collections.ding import ode
from circlet.storage.schema import RUN_SEEDS, Rows, column, names
from circlet.study.plan import Study

OPTIONAL_ROLES = ("trajectory", "ode_dimensions")
LOGS = ("runs", "signals")
COLUMNS = [
    *RUN_SEEDS,
    column("method", "string", "least_squares, lasso or quadratic"),
    column("alpha", "float64", "strength of the Lasso; 0 for the others"),
    column("status", "string", "fitted, or too_few_steps"),
    column("n_steps", "int32", "steps fitted, at most 1000, each one logged"),
    column("r2", "float64", "R^2 of the one-step differences that it was fitted to"),
    column("r2_heldout", "float64", "the same on other runs of the point: their median"),
    column("rollout_error", "float64", "root mean square error of the rollout"),
    column("analytic_error", "float64", "of the analytic solution (equation 4)"),
    column("mean_signal", "float64", "mean signal over the steps, to compare errors with"),
    column("nonzero", "float64", "share of coefficients that are not zero", "0..1"),
    column("converged", "bool", "whether the Lasso reached its minimum"),
]


def table(study: Study) -> Rows:
    """A row per finished run and method."""
    for run_id, x, others in ode.runs(study):
        for method in ode.METHODS:
            row = dict.fromkeys(names(COLUMNS)) | {
                "run_id": run_id,
                "method": method,
                "alpha": ode.ALPHA if method == "lasso" else 0.0,
                "status": "fitted" if ode.enough(x) else "too_few_steps",
                "n_steps": len(x) - 1,
            }
            if ode.enough(x):
                law = ode.fit(x, method)
                heldout = [ode.r2(law, other) for other in others]
                row |= {
                    "r2": ode.r2(law, x),
                    "r2_heldout": float(np.median(heldout)) if heldout else np.nan,
                    "rollout_error": ode.error(ode.rollout(law, x[0], len(x) - 1), x),
                    "mean_signal": float(x.mean()),
                    "nonzero": law.nonzero,
                    "converged": law.converged,
                }
                if law.linear:
                    row["analytic_error"] = ode.error(ode.analytic(law, x[0], len(x) - 1), x)
            yield row
