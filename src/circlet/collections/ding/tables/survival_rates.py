"""Table ``survival_rates``: share of runs where a frequency survives, per embedding (figure 6).

A rate is over the runs that share an embedding and differ in network and split; survival is by rule
A.
"""

from circlet.analysis import log_frames, stats
from circlet.storage.schema import COUNTS, EXPERIMENT, FREQUENCY, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("initial_signals",)
TABLES = ("survival",)
COLUMNS = [
    EXPERIMENT,
    column("embedding_seed", "int64", "seed of the initial embedding"),
    FREQUENCY,
    column("initial_signal", "float64", "signal at step 0"),
    *estimate("rate", "share of the embedding's runs in which it survives", "0..1"),
    *COUNTS,
]


def table(study: Study) -> Rows:
    """A row per embedding and frequency."""
    for row, of_embedding in log_frames.groups(study, "survival", ["experiment", "embedding_seed"]):
        for k, runs in of_embedding.groupby("frequency"):
            yield row | {
                "frequency": k,
                "initial_signal": runs["initial_signal"].mean(),
                **stats.share(*stats.counted(runs["survived"])).columns("rate"),
            }
