"""Table ``survival_rates``: share of runs where a frequency survives, per embedding (figure 6).

A rate is over the runs that share an embedding and differ in network and split; survival is by rule
A.
"""

from circlet.analysis import stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, FREQUENCY, column, estimate
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


def table(study: Study) -> list[dict]:
    """A row per embedding and frequency."""
    survival = parquet.read_table(study, "survival", "initial_signals")
    planned = {
        point.fixed_seeds["embedding"]: point.count
        for point in study.points
        if "embedding" in point.fixed_seeds
    }
    return [
        {
            "experiment": study.reproduce["initial_signals"],
            "embedding_seed": seed,
            "frequency": k,
            "initial_signal": runs["initial_signal"].mean(),
            **stats.share(*stats.counted(runs["survived"])).columns("rate"),
            "n_runs": len(runs),
            "n_planned": planned.get(seed, 1),
        }
        for (seed, k), runs in survival.groupby(["embedding_seed", "frequency"])
    ]
