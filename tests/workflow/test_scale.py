"""A study of 100 000 runs, and what a job costs beside its work."""

import re
import subprocess
import sys

import pytest
import yaml
from conftest import children_seconds, config, experiment, start_seconds

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


@pytest.fixture
def large(empty_project):
    (empty_project.folder / "config/large.yaml").write_text(yaml.safe_dump(LARGE))
    return empty_project


def said_and_starts(command):
    """What a command says, and its CPU time in starts of this machine."""
    before = children_seconds()
    done = command()
    spent = children_seconds() - before
    return done.stdout + done.stderr, spent / start_seconds()


# A small process between: what is forked begins with the memory of its parent.
MEASURED = """
import resource, subprocess, sys

subprocess.run([sys.executable, "-m", "snakemake", *sys.argv[1:]], check=True)
print("kB:", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def fill(study):
    """Logs of all blocks, as if they had run: those of the first one, without its rows."""
    first, *others = study.blocks
    job.run_block(first, "cpu")
    logs = {kind: (parquet.read(first.log(kind)), parquet.footer(first.log(kind)))
            for kind in first.point.logs}  # fmt: skip
    for block in others:
        own = {"spec": block.point.spec, "seeds": block.ends, "keys": block.point.labels}
        for kind, (table, footer) in logs.items():
            parquet.write(table.slice(0, 0), block.log(kind), footer | own)


@pytest.mark.slow
def test_a_hundred_thousand_runs(large, monkeypatch):
    """Planned, and looked at by Snakemake, in less than half a minute and a gigabyte each time.

    Half a minute of one core, where it starts torch and pandas in two seconds.
    """
    command = ("--configfile", "config/large.yaml")
    plan, starts = said_and_starts(lambda: large.run("circlet", "plan", *command))
    assert "100000" in plan
    assert starts < 15
    dry_run = ("--dry-run", "--profile", "profiles/local", *command)
    said, starts = said_and_starts(lambda: large.run("-c", MEASURED, *dry_run))
    assert "constant_attention" in said
    assert starts < 15
    assert int(re.search(r"kB: (\d+)", said)[1]) < 1e6

    monkeypatch.chdir(large.folder)
    fill(planning.plan(LARGE))
    said, starts = said_and_starts(lambda: large.snakemake("logs", config="config/large.yaml"))
    assert "Nothing to be done" in said
    assert starts < 15
    said, starts = said_and_starts(lambda: large.run("circlet", "status", *command))
    total = next(line for line in said.splitlines() if line.startswith("total"))
    assert total.split()[1:3] == ["100000", "100000"]
    assert starts < 15


@pytest.mark.slow
def test_a_job_costs_little_beside_its_work(empty_project):
    """About a second of one core, counted in starts.

    It was one when this was written, and Snakemake alone a tenth of that.
    """

    def measure(jobs):
        study = {"results": f"results/{jobs}", "experiments": {
            "e": experiment(steps=200, block=20, seeds={"count": 20 * jobs}),
        }}  # fmt: skip
        (empty_project.folder / "config/jobs.yaml").write_text(yaml.safe_dump(study))
        before = children_seconds()
        empty_project.snakemake("logs", "--cores", "1", config="config/jobs.yaml")
        spent = children_seconds() - before
        paths = empty_project.folder.glob(f"results/{jobs}/logs/**/runs.parquet")
        return spent - sum(parquet.footer(path)["seconds"] for path in paths)

    more = (measure(6) - measure(1)) / 5
    assert more < 3 * start_seconds()


def test_a_job_imports_nothing_that_it_does_not_need(tmp_path):
    """Each of these takes a tenth of a second or more to import, in every job."""
    study = planning.plan(config(tmp_path)).json
    code = (
        "import sys; from circlet.cli import main; main(sys.argv[1:]); "
        "print(*(m for m in ('pandas', 'matplotlib', 'scipy', 'sklearn', 'torch._dynamo') "
        "if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "--study", study],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == ""
