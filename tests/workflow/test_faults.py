"""Faults around a run give one clear line and a non-zero exit, and leave no half-written file."""

import subprocess

import pytest
from conftest import SYSTEMS, TIMEOUT_S, mounted, wait
from test_workflow import STUDY, edited


def fails(project, *command):
    """Return the output of a command that must fail without a traceback."""
    done = project.snakemake(*command, check=False)
    text = done.stdout + done.stderr
    assert done.returncode != 0, text
    assert "Traceback" not in text
    return text


@pytest.fixture
def half_project(empty_project):
    """A project without results, and a part of the smoke study: seven blocks of two systems."""
    edited(empty_project, only_a_part)
    return empty_project


def only_a_part(study):
    study["experiments"] = {name: study["experiments"][name] for name in PART}
    study |= {"reproduce": {"table1": "weight_decay"}, "figures": [], "derived_metrics": []}


PART = ("weight_decay", "decay_scan", "alignment")
SMOKE = ("--profile", "profiles/local", "--configfile", "config/smoke.yaml")
HALF = STUDY.subset(PART)


def test_snakemake_says_what_is_bad_in_one_line(empty_project):
    """This includes values that Snakemake might understand differently."""
    twice = ("  alignment:\n    system", "  weight_decay:\n    system")
    empty_project.edit("config/smoke.yaml", *twice)
    done = empty_project.snakemake("-n", check=False)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Using")]
    assert done.returncode == 1 and done.stdout == ""
    assert len(lines) == 1, lines
    assert "is given twice" in lines[0] and "config/smoke.yaml" in lines[0]


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_failing_block_does_not_stop_the_others(half_project):
    """The folder of one point, with one block, is on a separate disk, which is full.

    The block that does not fit says why and leaves nothing.
    """
    block = HALF.experiment("decay_scan")[0].blocks[0]
    folder = half_project.folder / block.log("runs").parents[1]
    folder.parent.mkdir(parents=True)
    with mounted(folder, "size=4k"):
        text = fails(half_project, "tables")
        assert f"error: {block.log('runs').parent}" in text
        assert "No space left on device" in text
        assert not half_project.half_written()
        status = half_project.run("circlet", "status", "--configfile", "config/smoke.yaml").stdout
        assert "failed: see results/smoke/job_logs" in status
        done = list(half_project.folder.glob("results/smoke/logs/**/runs.parquet"))
        assert len(done) == sum(1 for _ in HALF.blocks) - 1
    half_project.snakemake("logs")
    assert not set(SYSTEMS) & set(half_project.would_run())


@pytest.mark.slow
def test_two_runs_at_once(half_project):
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    first = half_project.begin("snakemake", "table_structures", *SMOKE, **silent)
    try:
        wait(lambda: list(half_project.folder.glob("results/smoke/job_logs/**/*.log")))
        text = fails(half_project)
        assert "another Snakemake works on results/smoke (process " in text
        assert first.wait(timeout=TIMEOUT_S) == 0
    finally:
        first.kill()
    assert "table_structures" not in half_project.would_run()
