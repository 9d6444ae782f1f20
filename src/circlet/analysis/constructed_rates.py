"""Table ``constructed_rates``: survival in embeddings made of two frequencies (figure 6 right).

Which two were drawn is seen at step 0: they have the largest signals.
"""

import pandas as pd

from circlet import io
from circlet.analysis import stats
from circlet.plan import Study

ROLES = ("construction",)
TABLES = ("survival",)


def outcome(run: pd.DataFrame) -> tuple[bool, bool, bool]:
    """Whether the first, the second and any other frequency of one run survive."""
    ranked = run.sort_values("initial_signal", ascending=False)["survived"].to_numpy(bool)
    return ranked[0], ranked[1], ranked[2:].any()


def table(study: Study) -> pd.DataFrame:
    """A row per ratio."""
    survival = io.read_table(study, "survival", "construction")
    rows = []
    for ratio, runs in survival.groupby("construct_ratio"):
        outcomes = [outcome(run) for _, run in runs.groupby("run_id")]
        row = {"ratio": ratio}
        for name, alive in zip(("first", "second", "revived"), zip(*outcomes, strict=True),
                               strict=True):  # fmt: skip
            row |= stats.share(sum(alive), len(alive)).columns(name)
        count = study.points[0].settings["seeds"]["count"]
        rows.append(row | {"n_runs": len(outcomes), "n_planned": count})
    return pd.DataFrame(rows)
