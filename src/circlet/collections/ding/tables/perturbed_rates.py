"""Table ``perturbed_rates``: survival of a frequency with scaled signal, by factor (figure 6)."""

from circlet.analysis import stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, FREQUENCY, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("perturbation",)
TABLES = ("survival",)
COLUMNS = [
    EXPERIMENT,
    column("embedding_seed", "int64", "seed of the initial embedding"),
    FREQUENCY,
    column("factor", "float64", "what its signal was multiplied by"),
    column("initial_signal", "float64", "its signal at step 0, scaled"),
    column("deviation", "float64", "that minus the mean of the other signals"),
    *estimate("rate", "share of runs in which it survives", "0..1"),
    *COUNTS,
]


def table(study: Study) -> Rows:
    """A row per embedding and factor."""
    survival = parquet.read_table(study, "survival", "perturbation")
    planned = {
        point.keys["scale_factor"]: point.count if "embedding" in point.fixed_seeds else 1
        for point in study.points
    }
    keys = ["embedding_seed", "scale_factor", "scale_frequency"]
    for (seed, factor, k), runs in survival.groupby(keys):
        scaled = runs[runs["frequency"] == k]
        signal = scaled["initial_signal"].mean()
        others = runs.loc[runs["frequency"] != k, "initial_signal"].mean()
        yield {
            "experiment": study.reproduce["perturbation"],
            "embedding_seed": seed,
            "frequency": k,
            "factor": factor,
            "initial_signal": signal,
            "deviation": signal - others,
            **stats.share(*stats.counted(scaled["survived"])).columns("rate"),
            "n_runs": len(scaled),
            "n_planned": planned[factor],
        }
