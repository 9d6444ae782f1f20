"""Table ``precision``: the circles that an arithmetic loses against float64, seed by seed."""

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa

from circlet.storage import parquet
from circlet.storage.schema import RUN, SEEDS, column
from circlet.study.plan import Study

ROLES = ("precision",)
TABLES = ("survival", "losses", "runs")
COLUMNS = [
    RUN,
    *SEEDS,
    column("arithmetic", pa.string(), "dtype and residual, as float32 exact"),
    column("n_circles", pa.int32(), "rule A"),
    column("lost", pa.int32(), "circles of the float64 run of the same seed that died"),
    column("gained", pa.int32(), "circles that the float64 run has not"),
    column("late_spike", pa.float64(), "largest train loss in the last third", "nat"),
    column("train_loss", pa.float64(), "at the last step", "nat"),
    column("test_loss", pa.float64(), "at the last step", "nat"),
    column("seconds", pa.float64(), "computing time", "s"),
]


def arithmetic(run: pd.Series) -> str:
    """Name of a run's arithmetic, from its dtype and residual."""
    return f"{run['dtype']} {run['residual']}"


def table(study: Study) -> Iterator[dict]:
    """A row per finished run; lost and gained are null where the float64 run is missing."""
    survival = parquet.read_table(study, "survival", "precision")
    alive = {
        run_id: set(rows.loc[rows["survived"], "frequency"])
        for run_id, rows in survival.groupby("run_id")
    }
    runs = parquet.read_table(study, "runs", "precision").set_index("run_id")
    runs = runs.loc[[run_id for run_id in runs.index if run_id in alive]]
    runs["arithmetic"] = runs.apply(arithmetic, axis=1) if len(runs) else []
    seeds = survival.groupby("run_id")["seed"].first()
    seed = [seeds[run_id] for run_id in runs.index]
    exact = runs["arithmetic"] == "float64 exact"
    reference = {s: alive[r] for r, s, e in zip(runs.index, seed, exact, strict=True) if e}
    losses = parquet.read_table(study, "losses", "precision")
    late = losses[losses["step"] >= losses["step"].max() * 2 / 3]
    spikes = late.groupby("run_id")["train_loss"].max()
    for (run_id, run), s in zip(runs.iterrows(), seed, strict=True):
        known = reference.get(s)
        yield {
            "run_id": run_id,
            "arithmetic": run["arithmetic"],
            "n_circles": len(alive[run_id]),
            "lost": None if known is None else len(known - alive[run_id]),
            "gained": None if known is None else len(alive[run_id] - known),
            "late_spike": spikes.get(run_id),
            "train_loss": run["train_loss"],
            "test_loss": run["test_loss"],
            "seconds": run["seconds"],
        }
