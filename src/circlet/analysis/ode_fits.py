"""Table ``ode_fits``: how well differential equations describe the signals of a run (figure 9 a).

R^2 of one-step differences that a law was fitted to is easily high. Beside it stand the R^2 on
other runs of the same point, the error of a rollout from step 0, and stability.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from circlet import tables
from circlet.analysis import gather, ode
from circlet.plan import Study

OPTIONAL_ROLES = ("trajectory", "ode_dimensions")
LOGS = ("runs", "signals")
TABLES = ()


def _rows(runs: dict[str, np.ndarray]) -> Iterator[dict]:
    for run_id, x in runs.items():
        others = [other for name, other in runs.items() if name != run_id]
        for method in ode.METHODS:
            row = {
                "run_id": run_id,
                "method": method,
                "alpha": ode.ALPHA if method == "lasso" else 0.0,
                "n_steps": len(x) - 1,
            }
            if not ode.enough(x):
                yield row | {"status": "too_few_steps"}
                continue
            law = ode.fit(x, method)
            yield (
                row
                | ode.measures(law, x, others)
                | {
                    "status": "fitted",
                    "analytic_error": ode.error(ode.analytic(law, x[0], len(x) - 1), x)
                    if law.linear
                    else np.nan,
                    "stability": law.stability,
                    "growth": law.growth,
                }
            )


def table(study: Study) -> pd.DataFrame:
    """A row per finished run and method."""
    columns = tables.names("ode_fits")
    rows = [row for point in study.points for row in _rows(ode.signals(point, study))]
    frame = pd.DataFrame(rows).reindex(
        columns=["run_id", *(name for name in columns if name not in gather.SEEDS)]
    )
    return gather.keyed([frame] if rows else [], study, columns)
