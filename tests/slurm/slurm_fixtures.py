"""Fixtures of all tests on a real SLURM."""

import os
import tempfile
import time
from pathlib import Path

import cluster as slurm
import pytest
from conftest import planned
from projects import project_copy, start_seconds
from sweep import SHORT, Sweep

from circlet.storage import parquet
from circlet.training import job


@pytest.fixture(scope="session")
def cluster():
    if os.getuid() != 0:
        pytest.fail("a SLURM of one's own needs root")
    slurm.install()
    # Not pytest's folder, which only root may enter: munged and nodes must enter this one.
    with tempfile.TemporaryDirectory(prefix="circlet-slurm-") as folder:
        daemons = slurm.Cluster(Path(folder))
        try:
            daemons.start()
            yield daemons
        finally:
            daemons.stop()


@pytest.fixture
def sweep(cluster, tmp_path):
    sweep = Sweep(project_copy(tmp_path / "project"))
    yield sweep
    if sweep.process and sweep.process.poll() is None:
        sweep.kill()
    for number in sweep.jobs():
        slurm.output("scancel", "--signal=KILL", "--full", number)
        slurm.output("scancel", number)
    sweep.idle()
    sweep.end_strays()


def made_here(folder, experiment):
    """Train a block in this process; return the block and the seconds."""
    block = next(planned(folder, long=experiment).blocks)
    started = time.process_time()
    job.run_block(block, "cpu")
    return block, time.process_time() - started


@pytest.fixture(scope="session")
def two(tmp_path_factory):
    """Two runs in a block that saves a checkpoint after ten seconds and lasts several starts."""
    two, steps = SHORT | {"seeds": {"count": 2}, "block": 2}, 1_000_000
    two |= {"log": {"signals": {"every": 100_000}}}
    _, seconds = made_here(tmp_path_factory.mktemp("paced"), two | {"steps": steps})
    return two | {"steps": round(max(15, 8 * start_seconds()) / seconds * steps)}


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory, two):
    """Final embeddings of a block of two long runs, trained in this process."""
    block, _ = made_here(tmp_path_factory.mktemp("undisturbed"), two)
    return parquet.read_log(block, "embeddings")
