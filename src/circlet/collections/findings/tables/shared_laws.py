"""Table ``shared_laws``: how well laws of the signals predict their change per step.

Laws are fitted to the first half of a point's runs and scored on the second, window by window.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from circlet.analysis import log_frames, stats
from circlet.collections.findings import shared_laws
from circlet.storage.schema import COUNTS, POINT, column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("shared_law", "shared_law_elsewhere")
LOGS = ("runs", "signals")
TABLES = ()
COLUMNS = [
    POINT,
    column("first_step", pa.int32(), "of the window"),
    column("last_step", pa.int32(), "after the window"),
    column("law", pa.string(), "see circlet/collections/findings/shared_laws.py"),
    column("terms", pa.list_(pa.string()), "what the law is a sum of"),
    column("n_coefficients", pa.int32(), "numbers that were fitted"),
    *estimate("r2", "R^2 of the change in a step, pooled over frequencies and runs not fitted"),
    column("r2_run", pa.float64(), "R^2 as in Ding et al., averaged over frequencies: median run"),
    *estimate("beyond_persistence", "share of the squares left by `persistence` that it explains"),
    column("n_fitted", pa.int32(), "runs that the law was fitted to"),
    *COUNTS,
]


def r2(misses: np.ndarray, squares: np.ndarray) -> stats.Estimate:
    """Pooled R^2 from the residual and the total sum of squares of each run."""
    unexplained = stats.ratio(misses, squares).times(-1)
    return stats.Estimate(
        1 + unexplained.value, 1 + unexplained.low, 1 + unexplained.high, unexplained.n
    )


def misses(law: shared_laws.Law, x: np.ndarray, window: tuple[int, int]) -> tuple[np.ndarray, ...]:
    """Return the residual sum of squares of each frequency of a run, and two total sums.

    The totals are about the mean change in the window, and about each frequency's mean change.
    """
    s, v, y = shared_laws.inside(x, window)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        residuals = ((y - law.change(s, v)) ** 2).sum(0)
    return residuals, ((y - y.mean()) ** 2).sum(0), ((y - y.mean(0)) ** 2).sum(0)


def missed(
    law: shared_laws.Law, runs: list[np.ndarray], window: tuple[int, int]
) -> tuple[np.ndarray, ...]:
    """`misses` of some runs, (runs, n) each."""
    return tuple(map(np.array, zip(*(misses(law, x, window) for x in runs), strict=True)))


def table(study: Study) -> Iterator[dict]:
    """Yield a row per point, window and law; the last window spans all steps."""
    for role in study.reproduce:
        for point, fitted, scored in shared_laws.halves(study, role):
            steps = len(fitted[0]) - 1
            parts = shared_laws.windows(steps)
            for window in [*parts, (0, steps)] if len(parts) > 1 else parts:
                laws = {name: shared_laws.fit(name, fitted, window) for name in shared_laws.LAWS}
                last, *_ = missed(laws["persistence"], scored, window)
                for name, law in laws.items():
                    residuals, whole, by_frequency = missed(law, scored, window)
                    with np.errstate(invalid="ignore", divide="ignore"):
                        by_run = np.nanmean(
                            np.where(by_frequency > 0, 1 - residuals / by_frequency, np.nan), axis=1
                        )
                    yield {
                        **log_frames.keys(point, study),
                        "point": point.name,
                        "first_step": window[0],
                        "last_step": window[1],
                        "law": name,
                        "terms": list(law.form.terms),
                        "n_coefficients": law.coefficients.size,
                        **r2(residuals.sum(1), whole.sum(1)).columns("r2"),
                        "r2_run": float(np.median(by_run)),
                        **stats.ratio((last - residuals).sum(1), last.sum(1))
                        .columns("beyond_persistence"),
                        "n_fitted": 1 if name == "one_run" else len(fitted),
                        "n_runs": len(scored),
                        "n_planned": point.count - len(fitted),
                    }  # fmt: skip
