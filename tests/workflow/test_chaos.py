"""A sweep whose processes are killed at random, again and again, ends with the same tables."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from test_workflow import TIMES

from circlet.study import planning, targets

KILLS = 12
SMALL = {"p": 13, "d": 24, "hidden": 16}
# Blocks long enough to be killed after a checkpoint, and blocks that start from others.
CONFIG = {
    "results": "results/chaos",
    "reproduce": {},
    "experiments": {
        "long": {"system": "constant_attention", "sweep": {"weight_decay": [0.6, 1]},
                 "steps": 3000, "block": 5, "seeds": {"count": 10}},
        "start": {"system": "embedding_mlp", "parameters": SMALL, "steps": 400, "block": 2,
                  "seeds": {"count": 4}, "log": {"parameters": {"every": 100}}},
        "kept": {"system": "embedding_mlp", "parameters": SMALL, "steps": 60, "block": 2,
                 "interventions": [{"keep": {"strongest": [1], "of": "start"}}],
                 "seeds": {"count": 4}},
    },
}  # fmt: skip
STUDY = planning.plan(CONFIG)
# These tables, and a few others, need all blocks.
MADE = ("outcome_summary", "survival")
TABLES = {t.name: t for made in targets.tables(STUDY) if made.name in MADE
          for t in targets.with_dependencies(made)}  # fmt: skip


class Sweep:
    """A study that Snakemake makes in a copy of the project, and all processes of it."""

    def __init__(self, project):
        self.project = project
        self.printed = project.folder / "said.txt"
        self.token = f"CIRCLET_CHAOS={os.getpid()}"  # in the environment of the processes
        project.write("config/chaos.yaml", CONFIG)
        # Checkpoints as often as in blocks of hours, relative to their length.
        file, usual = "src/circlet/training/checkpoint.py", "FIRST, MOST = 10.0, 600.0"
        project.edit(file, usual, "FIRST, MOST = 0.01, 0.02")

    def start(self):
        command = ["snakemake", *(f"table_{name}" for name in MADE), "--profile", "profiles/local",
                   "--cores", "2", "--configfile", "config/chaos.yaml"]  # fmt: skip
        with self.printed.open("a") as output:
            self.snakemake = self.project.begin(
                *command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def processes(self):
        """Return the ids of all processes, in order."""
        ids = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.token.encode() in (folder / "environ").read_bytes():
                    ids.append(int(folder.name))
        return sorted(ids)

    def victim(self, kills, chance):
        """Return whom to kill next: Snakemake in one of four cases, otherwise a job, if any runs.

        Chance may hit no job beyond its start, so some kills wait for a checkpoint.
        """
        if kills % 4 == 3:
            return self.snakemake.pid
        if kills % 4 == 1:
            return self.job_with_checkpoint()
        jobs = [process for process in self.processes() if process != self.snakemake.pid]
        return chance.choice(jobs) if jobs else None

    def job_with_checkpoint(self):
        """Return a training job that has saved a checkpoint; None if Snakemake ends before."""
        while self.snakemake.poll() is None:
            for process in self.processes():
                with contextlib.suppress(OSError, ValueError):
                    command = Path(f"/proc/{process}/cmdline").read_text().split("\0")
                    logs = command[command.index("--log") + 1].replace("job_logs/", "logs/")
                    folder = self.project.folder / logs.removesuffix(".log")
                    if command[3] == "run" and (folder / "checkpoint.pt").exists():
                        return process
            time.sleep(0.01)
        return None

    def go_on(self):
        """Start Snakemake again if it has ended; if the study is done, from its beginning."""
        if self.snakemake.poll() is None:
            return
        if self.snakemake.returncode == 0:
            while self.processes():  # until jobs of a killed Snakemake have ended
                time.sleep(0.1)
            shutil.rmtree(self.project.folder / "results")
        self.start()

    def finish(self):
        """Re-run until Snakemake succeeds: a plain re-run finishes, or says what prevents it."""
        self.snakemake.wait()
        for _ in range(3):
            self.start()
            if self.snakemake.wait() == 0:
                return
        raise AssertionError(self.printed.read_text()[-3000:])

    def end(self):
        for process in self.processes():
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        self.snakemake.wait()


def kill_at_random(sweep):
    """Kill Snakemake, its shells and its jobs; between kills there are only plain re-runs."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    start_seconds = time.monotonic() - began  # so far apart, some jobs get beyond their start
    chance, kills = random.Random(0), 0
    sweep.start()
    while kills < KILLS:
        time.sleep(chance.uniform(0, start_seconds))  # the time is random, too
        sweep.go_on()
        if victim := sweep.victim(kills, chance):
            with contextlib.suppress(OSError):
                os.kill(victim, signal.SIGKILL)
                kills += 1


@pytest.mark.slow
def test_killed_again_and_again(empty_project, tmp_path, monkeypatch):
    """If the study is done before all kills, it begins anew."""
    sweep = Sweep(empty_project)
    monkeypatch.setenv(*sweep.token.split("="))
    try:
        kill_at_random(sweep)
        sweep.finish()
    finally:
        sweep.end()
    printed = sweep.printed.read_text()
    assert "Traceback" not in printed and "resumes at" in printed
    jobs = empty_project.would_run("config/chaos.yaml").keys()
    assert len(TABLES) > 5 and not {f"table_{name}" for name in TABLES} & jobs
    clean = empty_project.copy(tmp_path / "clean")
    shutil.rmtree(clean.folder / "results")
    for command in ("run", "partial"):
        clean.run("circlet", command, "--configfile", "config/chaos.yaml")
    whole = STUDY.partial(STUDY.blocks)
    made = {target.name: target.outputs[0] for target in targets.tables(whole)}
    for name, table in TABLES.items():
        ours = pd.read_parquet(empty_project.folder / table.outputs[0])
        theirs = pd.read_parquet(clean.folder / made[name])
        columns = [column for column in ours.columns if column not in TIMES]
        pd.testing.assert_frame_equal(ours[columns], theirs[columns], obj=name)
