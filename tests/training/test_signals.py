"""When a block saves a checkpoint, and what ends it; test_checkpoints.py tests resuming."""

import os
import signal
import subprocess
import sys

import pytest
from conftest import TIMEOUT_S, config

from circlet import commands
from circlet.study import planning
from circlet.training import checkpoint


def test_checkpoints_get_rarer_as_a_block_gets_longer(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    kept = checkpoint.Checkpoint(tmp_path / "c.pt", "", [])
    saved = []
    for second in range(4000):
        now[0] = second
        if kept.due():
            kept.save([])
            saved.append(second)
    assert saved == [10, 20, 40, 80, 160, 320, 640, 1240, 1840, 2440, 3040, 3640]


@pytest.mark.parametrize("number", commands.SIGNALS)
def test_signals_wait_for_the_end_of_a_step(number):
    before = signal.getsignal(number)
    with commands.deferred_signals() as caught:
        os.kill(os.getpid(), number)
        assert caught == [number]
    assert signal.getsignal(number) == before


def test_a_signal_to_the_real_command(tmp_path):
    """SIGTERM ends the command with a checkpoint; run again, it resumes and says so."""
    study = planning.plan(config(tmp_path, system="particles", steps=5_000_000))
    command = [sys.executable, "-m", "circlet", "run", "--study", study.json]
    block = next(study.blocks)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert "% done" in process.stderr.readline()  # printed after five seconds
        process.terminate()
        said = process.communicate(timeout=TIMEOUT_S)[1]
    assert process.returncode == 128 + signal.SIGTERM
    assert said == (f"ended by SIGTERM: saved {block.checkpoint}, rerun the command to resume\n")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert "resumes at" in process.stderr.readline()
        process.kill()
    assert block.checkpoint.exists()
