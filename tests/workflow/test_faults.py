"""Faults around a run give one clear line and a non-zero exit, and leave no half-written file."""

import os
import subprocess
import sys

import pytest
import yaml
from conftest import SYSTEMS, config, mounted
from test_workflow import STUDY

from circlet.storage import locks
from circlet.study import planning


def fails(project, *command, config="config/smoke.yaml"):
    """Return the output of a command that must fail without a traceback."""
    done = project.snakemake(*command, config=config, check=False)
    text = done.stdout + done.stderr
    assert done.returncode != 0, text
    assert "Traceback" not in text
    return text


def test_snakemake_says_what_is_bad_in_one_line(empty_project):
    """Snakemake itself would accept a duplicate key."""
    old, new = "  alignment:\n    system", "  weight_decay:\n    system"
    empty_project.edit("config/smoke.yaml", old, new)
    done = empty_project.snakemake("-n", check=False)
    [line] = [line for line in done.stderr.splitlines() if not line.startswith("Using")]
    assert done.returncode == 1 and done.stdout == ""
    assert "is given twice" in line and "config/smoke.yaml" in line


def test_a_truncated_log_is_named_and_mended(project):
    block = next(STUDY.blocks)
    path = project.folder / block.log("embeddings")
    path.write_bytes(path.read_bytes()[:1000])
    status = project.run("circlet", "status", "--configfile", "config/smoke.yaml").stdout
    assert f"damaged: delete {block.log('runs').parent}" in status
    text = fails(project, "table_structures")
    assert f"{block.log('embeddings')}: is damaged" in text
    assert "delete it and run again" in text
    path.unlink()
    project.snakemake("table_structures")
    assert not {"table_structures", *SYSTEMS} & set(project.would_run())


def test_a_log_on_a_full_disk_hides_no_error():
    command = ["circlet", "run", "--log", "/dev/full", "--study", "nowhere.json"]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "error: --study: nowhere.json: there is no such file\n"


@pytest.mark.slow
def test_a_failing_block_does_not_stop_the_others(empty_project):
    """The folder of one point, with one block, is on a separate disk, which is full.

    The block that did not fit says why and leaves nothing.
    """
    path, own = "config/mine.yaml", config("results/mine", sweep={"weight_decay": [0, 0.5, 1]})
    (empty_project.folder / path).write_text(yaml.safe_dump(own))
    _, block, _ = planning.plan(own).blocks
    folder = empty_project.folder / block.log("runs").parents[1]
    folder.parent.mkdir(parents=True)
    with mounted(folder, "size=4k"):
        text = fails(empty_project, "tables", config=path)
        assert f"error: {block.log('runs').parent}" in text
        assert "No space left on device" in text
        assert not empty_project.half_written()
        status = empty_project.run("circlet", "status", "--configfile", path).stdout
        assert "failed: see results/mine/job_logs" in status
        assert len(list(empty_project.folder.glob("results/mine/logs/**/runs.parquet"))) == 2
    empty_project.snakemake("logs", config=path)
    assert not set(SYSTEMS) & set(empty_project.would_run(path))


@pytest.mark.slow
def test_two_runs_at_once(empty_project):
    with locks.lock(empty_project.folder / "results/smoke"):
        text = fails(empty_project)
    assert f"another Snakemake works on results/smoke (process {os.getpid()} on" in text
    assert not list(empty_project.folder.glob("results/smoke/job_logs/**/*.log"))
