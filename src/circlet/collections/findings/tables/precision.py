"""Table ``precision``: circles that each run loses or gains in lower precision."""

from circlet.storage import parquet
from circlet.storage.schema import RUN_SEEDS, Rows, column
from circlet.study.plan import Study

ROLES = ("precision",)
TABLES = ("survival", "losses", "runs")
COLUMNS = [
    *RUN_SEEDS,
    column("arithmetic", "string", "dtype, residual and products, as float32 exact, tf32 products"),
    column("n_circles", "int32", "rule A"),
    column("lost", "int32", "circles of the float64 run of the same seed that died"),
    column("gained", "int32", "circles that the float64 run has not"),
    column("late_spike", "float64", "largest train loss in the last third", "nat"),
    column("train_loss", "float64", "at the last step", "nat"),
    column("test_loss", "float64", "at the last step", "nat"),
    column("seconds", "float64", "CPU time; on a GPU, time by the clock", "s"),
]


def table(study: Study) -> Rows:
    """A row per finished run; lost and gained are null where the float64 run is missing."""
    survival = parquet.read_table(study, "survival", "precision")
    by_run = survival.groupby("run_id")
    alive = {name: set(rows.loc[rows["survived"], "frequency"]) for name, rows in by_run}
    runs = parquet.read_table(study, "runs", "precision").set_index("run_id")
    runs = runs.join(by_run["seed"].first(), how="inner")
    runs["arithmetic"] = runs["dtype"] + " " + runs["residual"]
    rounded = runs["products"] != "float32"
    runs.loc[rounded, "arithmetic"] += ", " + runs["products"] + " products"
    exact = runs.loc[runs["arithmetic"] == "float64 exact", "seed"]
    reference = {seed: alive[run_id] for run_id, seed in exact.items()}
    losses = parquet.read_table(study, "losses", "precision")
    late = losses[losses["step"] >= losses["step"].max() * 2 / 3]
    spikes = late.groupby("run_id")["train_loss"].max()
    for run_id, run in runs.iterrows():
        reference_circles = reference.get(run["seed"])
        yield {
            "run_id": run_id,
            "n_circles": len(alive[run_id]),
            "lost": None if reference_circles is None else len(reference_circles - alive[run_id]),
            "gained": None if reference_circles is None else len(alive[run_id] - reference_circles),
            "late_spike": spikes.get(run_id),
            **run[["arithmetic", "train_loss", "test_loss", "seconds"]],
        }
