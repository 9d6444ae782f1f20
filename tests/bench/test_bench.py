"""The benchmark measures what it says. No test requires a speed."""

import itertools
import json
import time

import pytest
import torch
from conftest import CPU, built

from circlet import bench, cli, native
from circlet.bench import training
from circlet.training import native_run

SYSTEMS = training.systems()


def uncovered(system):
    point = training.block(system, 1).point
    return native.uncovered(point.system.equations, point.settings.products, "cpu")


KERNELS = [system for system in SYSTEMS if not uncovered(system)]


def test_a_row_is_consistent():
    rows = list(training.measure(CPU, repeats=2, seconds=0.02))
    assert [row["system"] for row in rows] == SYSTEMS
    for row in rows:
        for ms in row["ms"].values():
            assert 0 < ms["min"] <= ms["median"] <= ms["max"]
        assert row["circlet"] == ("kernel" if row["system"] in KERNELS else "pytorch")


def test_the_command_measures_the_training_of_each_system(monkeypatch, capsys):
    monkeypatch.setattr(training, "systems", lambda: ["particles"])
    monkeypatch.setattr(bench, "SECONDS", 0.01)
    monkeypatch.setattr(bench, "REPEATS", 1)
    cli.main(["bench", "--json"])
    measured = json.loads(capsys.readouterr().out)
    assert [row["system"] for row in measured["training"]] == ["particles"]
    assert "\nparticles " in bench.text(measured)


def test_a_window_counts_runs_and_steps(monkeypatch):
    """Two seconds of the clock for 10 runs of 4 steps are 50 ms per run and step.

    Half of it is CPU time, which counts unless a GPU computes.
    """
    now, waited = [100.0], []
    monkeypatch.setattr(training.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(training.time, "process_time", lambda: now[0] / 2)

    def advance(until):
        now[0] = until
        return 40

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append(1))
    assert training.window(advance, 2) == 25 and not waited
    assert training.window(advance, 2, torch.device("cuda")) == 50
    assert len(waited) == 2


def at_once(monkeypatch):
    """Make every window a single call, whose result is the work done in it."""
    monkeypatch.setattr(training, "window", lambda advance, seconds, *_: advance(seconds))


def test_a_block_counts_the_runs_and_steps_of_a_window(monkeypatch):
    made = []

    def run_group(point, seeds, device):
        made.append(seeds)
        for number in itertools.count():
            passed.append(number)
            yield number

    passed = []  # each lasts a second
    monkeypatch.setattr(training.time, "perf_counter", lambda: len(passed))
    monkeypatch.setattr(training, "run_group", run_group)
    at_once(monkeypatch)
    runs = 50
    for system in SYSTEMS:
        together = training.block(system, runs).point.cpu_batch(runs)
        passed.clear()
        way = training.pytorch(system, runs, CPU)
        assert len(made[-1]) == together  # as in a job
        # Initial arrays are no step; a window ends with the step in which its time runs out.
        assert [way(6), way(0), way(10)] == [5 * together, together, 3 * together]
    assert len(made) == 6


@built
@pytest.mark.parametrize("system", KERNELS)
def test_a_kernel_counts_the_steps_of_a_window(monkeypatch, system):
    """The steps are of one run after another."""
    at_once(monkeypatch)
    monkeypatch.setattr(training, "STEPS", 100)
    made = []
    run = native_run.NativeRun
    monkeypatch.setattr(native_run, "NativeRun", lambda *of: made.append(run(*of)) or made[-1])
    way = training.kernel(system)
    done = sum(way(time.perf_counter() + 0.1) for _ in range(3))
    assert done == sum(one.done for one in made)
    assert [one.done for one in made[:-1]] == [100] * (len(made) - 1)


def a_machine(**changes):
    about = {
        "device": "cpu", "processor": "Z80", "cores": 2, "instructions": "AVX2",
        "python": "3.12.1", "versions": {"circlet": "0.1", "torch": "2.13", "pandas": None},
        "kernels": "avx2", "no_kernels": "",
    }  # fmt: skip
    return about | changes


def test_a_printed_row_has_its_figures_in_their_columns():
    """All numbers differ, so that columns cannot be confused."""
    ms = {"pytorch": 0.03, "kernel": 0.012}
    times = {way: {"median": m, "min": 0.9 * m, "max": 1.1 * m} for way, m in ms.items()}
    measured = {
        "machine": a_machine(),
        "training": [{"system": "some_network", "runs": 100, "together": 50, "ms": times}],
    }
    lines = bench.text(measured).splitlines()
    header, row = lines[4].split("  "), lines[6]
    columns = [column.strip() for column in header if column.strip()]
    assert columns == ["system", "runs", "PyTorch", "kernel"]
    assert row.split(None, 1)[1].strip() == ("50 of 100  30.0 (27.0 … 33.0)  12.0 (10.8 … 13.2)")
    assert lines[:2] == [
        "Z80, 2 cores, AVX2; Python 3.12.1, torch 2.13",
        "Native kernels: avx2.",
    ]
    missing = "the native kernels are not built: install"
    measured["machine"] = a_machine(kernels="", no_kernels=missing)
    assert bench.text(measured).splitlines()[1] == missing
