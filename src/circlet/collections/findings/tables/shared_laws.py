"""Table ``shared_laws``: how well laws of the signals predict their change per step.

Laws are fitted to the first half of a point's runs and scored on the second, window by window.
"""

import numpy as np
import pyarrow as pa

from circlet.analysis import stats
from circlet.collections.findings import shared_laws
from circlet.storage.schema import COUNTS, POINT, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("shared_law",)
LOGS = ("runs", "signals")
COLUMNS = [
    POINT,
    column("first_step", "int32", "of the window"),
    column("last_step", "int32", "after the window"),
    column("law", "string", "see circlet/collections/findings/shared_laws.py"),
    column("terms", pa.list_(pa.string()), "what the law is a sum of"),
    column("n_coefficients", "int32", "numbers that were fitted"),
    *estimate("r2", "R^2 of the change in a step, pooled over frequencies and runs not fitted"),
    *estimate("beyond_persistence", "share of the squares left by `persistence` that it explains"),
    column("n_fitted", "int32", "runs that the law was fitted to"),
    *COUNTS,
]


def r2(misses: np.ndarray, squares: np.ndarray) -> stats.Estimate:
    """Pooled R^2 from the residual and the total sum of squares of each run."""
    return stats.ratio(misses, squares).times(-1).mapped(lambda explained: 1 + explained)


def missed(
    law: shared_laws.Law, runs: list[np.ndarray], window: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Each run's residual sum of squares, and that about its mean change in the window, (runs,)."""
    sums = []
    for x in runs:
        s, v, y = shared_laws.inside(x, window)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            sums.append((((y - law.change(s, v)) ** 2).sum(), ((y - y.mean()) ** 2).sum()))
    residuals, whole = np.array(sums).T
    return residuals, whole


def table(study: Study) -> Rows:
    """Yield a row per point, window and law; the last window spans all steps."""
    for point, keys, fitted, scored in shared_laws.halves(study):
        steps = len(fitted[0]) - 1
        parts = shared_laws.windows(steps)
        for window in [*parts, (0, steps)] if len(parts) > 1 else parts:
            laws = {name: shared_laws.fit(name, fitted, window) for name in shared_laws.LAWS}
            last, _ = missed(laws["persistence"], scored, window)
            for name, law in laws.items():
                residuals, whole = missed(law, scored, window)
                yield {
                    **keys,
                    "first_step": window[0],
                    "last_step": window[1],
                    "law": name,
                    "terms": list(law.form.terms),
                    "n_coefficients": law.coefficients.size,
                    **r2(residuals, whole).columns("r2"),
                    **stats.ratio(last - residuals, last).columns("beyond_persistence"),
                    "n_fitted": len(fitted),
                    "n_runs": len(scored),
                    "n_planned": point.count - len(fitted),
                }
