"""Table ``shared_law_rollouts``: survivors that a law predicts from each starting step.

The laws of successive windows are chained, starting from signals of runs that they were not fitted
to. For comparison, `order` predicts that the strongest frequencies of that step survive; it knows
the number of survivors. No mean-field law without memory can do better, because it keeps the order
of the signals.
"""

import numpy as np

from circlet.analysis import stats
from circlet.collections.findings import shared_laws
from circlet.collections.findings.survivor_sets import jaccard
from circlet.storage.schema import POINT, STEP, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("shared_law",)
LOGS = ("runs", "signals")
COLUMNS = [
    POINT,
    STEP,
    column("law", "string", "a law, or order"),
    *estimate("jaccard", "Jaccard index of the predicted and the true survivors", "0..1"),
    *estimate("beyond_three", "Jaccard index minus that of three_numbers, of the same runs"),
    *estimate("beyond_order", "Jaccard index minus that of order, of the same runs"),
    column("lost", "int32", "runs whose signals grow without bound"),
]
_STARTS = (0, 10, 20, 50, 100, 200, 500)


def strongest(signals: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Mark the ``counts`` largest signals of each run, (runs, n), bool."""
    rank = (-signals).argsort(axis=1).argsort(axis=1)
    return rank < counts[:, None]


def table(study: Study) -> Rows:
    """A row per point, start and law."""
    for _, keys, fitted, scored in shared_laws.halves(study):
        x = np.stack(scored)
        alive = shared_laws.survivors(x[:, -1])
        steps = x.shape[1] - 1
        laws = {
            name: [(w, shared_laws.fit(name, fitted, w)) for w in shared_laws.windows(steps)]
            for name in shared_laws.LAWS
        }
        for first in (s for s in _STARTS if s < steps):
            ends = {name: shared_laws.rollout(law, x, first)[-1] for name, law in laws.items()}
            chosen = {name: shared_laws.survivors(last) for name, last in ends.items()}
            chosen["order"] = strongest(x[:, first], alive.sum(1))
            indices = {name: jaccard(predicted, alive) for name, predicted in chosen.items()}
            for name, index in indices.items():
                yield {
                    **keys,
                    "step": first,
                    "law": name,
                    **stats.bounded_mean(index, 0, 1).columns("jaccard"),
                    **stats.bounded_mean(index - indices["three_numbers"], -1, 1)
                    .columns("beyond_three"),
                    **stats.bounded_mean(index - indices["order"], -1, 1)
                    .columns("beyond_order"),
                    "lost": int((~np.isfinite(ends[name])).any(1).sum()) if name in ends else 0,
                }  # fmt: skip
