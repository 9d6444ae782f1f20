import pandas as pd

from circlet.collections.findings.tables import precision
from circlet.storage import parquet


def test_circles_are_lost_and_gained_against_the_float64_run_of_the_seed(monkeypatch):
    """Seed 1 has no float64 run, and seed 2 has no finished run."""
    alive = {"a": (0, "float64", [2, 3]), "b": (0, "float32", [3, 4, 5]), "c": (1, "float32", [])}
    survival = [
        {"run_id": run_id, "seed": seed, "frequency": k, "survived": k in circles}
        for run_id, (seed, _, circles) in alive.items()
        for k in range(1, 6)
    ]
    runs = pd.DataFrame({"run_id": list("dcba"), "residual": "exact", "seconds": 1.0})
    runs["dtype"] = ["float64", *(alive[run_id][1] for run_id in "cba")]
    runs["products"] = ["float32", "tf32", "float32", "float32"]
    losses = [{"run_id": "b", "step": s, "train_loss": 1.0 / (s + 1)} for s in (0, 60, 70, 90)]
    tables = {
        "survival": pd.DataFrame(survival),
        "runs": runs.assign(train_loss=0.5, test_loss=0.25),
        "losses": pd.DataFrame(losses),
    }
    monkeypatch.setattr(parquet, "read_table", lambda study, name, role: tables[name])
    table = pd.DataFrame(list(precision.table(None))).set_index("run_id")
    assert table["arithmetic"].to_dict() == {
        "a": "float64 exact",
        "b": "float32 exact",
        "c": "float32 exact, tf32 products",
    }
    assert table["n_circles"].to_dict() == {"a": 2, "b": 3, "c": 0}
    assert (table.loc["a", "lost"], table.loc["a", "gained"]) == (0, 0)
    assert (table.loc["b", "lost"], table.loc["b", "gained"]) == (1, 2)
    assert table.loc["c", ["lost", "gained"]].isna().all()
    assert table.loc["b", "late_spike"] == 1 / 61
    assert table.loc["a", "test_loss"] == 0.25
