"""A sweep whose processes are killed at random, again and again, ends with the same tables."""

import collections
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


def processes(token):
    """Return the ids of all processes of this test: they have its token."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if token in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return sorted(found)


def with_checkpoint(token, folder, snakemake):
    """Return a training job that has saved a checkpoint; None if Snakemake ends before."""
    while snakemake.poll() is None:
        for process in processes(token):
            with contextlib.suppress(OSError, ValueError):
                said = Path(f"/proc/{process}/cmdline").read_text().split("\0")
                logs = said[said.index("--log") + 1].replace("job_logs/", "logs/")
                saved = folder / logs.removesuffix(".log") / "checkpoint.pt"
                if said[3] == "run" and saved.exists():
                    return process
        time.sleep(0.01)
    return None


@pytest.mark.slow
def test_killed_again_and_again(empty_project, tmp_path, monkeypatch):
    """Kill Snakemake, its shells and its jobs; between kills there are only plain re-runs.

    If the study is done before all kills, it begins anew.
    """
    # Checkpoints as often as in blocks of hours, relative to their length.
    empty_project.edit(
        "src/circlet/training/checkpoint.py",
        "FIRST, MOST = 10.0, 600.0",
        "FIRST, MOST = 0.01, 0.02",
    )
    chance = random.Random(0)
    token = f"CIRCLET_CHAOS={os.getpid()}"
    monkeypatch.setenv(*token.split("="))
    command = ["snakemake", *(f"table_{name}" for name in MADE), "--profile", "profiles/local",
               "--cores", "2", "--configfile", "config/chaos.yaml"]  # fmt: skip
    empty_project.write("config/chaos.yaml", CONFIG)
    said = empty_project.folder / "said.txt"

    def start():
        with said.open("a") as output:
            return empty_project.begin(
                *command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    # Kills are so far apart that some jobs get beyond their start.
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    start_seconds = time.monotonic() - began
    kills, victims = 0, collections.Counter()
    snakemake = start()
    try:
        while kills < KILLS:
            time.sleep(chance.uniform(0, start_seconds))  # the time is random, too
            if snakemake.poll() is not None:
                if snakemake.returncode == 0:
                    while processes(token.encode()):  # until jobs of a killed Snakemake have ended
                        time.sleep(0.1)
                    shutil.rmtree(empty_project.folder / "results")
                snakemake = start()
            # One victim in four is Snakemake, which needs a second to begin; the others are jobs.
            # Chance may hit no job beyond its start, so some kills wait for a checkpoint.
            alive = processes(token.encode())
            jobs = [process for process in alive if process != snakemake.pid]
            if kills % 4 == 3:
                victim = snakemake.pid
            elif kills % 4 == 1:
                victim = with_checkpoint(token.encode(), empty_project.folder, snakemake)
            else:
                victim = jobs and chance.choice(jobs)
            if victim:
                with contextlib.suppress(OSError):
                    os.kill(victim, signal.SIGKILL)
                    victims["Snakemake" if victim == snakemake.pid else "jobs"] += 1
                    kills += 1
        snakemake.wait()
        for _ in range(3):  # a plain re-run finishes, or says what prevents it
            snakemake = start()
            if snakemake.wait() == 0:
                break
        assert snakemake.returncode == 0, said.read_text()[-3000:]
    finally:
        for process in processes(token.encode()):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        snakemake.wait()
    assert min(victims["jobs"], victims["Snakemake"]) >= KILLS // 4
    assert "Traceback" not in said.read_text()
    jobs = empty_project.would_run("config/chaos.yaml").keys()
    assert not {f"table_{name}" for name in TABLES} & jobs
    assert "resumes at" in said.read_text()
    clean = empty_project.copy(tmp_path / "clean")
    shutil.rmtree(clean.folder / "results")
    for command in ("run", "partial"):
        clean.run("circlet", command, "--configfile", "config/chaos.yaml")
    whole = STUDY.partial(STUDY.blocks)
    made = {target.name: target.outputs[0] for target in targets.tables(whole)}
    for name, table in TABLES.items():
        ours = pd.read_parquet(empty_project.folder / table.outputs[0])
        theirs = pd.read_parquet(clean.folder / made[name])
        told = [name for name in ours.columns if name not in TIMES]
        pd.testing.assert_frame_equal(ours[told], theirs[told], obj=name)
