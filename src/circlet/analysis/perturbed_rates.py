"""Table ``perturbed_rates``: survival of a frequency that was scaled (figure 6 middle)."""

import pandas as pd

from circlet import io
from circlet.analysis import stats
from circlet.plan import Study

ROLES = ("perturbation",)
TABLES = ("survival",)


def table(study: Study) -> pd.DataFrame:
    """A row per embedding and factor."""
    survival = io.read_table(study, "survival", "perturbation")
    count = study.points[0].count
    rows = []
    keys = ["embedding_seed", "scale_factor", "scale_frequency"]
    for (seed, factor, k), runs in survival.groupby(keys):
        scaled = runs[runs["frequency"] == k]
        signal = scaled["initial_signal"].mean()
        others = runs.loc[runs["frequency"] != k, "initial_signal"].mean()
        rows.append(
            {
                "experiment": study.reproduce["perturbation"],
                "embedding_seed": seed,
                "frequency": k,
                "factor": factor,
                "initial_signal": signal,
                "deviation": signal - others,
                **stats.share(int(scaled["survived"].sum()), len(scaled)).columns("rate"),
                "n_runs": len(scaled),
                "n_planned": count,
            }
        )
    return pd.DataFrame(rows)
