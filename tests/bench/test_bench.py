"""The benchmark measures what it says. No test requires a speed."""

import json
from types import SimpleNamespace

import pytest
import torch
from conftest import built

from circlet import bench, cli, native
from circlet.bench import training
from circlet.training import native_run

SYSTEMS = training.systems()


def uncovered(system):
    point = training.point(system, 1)
    return native.uncovered(point.system.equations, point.settings.products, "cpu")


KERNELS = [system for system in SYSTEMS if not uncovered(system)]


@pytest.fixture(autouse=True)
def few_windows(monkeypatch):
    monkeypatch.setattr(training, "REPEATS", 2)
    monkeypatch.setattr(training, "SECONDS", 0.02)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_row_is_consistent(system):
    row = training.measure(system, training.ways(system))
    assert row["system"] == system
    assert [*row["ms"]] == ["pytorch"] + ["kernel"] * (system in KERNELS)
    for ms in row["ms"].values():
        assert 0 < ms["min"] <= ms["median"] <= ms["max"]
    assert row["groups"].get("kernel", 1) == 1


def test_ways_take_turns_and_of_a_kind_the_fastest_counts(monkeypatch):
    """Each window has another time; the first one of each way is to warm up."""
    taken = []
    times = {("a", 1): iter([0, 9, 8]), ("a", 2): iter([0, 7, 11]), ("b", 1): iter([0, 5, 6])}
    monkeypatch.setattr(training, "window", lambda way, *_: taken.append(way) or next(times[way]))
    row = training.measure("some_network", {way: way for way in times})
    assert taken == 3 * [*times]
    assert row["groups"] == {"a": 2, "b": 1}
    assert row["ms"]["a"] == {"median": 9, "min": 7, "max": 11}
    assert row["ms"]["b"] == {"median": 5.5, "min": 5, "max": 6}


def test_the_command_measures_the_training_of_each_system(monkeypatch, capsys):
    monkeypatch.setattr(training, "systems", lambda: ["particles"])
    cli.main(["bench", "--json"])
    measured = json.loads(capsys.readouterr().out)
    assert [row["system"] for row in measured["training"]] == ["particles"]
    assert "\nparticles " in bench.text(measured)


def test_a_window_counts_runs_and_steps(monkeypatch):
    """Two seconds of the clock for 10 runs of 4 steps are 50 ms per run and step.

    Half of it is CPU time, which counts unless a GPU computes. A window ends with the step in which
    its time runs out, and the initial arrays (0 steps) do not end it.
    """
    now, waited = [100.0], []
    monkeypatch.setattr(training.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(training.time, "process_time", lambda: now[0] / 2)

    def step():
        now[0] += 0.5
        return 10

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append(1))
    assert training.window(step, 2) == training.window(step, 1.9) == 25 and not waited
    assert training.window(step, 2, torch.device("cuda")) == 50
    assert len(waited) == 2
    initial = iter([0, 10])
    assert training.window(lambda: next(initial), 0) == 0 and not [*initial]


def test_a_block_counts_the_runs_and_steps_of_a_group(monkeypatch):
    """Initial arrays are no step; after the last step, the next group is trained."""
    made = []

    def run_group(point, seeds, device):
        made.append(seeds)
        yield from (SimpleNamespace(done=done) for done in (0, 1, 2))

    monkeypatch.setattr(training, "run_group", run_group)
    for system in SYSTEMS:
        together = training.point(system, 50).cpu_batch(50)
        made.clear()
        act = training.ways(system)["pytorch", together]
        assert [act() for _ in range(5)] == [0, together, together, 0, together]
        assert made == [[*range(together)], [*range(together, 2 * together)]]  # as in a job


@built
@pytest.mark.parametrize("system", KERNELS)
def test_a_kernel_counts_the_steps_of_one_run_after_another(monkeypatch, system):
    monkeypatch.setattr(training, "STEPS", 100)
    made = []
    run = native_run.NativeRun
    monkeypatch.setattr(native_run, "NativeRun", lambda *of: made.append(run(*of)) or made[-1])
    act = training.ways(system)["kernel", 1]
    done = 0
    while len(made) < 4:
        done += act()
    assert done == 300
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
    row = {"system": "some_network", "ms": times, "groups": {"pytorch": 50, "kernel": 1}}
    measured = {"machine": a_machine(), "training": [row]}
    lines = bench.text(measured).splitlines()
    header, row = lines[4].split("  "), lines[6]
    columns = [column.strip() for column in header if column.strip()]
    assert columns == ["system", "PyTorch", "kernel", "times PyTorch"]
    assert row.split(None, 1)[1].strip() == ("27 (50)  10.8 (1)            2.5")
    assert lines[:2] == [
        "Z80, 2 cores, AVX2; Python 3.12.1, torch 2.13",
        "Native kernels: avx2.",
    ]
    missing = "the native kernels are not built: install"
    measured["machine"] = a_machine(kernels="", no_kernels=missing)
    assert bench.text(measured).splitlines()[1] == missing
