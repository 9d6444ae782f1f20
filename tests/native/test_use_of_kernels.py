"""When kernels are used, what they cost, and what is said if they are not."""

import os
import shutil
import subprocess
import sys
import time

import pytest
from conftest import SYSTEMS, built, config, point_of

from circlet import native, terminal
from circlet.errors import CircletError
from circlet.storage import parquet
from circlet.study import measured, planning, user_cache
from circlet.training import job, native_run


@built
def test_unknown_instructions_are_an_error(monkeypatch):
    monkeypatch.setenv("CIRCLET_INSTRUCTIONS", "avx3")
    with pytest.raises(CircletError, match="'avx3', and must be one of avx512, avx2, plain"):
        native.library.__wrapped__()


def test_without_kernels_it_is_said_and_pytorch_trains(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(native, "library", lambda: None)
    study = planning.plan(config(tmp_path))
    line = "the native kernels are not built: install a C++ compiler, and then circlet again"
    assert line in terminal.plan(study)
    with caplog.at_level("INFO"):
        job.run_block(next(study.blocks), "cpu")
    assert line in caplog.text
    assert (parquet.read_log(next(study.blocks), "runs")["status"] == "finished").all()


@built
def test_kernels_older_than_their_source_are_not_used(tmp_path, monkeypatch):
    """After `git pull`, for example, they would compute the results of another version."""
    shutil.copytree(native.SOURCES, tmp_path / "kernels")
    monkeypatch.setattr(native, "SOURCES", tmp_path / "kernels")
    assert native.path_of("plain") is not None
    later = time.time() + 120
    os.utime(tmp_path / "kernels/engine.hpp", (later, later))
    assert native.path_of("plain") is None


@built
def test_it_is_said_what_no_kernel_covers():
    equations = SYSTEMS["particles"].equations
    assert native.uncovered(equations, "float32", "cpu") == ""
    assert native.uncovered(equations, "float32", "cuda:0") == "kernels are for CPUs"
    assert native.uncovered(equations, "tf32", "cpu") == "kernels do not round products to tf32"
    assert native.uncovered("circlet.native", "float32", "cpu") == "native has no kernel"


def test_a_job_of_a_cluster_uses_the_costs_that_it_was_planned_with(monkeypatch, tmp_path):
    """This holds on other processors, too, because the plan has decided whether it has a GPU."""
    monkeypatch.setenv("CIRCLET_COSTS", str(tmp_path))
    assert measured.folder.__wrapped__() == tmp_path


@built
def test_the_time_of_a_kernel_is_measured_once(monkeypatch, tmp_path):
    """The time of steps of minutes follows from a small network; larger test sets take longer."""
    monkeypatch.setattr(measured, "folder", lambda: tmp_path / "cache")
    user_cache.kept.cache_clear()
    point, other, large = (
        point_of(tmp_path, system="embedding_mlp", parameters=changes)
        for changes in ({"p": 7}, {"p": 7, "weight_decay": 1.0}, {"p": 509, "hidden": 2000})
    )
    costs = measured.of_kernel(point)
    assert costs.records.keys() == set(point.logs[1:])
    assert 0 < costs.step < 0.1
    timed = []
    monkeypatch.setattr(native_run, "timed", lambda p: timed.append(p) or (1.0, {}))
    assert measured.of_kernel(point) == measured.of_kernel(other) == costs
    assert measured.of_kernel(large).step > 1000
    assert [p.parameters["p"] for p in timed] == [59]
    for n_test in (64, 128, 64):
        changes = {"n_test": n_test}
        measured.of_kernel(point_of(tmp_path, system="sparse_transformer", parameters=changes))
    assert [p.parameters["n_test"] for p in timed[1:]] == [64, 128]
    (tmp_path / "cache/embedding_mlp.json").write_text("{")
    user_cache.kept.cache_clear()
    assert measured.of_kernel(point).step == 1.0  # measured again
    monkeypatch.setattr(native, "uncovered", lambda *_: "not asked for")
    assert measured.of_kernel(point) is None
    user_cache.kept.cache_clear()


@built
def test_a_run_that_is_too_large_for_the_memory_is_refused(tmp_path):
    """It gives one line, not an abort, in a process that may take only 256 MB more than it has."""
    study = planning.plan(config(tmp_path, parameters={"d": 10**6}))
    code = (
        "import resource, sys; from circlet import cli, native; native.library()\n"
        "from circlet.training import native_run\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "most = pages * resource.getpagesize() + 2**28\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "cli.main(['run', '--device', 'cpu', '--study', sys.argv[1]])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, study.json], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "not enough memory for 2 runs" in done.stderr
