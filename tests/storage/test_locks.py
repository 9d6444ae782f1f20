"""One Snakemake per results folder, one job per block."""

import contextlib
import errno
import json
import os
import subprocess
import sys

import filelock
import pytest
from conftest import TIMEOUT_S, config

from circlet import cli, terminal
from circlet.errors import Interrupted
from circlet.storage import locks, parquet
from circlet.study import planning
from circlet.training import devices, job


def no_locks(*_, **__):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_one_snakemake_at_a_time_works_on_some_results(tmp_path):
    first = locks.lock(tmp_path / "results")
    said = rf"another Snakemake .* \(process {os.getpid()} on "
    with pytest.raises(SystemExit, match=said) as end:
        locks.lock(tmp_path / "results")
    assert end.value.code.startswith("error: ")
    other = locks.lock(tmp_path / "other")  # another study
    first.release()
    locks.lock(tmp_path / "results").release()
    other.release()


def test_a_file_system_without_locks_is_no_obstacle(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(filelock.FileLock, "acquire", no_locks)
    assert locks.lock(tmp_path) is None
    assert "does not support file locks" in capsys.readouterr().err


def test_results_that_cannot_be_written_are_one_line(tmp_path):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(SystemExit, match=r"^error: .*cannot be written"):
        locks.lock(tmp_path / "results")


@pytest.fixture
def block(tmp_path):
    return next(planning.plan(config(tmp_path / "results", steps=40)).blocks)


ORPHAN = """
import json, sys
from circlet.study import planning
from circlet.training import job

block = next(planning.plan(json.loads(sys.argv[1])).blocks)

def progress(done, steps):
    if done == 20:
        print("begun", flush=True)
        sys.stdin.readline()

job.run_block(block, "cpu", progress)
"""


@pytest.fixture
def orphan(block, begin):
    """A process that has run the block to its middle, and goes on when it reads a line."""
    process = begin(ORPHAN, block.json)
    assert process.stdout.readline() == "begun\n"
    return process


def second(block):
    """Start a process for the same block; return it when it waits for the first."""
    command = [sys.executable, "-m", "circlet", "run", "--device", "cpu", "--study", block.json]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said = process.stderr.readline()
    assert said.startswith("e/p17_d2_wd0/00000-00001: already runs (process ")
    assert str(block.log("runs").with_name(".lock")) in said
    return process


def test_a_block_that_runs_already_is_waited_for_and_not_run_again(block, orphan):
    """For example the job of a killed Snakemake, while the next Snakemake starts the same block."""
    with second(block) as process:
        orphan.stdin.write("\n")
        orphan.stdin.flush()
        said = process.communicate(timeout=TIMEOUT_S)[1]
    assert said == "e/p17_d2_wd0/00000-00001: done by another process meanwhile\n"
    assert process.returncode == 0
    names = {path.name for path in block.log("runs").parent.iterdir()}
    assert names == {".lock", *(path.name for path in block.logs)}


def test_a_block_whose_first_job_dies_is_run_by_the_second(block, orphan):
    with second(block) as process:
        orphan.kill()
        said = process.communicate(timeout=TIMEOUT_S)[1]
    assert "2 runs of 40 steps" in said
    assert not parquet.differing(block)


def test_who_waits_for_a_block_can_be_told_to_end(block):
    """The message names the lock file, in case its holder is on a machine that has failed."""
    path = block.log("runs").with_name(".lock")
    with locks.block_lock(block), pytest.raises(Interrupted) as stop:
        job.run_block(block, "cpu", None, [15])
    said = f"ended by SIGTERM: {stop.value.saved}\n"
    assert said.endswith(f"if that is gone, delete {path}\n")
    block.job_log.parent.mkdir(parents=True)
    block.job_log.write_text(said)
    failures = terminal.failures(planning.plan(json.loads(block.json)), "my.yaml")
    assert f"if that is gone, delete {path} (log: {block.job_log})" in failures
    assert "checkpoints" not in failures
    assert "killed" not in failures


def test_logs_of_other_code_are_not_taken_for_those_of_the_other_process(block, monkeypatch):
    job.run_block(block, "cpu")
    assert job._is_done(block)
    block.log("signals").write_bytes(b"")
    assert not job._is_done(block)
    job.run_block(block, "cpu")
    monkeypatch.setattr(job.fingerprint, "digest", lambda *_, **_k: "other")
    assert not job._is_done(block)


def test_what_a_killed_job_left_half_written_is_removed(block):
    folder = block.log("runs").parent
    folder.mkdir(parents=True)
    left = [".runs.1a2b3c4d.parquet", ".checkpoint.00ff00ff.pt"]
    kept = [".mine", "notes.1a2b3c4d.parquet", ".runs.old.parquet"]
    for name in left + kept:
        (folder / name).write_text("x")
    job.run_block(block, "cpu")
    names = {path.name for path in folder.iterdir()}
    assert names == {path.name for path in block.logs} | {*kept, ".lock"}


def test_without_locks_nothing_is_removed_and_nobody_waits(block, monkeypatch):
    monkeypatch.setattr(filelock.FileLock, "acquire", no_locks)
    folder = block.log("runs").parent
    folder.mkdir(parents=True)
    (folder / ".runs.1a2b3c4d.parquet").write_text("of a job that may still run")
    with locks.block_lock(block):
        job.run_block(block, "cpu")
    assert (folder / ".runs.1a2b3c4d.parquet").exists()
    assert not parquet.differing(block)


def test_a_block_that_was_finished_while_its_gpu_was_waited_for_is_not_run_again(
    block, monkeypatch, capsys
):
    @contextlib.contextmanager
    def claim(*_):
        """Get the GPU when another job has finished the block."""
        job.run_block(block, "cpu")
        yield "cpu"

    monkeypatch.setattr(devices, "claim", claim)
    cli.main(["run", "--device", "cuda", "--study", block.json])
    said = capsys.readouterr().err
    assert said == "e/p17_d2_wd0/00000-00001: done by another process meanwhile\n"


def test_a_finished_block_that_is_asked_for_runs_again(block):
    """As documented for `circlet run`, only blocks finished meanwhile by others are skipped."""
    for _ in range(2):
        seen = []
        job.run_block(block, "cpu", lambda done, _, seen=seen: seen.append(done))
        assert seen[-1] in (40, 80)  # for two runs together, or one after another


def test_a_deleted_lock_lets_the_next_one_in(block):
    """The message recommends deleting it if the other machine has failed."""
    with locks.block_lock(block):
        block.log("runs").with_name(".lock").unlink()
        job.run_block(block, "cpu")
