"""Table ``ode_path``: quality of the Lasso fit of each run at many strengths of the penalty."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from circlet.collections.ding import ode
from circlet.storage.schema import RUN, SEEDS, column
from circlet.study.plan import Study

ROLES = ("trajectory",)
LOGS = ("runs", "signals")
TABLES = ()
COLUMNS = [
    RUN,
    *SEEDS,
    column("alpha", pa.float64(), "strength of the Lasso"),
    column("r2", pa.float64(), "as in ode_fits"),
    column("r2_usual", pa.float64(), "of a fit that ends after 1000 iterations, as scikit-learn's"),
    column("r2_heldout", pa.float64(), "as in ode_fits"),
    column("rollout_error", pa.float64(), "as in ode_fits"),
    column("mean_signal", pa.float64(), "as in ode_fits"),
    column("nonzero", pa.float64(), "as in ode_fits", "0..1"),
    column("converged", pa.bool_(), "as in ode_fits"),
]


def table(study: Study) -> Iterator[dict]:
    """A row per run and strength."""
    for run_id, x, others in ode.runs(study):
        for alpha in np.logspace(-3, 1, 13) if ode.enough(x) else ():
            law = ode.fit(x, "lasso", float(alpha))
            short = ode.fit(x, "lasso", float(alpha), ode.USUAL_ITERATIONS)
            row = {"run_id": run_id, "alpha": alpha, "r2_usual": ode.r2(short, x)}
            yield row | ode.measures(law, x, others)
