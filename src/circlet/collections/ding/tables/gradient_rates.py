"""Table ``gradient_rates``: survival rate per bin of the initial gradient (figure 7).

Survival is by rule B, the paper's for gradients, if the runs are as long as the paper's; otherwise
by rule A.
"""

import numpy as np

from circlet.analysis import log_frames, stats
from circlet.collections.ding import survivors
from circlet.storage.schema import COUNTS, EXPERIMENT, STEP, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("initial_gradients",)
TABLES = ("survival",)
COLUMNS = [
    EXPERIMENT,
    STEP,
    column("bin_low", "float64", "lower end of the bin of relative gradients"),
    column("bin_high", "float64", "upper end"),
    column("rule", "string", "of survival, A or B"),
    *estimate("rate", "share of the frequencies in the bin that survive", "0..1"),
    *COUNTS,
]

_BINS = 20


def table(study: Study) -> Rows:
    """A row per step and bin of the gradient that is not empty."""
    [(row, survival)] = log_frames.groups(study, "survival", ["experiment"])
    rule, column = survivors.rule(study.points[0].steps)
    early = np.stack(survival["early_gradients"]) if len(survival) else np.empty((0, 0))
    alive = survival[column].to_numpy(bool)
    for i, step in enumerate(survivors.GRADIENT_STEPS[: early.shape[1]]):
        edges = np.linspace(early[:, i].min(), early[:, i].max(), _BINS + 1)
        place = np.clip(np.digitize(early[:, i], edges) - 1, 0, _BINS - 1)
        for b in np.unique(place):
            in_bin = alive[place == b]
            yield row | {
                "step": step,
                "bin_low": edges[b],
                "bin_high": edges[b + 1],
                "rule": rule,
                **stats.share(*stats.counted(in_bin)).columns("rate"),
            }
