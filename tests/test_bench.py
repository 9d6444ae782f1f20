"""The benchmark measures what it says. How fast anything is, no test asks."""

import json
import time

import pytest
import torch
from conftest import config

from circlet import bench, cli
from circlet.bench import machine, pipeline, plain, training
from circlet.errors import CircletError
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
        for ms in (*row["ms"].values(), *row["cpu_ms"].values()):
            assert 0 < ms["min"] <= ms["median"] <= ms["max"]
        ours, theirs = (row["cpu_ms"][way]["median"] for way in ("circlet", "plain"))
        assert row["times_plain"] == pytest.approx(theirs / ours)
        assert row["cpu_seconds"]["circlet"] == pytest.approx(ours * row["steps"] / 1000)
        least = max(row["floor_ms"].values())
        assert row["times_floor"] == pytest.approx(row["ms"]["circlet"]["median"] / least)


def test_a_window_counts_runs_and_steps():
    """Two seconds of the clock for 10 runs of 4 steps are 50 ms per run and step."""
    waited = []

    def advance(until):
        time.sleep(max(0, until - time.perf_counter()))
        return 40

    found = training._window(advance, 0.2, lambda: waited.append(1))
    assert found.wall == pytest.approx(5, rel=0.2)
    assert found.cpu < 1  # it slept
    assert len(waited) == 2


def test_floor_of_embedding_mlp():
    """266 MFLOP in the layers of pairs, 9 more in the tables; 47 thousand values."""
    at_least = training.floor("embedding_mlp", {"flops": 1e11, "copied": 1e10})
    assert at_least["products"] == pytest.approx(2.75, rel=0.01)
    values = 59 * 128 + 100 * 257 + 100 * 101 + 59 * 101
    assert at_least["memory"] == pytest.approx(1000 * values * 6 * 4 / 1e10)


def test_floor_counts_products_alone_and_double_precision_twice():
    about = {"flops": 1e11, "copied": 1e10}
    # Two products of 153 x 2 by 2 x 153, in double precision.
    assert training.floor("particles", about)["products"] == pytest.approx(
        2 * 2 * 2 * 153**2 * 2 / 1e8
    )
    # 32 sequences: values by attention, both layers of the MLP, logits; three products each.
    one = 24 * 2 + 2 * 32 * 2 + 3 * 2
    assert training.floor("sparse_transformer", about)["products"] == pytest.approx(
        3 * 2 * 32 * one / 1e8
    )


def test_projection_scales_the_plan():
    """Half as fast as the plan expects: twice its time."""
    study = Study(config(steps=2000, block=10, seeds={"count": 50}, sweep={"weight_decay": [0, 1]}))
    case = training.block("constant_attention", 100)
    planned = 1000 * case.cpu_seconds / case.point.steps / 100
    row = {"system": "constant_attention", "all_cores_ms": 2 * planned}
    (found,) = bench.projected(study, [row, {"system": "particles"}])
    assert (found["runs"], found["run_steps"]) == (100, 200_000)
    expected = sum(block.cpu_seconds for block in study.blocks)
    assert found["hours"] == pytest.approx(2 * expected / 3600)


def test_shares_sum_to_one():
    found = training.shares("embedding_mlp", 0.05)
    assert sum(found.values()) == pytest.approx(1)
    assert found["products"] > found["optimiser"] > 0


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
    text = bench.text(measured)
    assert "constant_attention" in text
    assert "jobs of blocks" in text


def test_what_a_gpu_would_print(rows):
    spread = {"median": 0.0123, "min": 0.012, "max": 0.0131}
    of_gpu = [
        row | {"ms": row["ms"] | {"core": spread}, "times_core": 50.0, "peak_mb": 900.0}
        for row in rows
    ]
    about = machine.describe(CPU, seconds=0.01) | {"device": "GPU of a test"}
    text = bench.text({"machine": about, "training": of_gpu, "pipeline": [], "study": []})
    assert "GPU of a test" in text
    assert "0.0123 (0.0120 … 0.0131)" in text


def test_outside_of_the_project_the_dry_run_is_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "RUNS", 4)
    monkeypatch.setattr(pipeline, "BLOCK", 2)
    monkeypatch.setattr(pipeline, "_command", lambda *command: None)
    found = {row["what"]: row for row in pipeline.measure()}
    assert not any("dry run" in what for what in found)
    assert found["logs from Parquet"]["times"] == 2 * 5
    assert all(0 < row["seconds"]["min"] <= row["seconds"]["max"] for row in found.values())


def test_a_command_that_fails_is_one_line(tmp_path):
    with pytest.raises(CircletError, match=r"nonsense .*failed: error"):
        pipeline._command("circlet", "table", "nonsense", "--study", json.dumps(config(tmp_path)))
