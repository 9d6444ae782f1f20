import pandas as pd

from circlet.collections.odonnat import run_list
from circlet.storage import parquet


def test_outcomes_of_transformers(monkeypatch):
    """Heads are judged at p = 2, clusters at any other p."""
    cases = {
        (True, 2, True, True): "success, head",
        (True, 2, False, True): "success, head lost",
        (False, 2, False, False): "failure, no head",
        (True, 3, None, True): "success, clusters",
        (False, 3, None, False): "failure, no clusters",
    }
    frame = pd.DataFrame(list(cases), columns=["success", "p", "head_present", "clustered"])
    frame["head_present"] = frame["head_present"].astype("boolean")
    frame["run_id"] = [f"e/x/s{i}" for i in range(len(frame))]
    frame["experiment"] = ["e", "e", "e", "f", "g"]
    frame = frame.assign(drop_step=1, structure_step=[1, 2, None, 4, 5], fit_step=[6, 7, 8, 9, 10])
    frame = frame.assign(steps_per_epoch=1, test_accuracy=[0.999, 0.99, 0.5, 0.99, 0.7])
    spikes = pd.DataFrame(
        {
            "experiment": "e",
            "run_id": frame["run_id"][1:3],
            "amplifier": "feed_forward",
            "height": [3.0, 5.0],
            "before": 8,
            "step": 9,
        }
    )
    tables = {"heads": frame, "spikes": spikes}
    monkeypatch.setattr(parquet, "read_table", lambda study, name: tables[name])
    runs = run_list.runs(None)
    assert runs["run_id"].tolist() == frame["run_id"].tolist()
    assert runs["outcome"].tolist() == list(cases.values())
    assert runs["structure_step"].dropna().tolist() == [1, 2, 4, 5]
    assert runs["moments"][2] == [
        {"step": 1, "text": "loss leaves chance"},
        {"step": 8, "text": "fits"},
        {"step": 9, "text": "loss spike"},
    ]
    # For each experiment the run of the two phases, the best, and the highest spike.
    assert runs["named"].tolist() == [True, False, True, True, True]
