"""A study of 100 000 runs, and the overhead of a job."""

import re

import pytest
from conftest import config, experiment, output_of
from projects import children_seconds, start_seconds

from circlet import native
from circlet.storage import parquet
from circlet.study import planning
from circlet.training import job

LARGE = {
    "results": "results/large",
    "experiments": {
        "sweep": experiment(
            steps=1, block=50, seeds={"count": 500},
            sweep={"weight_decay": [round(0.001 * i, 3) for i in range(200)]},
        )
    },
    "reproduce": {"table1": "sweep"},
}  # fmt: skip


def said_and_starts(command):
    """Return the output of a command, and its CPU time in units of `start_seconds`."""
    before = children_seconds()
    done = command()
    spent = children_seconds() - before
    return done.stdout + done.stderr, spent / start_seconds()


# A small process in between, because a forked process begins with its parent's memory.
MEASURED = """
import resource, subprocess, sys

subprocess.run([sys.executable, "-m", "snakemake", *sys.argv[1:]], check=True)
print("kB:", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def fill(study):
    """Write logs of all blocks, as if they had run: the first block's, without rows for others."""
    first, *others = study.blocks
    job.run_block(first, "cpu")
    logs = {kind: (parquet.read(first.log(kind)), parquet.footer(first.log(kind)))
            for kind in first.point.logs}  # fmt: skip
    for block in others:
        point = block.point
        changes = {"spec": point.spec, "seeds": block.ends, "keys": point.labels,
                   "parameters": point.parameters}  # fmt: skip
        for kind, (table, footer) in logs.items():
            parquet.write(table.slice(0, 0), block.log(kind), footer | changes)


@pytest.mark.slow
def test_a_hundred_thousand_runs(empty_project, monkeypatch):
    """Snakemake and status each take less than half a minute, a dry run less than 1 GB.

    That is half a minute of a core that imports torch and pandas in two seconds. For planning alone
    see test_limits.py.
    """
    empty_project.write("config/large.yaml", LARGE)
    command = ("--configfile", "config/large.yaml")
    dry_run = ("--dry-run", "--profile", "profiles/local", *command)
    said, starts = said_and_starts(lambda: empty_project.run("-c", MEASURED, *dry_run))
    assert "constant_attention" in said
    assert starts < 15
    assert int(re.search(r"kB: (\d+)", said)[1]) < 1e6

    monkeypatch.chdir(empty_project.folder)
    fill(planning.plan(LARGE))
    said, starts = said_and_starts(
        lambda: empty_project.snakemake("logs", config="config/large.yaml")
    )
    assert "Nothing to be done" in said
    assert starts < 15
    said, starts = said_and_starts(lambda: empty_project.run("circlet", "status", *command))
    total = next(line for line in said.splitlines() if line.startswith("total"))
    assert total.split()[1:3] == ["100000", "100000"]
    assert starts < 15


def test_a_job_imports_nothing_that_it_does_not_need(tmp_path):
    """Importing any of these takes a tenth of a second or more, in every job."""
    study = planning.plan(config(tmp_path)).json
    unneeded = {"pandas", "matplotlib", "scipy", "sklearn", "torch._dynamo"}
    unneeded |= set() if native.missing() else {"torch"}
    code = (
        "import sys; from circlet.cli import main; main(sys.argv[1:]); "
        f"print(*({unneeded} & set(sys.modules)))"
    )
    assert output_of(code, "run", "--device", "cpu", "--study", study) == ""
