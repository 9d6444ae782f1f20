"""Table ``shared_law_paths``: measured and predicted signals of one run, per step.

The first run of the role `shared_law` that the law was not fitted to, from two steps on.
"""

import numpy as np
import pandas as pd

from circlet.collections.findings import shared_laws
from circlet.storage.schema import FREQUENCY, POINT, STEP, Frames, column
from circlet.study.plan import Study

ROLES = ("shared_law",)
LOGS = ("runs", "signals")
COLUMNS = [
    POINT,
    column("first_step", "int32", "from which on the law goes on by itself"),
    STEP,
    FREQUENCY,
    column("signal", "float64", "of the run"),
    column("predicted", "float64", "by the law three_numbers"),
    column("survived", "bool", "more than twice the mean at the last step"),
]
_STARTS = (20, 50, 200)
_STRIDE = 10


def table(study: Study) -> Frames:
    """A row per start, every tenth step and frequency."""
    for _, keys, fitted, scored in shared_laws.halves(study):
        x = scored[0]
        steps, n = len(x) - 1, x.shape[1]
        laws = [
            (w, shared_laws.fit("three_numbers", fitted, w)) for w in shared_laws.windows(steps)
        ]
        for first in (s for s in _STARTS if s < steps):
            predicted = shared_laws.rollout(laws, x[None], first)[:, 0]
            at = np.arange(first, steps + 1, _STRIDE)
            yield pd.DataFrame(
                {
                    **keys,
                    "first_step": first,
                    "step": np.repeat(at, n),
                    "frequency": np.tile(np.arange(1, n + 1), len(at)),
                    "signal": x[at].ravel(),
                    "predicted": predicted[at - first].ravel(),
                    "survived": np.tile(shared_laws.survivors(x[-1]), len(at)),
                }
            )
