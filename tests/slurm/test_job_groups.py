"""Short blocks of several points in one SLURM job."""

import cluster as slurm
import pandas as pd
import pytest
from sweep import ONE_FAILS, SHORT, TRAINING

from circlet.study import cost, planning

pytestmark = pytest.mark.slurm
pytest_plugins = ["slurm_fixtures"]

KEEP = ("--slurm-keep-successful-logs",)


def submissions(sweep):
    return sweep.find(".snakemake/slurm_logs/**/*.log")


def test_many_short_blocks_are_few_jobs(sweep, tmp_path):
    """Six blocks of two points are two jobs, each with the memory of one block, on one core."""
    sweep.study(long=SHORT | {"parameters": {}, "sweep": {"p": [5, 7]}})
    sweep.start("table_embeddings", "--group-components", "short=3", *KEEP)
    first = slurm.wait(lambda: next(iter(sweep.jobs()), None), "a submitted job")
    blocks = list(planning.plan(sweep.config).blocks)
    limit = 3 * cost.minutes(blocks[0], is_grouped=True)
    asked = slurm.output("squeue", "-h", "-o", "%m %M %l %C", "-j", first).split()
    assert asked[0] == f"{max(map(cost.memory_mb, blocks)) + 500}M"
    assert asked[2:] == [f"{limit}:00", "1"]
    assert sweep.ends() == 0, sweep.said
    assert len(submissions(sweep)) == 2
    assert not sweep.find("results/.kept")
    pd.testing.assert_frame_equal(sweep.embeddings(), sweep.here(tmp_path))
    assert sweep.start("table_embeddings").ends() == 0
    assert "Nothing to be done" in sweep.said


def test_a_failing_block_in_a_group(sweep):
    """The others are there when all tries have failed, and are not trained again after the fix."""
    whole = (sweep.project.folder / TRAINING).read_text()
    sweep.break_one_point()
    sweep.study(mine=ONE_FAILS)
    arguments = ("table_outcome_summary", "--retries", "1", "--group-components", "short=10", *KEEP)
    assert sweep.start(*arguments).ends() != 0
    assert len(submissions(sweep)) == 2
    failed = "mine/p17_d2_train_fraction-0.25_wd0/00000-00001"
    assert f"1 failed:\n  {failed}: broken on purpose (log: results" in sweep.said
    assert "4 of 6 runs are done" in sweep.said and "Traceback" not in sweep.said
    status = sweep.status()
    assert (status["planned"], status["done"], status["failed"]) == (6, 4, 2)
    made = {path: path.stat().st_ino for path in sweep.find("results/logs/**/*.parquet")}
    (sweep.project.folder / TRAINING).write_text(whole)
    assert sweep.start(*arguments).ends() == 0, sweep.said
    assert {path: path.stat().st_ino for path in made} == made
    assert sweep.status()["done"] == 6
