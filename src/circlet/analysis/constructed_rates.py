"""Table ``constructed_rates``: survival in embeddings made of two frequencies (figure 6 right).

Which two were drawn is seen at step 0: they have the largest signals. At a ratio of 1 neither is
the first, so the two are taken by frequency.
"""

import pandas as pd

from circlet import io
from circlet.analysis import stats
from circlet.plan import Study

ROLES = ("construction",)
TABLES = ("survival",)


def outcomes(survival: pd.DataFrame) -> pd.DataFrame:
    """A row per run: ratio, seed, and whether the first, the second and any other survive."""
    rows = []
    for _, run in survival.groupby("run_id"):
        # Rounded, as at equal sizes the order of float32 signals means nothing.
        ranked = run.assign(size=-run["initial_signal"].round(2)).sort_values(["size", "frequency"])
        alive = ranked["survived"].to_numpy(bool)
        ratio, seed = run["construct_ratio"].iloc[0], run["seed"].iloc[0]
        rows.append((ratio, seed, *alive[:2], alive[2:].any()))
    return pd.DataFrame(rows, columns=["ratio", "seed", "first", "second", "revived"])


def table(study: Study) -> pd.DataFrame:
    """A row per ratio."""
    experiment = study.reproduce["construction"]
    count = study.points[0].count
    rows = []
    for ratio, runs in outcomes(io.read_table(study, "survival", "construction")).groupby("ratio"):
        row = {"experiment": experiment, "ratio": ratio}
        for name in ("first", "second", "revived"):
            row |= stats.share(int(runs[name].sum()), len(runs)).columns(name)
        rows.append(row | {"n_runs": len(runs), "n_planned": count})
    return pd.DataFrame(rows)
