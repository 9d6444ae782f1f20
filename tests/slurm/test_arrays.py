"""Three faults of the SLURM plugin, for each of which `slurm-array-jobs` is off in profiles/slurm.

A test that passes says that its fault is mended. When all are, turn the key on.
"""

import functools

import cluster as slurm
import pytest
from sweep import ONE_FAILS, SHORT

from circlet.study import cost, planning

pytestmark = pytest.mark.slurm
pytest_plugins = ["slurm_fixtures"]

ARRAYS = ("--slurm-array-jobs", "all", "--latency-wait", "1", "--retries", "0")
PATIENT = 60  # seconds from the start of Snakemake's work to its first submission


class NotMended(Exception):
    """The plugin still has the fault."""


unless_mended = functools.partial(pytest.mark.xfail, strict=True, raises=NotMended)


@unless_mended(reason="issue 447: every task looks for the output of the first one")
def test_a_task_that_fails_leaves_the_others(sweep):
    sweep.break_one_point()
    sweep.study(mine=ONE_FAILS)
    sweep.start("table_runs", *ARRAYS).ends()
    if sweep.status()["done"] != 4:
        raise NotMended


@unless_mended(reason="issue 473: a batch that waits is dropped, and keeps its slots of --jobs")
def test_fewer_slots_than_jobs(sweep):
    sweep.study(short=SHORT | {"seeds": {"count": 8}})
    sweep.start("table_runs", *ARRAYS, "--jobs", "2")
    sweep.wait_for("results/.lock")
    try:
        slurm.wait(sweep.jobs, "a submitted job", PATIENT)
    except AssertionError:
        raise NotMended from None
    assert sweep.ends() == 0, sweep.said


@unless_mended(reason="all tasks get the memory, the time and the GPUs of the first one")
def test_tasks_get_their_own_memory(sweep):
    sweep.study(small=SHORT | {"seeds": {"count": 1}}, large=SHORT | {"block": 20_000,
                "seeds": {"count": 20_000}})  # fmt: skip
    small, large = sorted(map(cost.memory_mb, planning.plan(sweep.config).blocks))
    assert large > small + 100
    sweep.start("table_runs", *ARRAYS)

    def tasks():
        rows = slurm.output("squeue", "-h", "--array", "--states=all", "-o", "%m %Z").splitlines()
        mine = [row.split()[0] for row in rows if row.endswith(f" {sweep.project.folder}")]
        return mine if len(mine) == 2 else None

    if len(set(slurm.wait(tasks, "two tasks"))) == 1:
        raise NotMended
