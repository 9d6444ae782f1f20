"""The benchmark measures what it says. How fast anything is, no test asks."""

import json

import pytest
import torch
from conftest import config

from circlet import bench, cli, view
from circlet.bench import machine, pipeline, plain, training
from circlet.plan import Study
from circlet.source import SYSTEMS

CPU = torch.device("cpu")


def test_every_system_has_a_plain_loop_and_a_case():
    assert set(plain.MAKERS) == set(training.CASES) == set(SYSTEMS)


def test_rates_are_those_of_a_processor():
    about = machine.describe(CPU, seconds=0.05)
    assert 1e9 < about["torch_flops"] < 1e13
    assert 1e9 < about["flops"] < 1e13
    assert 1e8 < about["copied"] < 1e12
    assert about["versions"]["torch"] == torch.__version__


@pytest.fixture(scope="module")
def rows():
    about = {"flops": 1e11, "copied": 1e10}
    return list(training.measure(list(SYSTEMS), CPU, about, repeats=2, seconds=0.02))


def test_a_row_is_consistent(rows):
    assert [row["system"] for row in rows] == list(SYSTEMS)
    for row in rows:
        for ms in row["ms"].values():
            assert 0 < ms["min"] <= ms["median"] <= ms["max"]
        ours, theirs = row["ms"]["circlet"]["median"], row["ms"]["plain"]["median"]
        assert row["times_plain"] == pytest.approx(theirs / ours)
        assert row["times_floor"] == pytest.approx(ours / row["floor_ms"])
        assert row["seconds_a_run"] == pytest.approx(ours * row["steps"] / 1000)


def test_floor_of_embedding_mlp():
    """266 MFLOP in the layers of pairs, 9 more in the tables; 47 thousand values."""
    at_least = training.floor("embedding_mlp", {"flops": 1e11, "copied": 1e10})
    assert at_least["products"] == pytest.approx(2.75e-3, rel=0.01)
    values = 59 * 128 + 100 * 257 + 100 * 101 + 59 * 101
    assert at_least["memory"] == pytest.approx(values * 6 * 4 / 1e10)


def test_floor_counts_double_precision_twice():
    slow = training.floor("particles", {"flops": 1e11, "copied": 1e10})["products"]
    case = training.block("particles", 1, 1).point
    assert slow == pytest.approx(2 * case.evaluate("FLOPS_PER_STEP") / 1e11)


def test_projection_goes_by_points():
    study = Study(
        config(
            steps=2000,
            block=10,
            seeds={"count": 50},
            sweep={"weight_decay": [0, 1]},
        )
    )
    row = {"system": "constant_attention", "all_cores_ms": 0.01, "ms": None}
    (found,) = bench.projected(study, [row, {"system": "particles"}])
    assert (found["runs"], found["run_steps"]) == (100, 200_000)
    assert found["hours"] == pytest.approx(200_000 * 0.01 / 3.6e6)


@pytest.mark.slow
def test_the_command(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "SECONDS", 0.02)
    monkeypatch.setattr(bench, "REPEATS", 1)
    cli.main(["bench", "--json"])
    measured = json.loads(capsys.readouterr().out)
    assert {row["what"] for row in measured["pipeline"]} >= {"plan", "tables", "figures", "report"}
    for row in measured["training"]:
        assert row["all_cores_ms"] > 0
        assert 50 < row["peak_mb"] < 2000
    text = view.bench(measured)
    assert "constant_attention" in text
    assert "start of jobs" in text


def test_what_a_gpu_would_print(rows):
    spread = {"median": 0.0123, "min": 0.012, "max": 0.0131}
    of_gpu = [
        row | {"ms": row["ms"] | {"cpu": spread}, "times_cpu": 50.0, "peak_mb": 900.0}
        for row in rows
    ]
    about = machine.describe(CPU, seconds=0.01) | {"device": "GPU of a test"}
    text = view.bench({"machine": about, "training": of_gpu, "pipeline": [], "study": []})
    assert "GPU of a test" in text
    assert "0.0123 (0.0120 … 0.0131)" in text


def test_outside_of_the_project_the_dry_run_is_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "RUNS", 4)
    monkeypatch.setattr(pipeline, "BLOCK", 2)
    monkeypatch.setattr(pipeline, "_command", lambda *command: 1.0)
    found = {row["what"]: row for row in pipeline.measure()}
    assert not any("dry run" in what for what in found)
    assert found["logs from Parquet"]["times"] == 2 * 5
    assert all(row["seconds"] > 0 for row in found.values())
