"""Each job has a GPU of its own; the GPUs are only pretended, the processes and locks are real."""

import contextlib
import errno
import json
import os
import re
import stat
import subprocess
import sys

import pytest
import torch
from conftest import config

from circlet import cli
from circlet.errors import CircletError, Interrupted
from circlet.study import cost
from circlet.study.plan import Study
from circlet.training import devices

# What is asked of torch takes no GPU, and no seconds of importing torch.
JOB = """
import contextlib, logging, sys, types

made_current = []
cuda = types.SimpleNamespace(
    is_available=lambda: True, device_count=lambda: 2,
    device=lambda index: contextlib.nullcontext(made_current.append(index)),
)
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
from circlet.training import devices

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
with devices.claim("cuda") as device:
    assert device == f"cuda:{made_current[0]}"
    print(device, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Start a job that takes a GPU, says which, and ends when it is told to."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", JOB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def says(job):
    return job.stdout.readline().strip()


def test_jobs_take_different_gpus(job):
    assert {says(job()), says(job())} == {"cuda:0", "cuda:1"}


def test_a_third_job_waits_for_a_gpu(job):
    first, second = job(), job()
    held = {says(first): first, says(second): second}
    third = job()
    assert says(third) == "waiting for one of 2 GPUs, all are taken by other jobs"
    held["cuda:1"].stdin.write("\n")
    held["cuda:1"].stdin.flush()
    assert says(third) == "cuda:1"


def test_a_killed_job_gives_its_gpu_back(job):
    first, second = job(), job()
    held = {says(first): first, says(second): second}
    held["cuda:0"].kill()
    held["cuda:0"].wait()
    assert says(job()) == "cuda:0"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Two GPUs are pretended; the temporary folder, where locks are without a session of a user."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(devices.tempfile, "tempdir", None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(devices, "SYSTEMD", tmp_path / "run", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "device", lambda index: contextlib.nullcontext())
    return tmp_path


@pytest.fixture
def folder(temporary):
    """The folder of locks in the temporary folder, as yet missing."""
    return temporary / f"circlet-{os.getuid()}"


def refusal(capsys):
    """The one line with which a job on a GPU ends."""
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", "--device", "cuda", "--study", json.dumps(config())])
    said = capsys.readouterr().err
    assert stop.value.code == 1, said
    (line,) = said.splitlines()
    assert line.startswith("error: ")
    return line


def test_who_waits_for_a_gpu_can_be_told_to_end(temporary):
    with devices.claim("cuda"), devices.claim("cuda"), pytest.raises(Interrupted):
        devices.claim("cuda", [15]).__enter__()


def test_locks_are_for_their_user_alone_and_keep_what_is_in_them(folder):
    folder.mkdir(mode=0o700)
    (folder / "gpu-0.lock").write_text("not ours to delete")
    with devices.claim("cuda"):
        pass
    assert (folder / "gpu-0.lock").read_text() == "not ours to delete"
    assert stat.S_IMODE((folder / "gpu-1.lock").stat().st_mode) == 0o600


def test_a_new_folder_of_locks_is_for_its_user_alone(folder):
    with devices.claim("cuda"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {path.name for path in folder.iterdir()} == {"gpu-0.lock", "gpu-1.lock"}


def test_a_link_in_the_place_of_a_lock_is_not_followed(folder, tmp_path, capsys):
    precious = tmp_path / "precious"
    precious.write_text("a thesis")
    folder.mkdir(mode=0o700)
    (folder / "gpu-0.lock").symlink_to(precious)
    (folder / "gpu-1.lock").symlink_to(tmp_path / "new")
    line = refusal(capsys)
    assert f"{folder}/gpu-0.lock" in line
    assert "symbolic link; delete it" in line
    assert precious.read_text() == "a thesis"
    assert not (tmp_path / "new").exists()


def test_a_link_in_the_place_of_the_folder_is_not_followed(folder, tmp_path, capsys):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)
    line = refusal(capsys)
    assert f"{folder}: " in line
    assert "symbolic link or a file" in line
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_a_lock_must_be_a_regular_file(folder, capsys, kind):
    folder.mkdir(mode=0o700)
    lock = folder / "gpu-1.lock"
    lock.mkdir() if kind == "folder" else os.mkfifo(lock)
    line = refusal(capsys)
    assert f"{lock}: " in line
    assert "delete it" in line


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_a_folder_of_locks_that_others_may_write_to_is_refused(folder, capsys, mode):
    folder.mkdir()
    folder.chmod(mode)
    line = refusal(capsys)
    assert f"{folder}: " in line
    assert "other users may write to it; delete it" in line
    assert not list(folder.iterdir())


def test_a_folder_of_locks_of_another_user_is_refused(temporary, monkeypatch, capsys):
    owner = os.getuid()
    monkeypatch.setattr(devices.os, "getuid", lambda: owner + 1)
    folder = temporary / f"circlet-{owner + 1}"
    folder.mkdir(mode=0o700)
    line = refusal(capsys)
    assert f"{folder}: " in line
    assert f"another user (id {owner}); ask them to delete it, or set XDG_RUNTIME_DIR" in line
    assert not list(folder.iterdir())


def test_a_file_in_the_place_of_the_folder_of_locks_is_said(folder, capsys):
    folder.write_text("")
    assert f"{folder}: " in refusal(capsys)


def test_a_missing_temporary_folder_is_said(temporary, monkeypatch, capsys):
    def missing():
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(devices.tempfile, "gettempdir", missing)
    assert "No usable temporary directory found; set XDG_RUNTIME_DIR" in refusal(capsys)
    monkeypatch.setattr(devices.tempfile, "gettempdir", lambda: str(temporary / "gone"))
    assert "cannot be made" in refusal(capsys)


def test_a_disk_without_locks_is_said(folder, monkeypatch, capsys):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(devices.fcntl, "flock", flock)
    line = refusal(capsys)
    assert f"{folder}/gpu-0.lock: cannot be locked: No locks available" in line
    assert "local disk" in line


def test_every_job_of_a_user_finds_the_same_folder_of_locks(temporary, folder, monkeypatch):
    assert devices.lock_folder() == folder
    # As SLURM hands on that of the login node, or as it must not be.
    for wrong in (str(temporary / "another machine"), "", "."):
        monkeypatch.setenv("XDG_RUNTIME_DIR", wrong)
        assert devices.lock_folder() == folder
    session = temporary / "run" / str(os.getuid())
    session.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    assert devices.lock_folder() == session / "circlet"
    monkeypatch.delenv("XDG_RUNTIME_DIR")  # as in a job of cron
    assert devices.lock_folder() == session / "circlet"
    own = temporary / "own"
    own.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(own))
    assert devices.lock_folder() == own / "circlet"
    # That of another user, as after `su`.
    user = os.getuid() + 1
    monkeypatch.setattr(devices.os, "getuid", lambda: user)
    assert devices.lock_folder() == temporary / f"circlet-{user}"


def test_gpus_of_two_slurm_jobs_are_not_the_same(job, monkeypatch):
    """Each job sees the device that SLURM gave it as its first."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    assert says(job()) == "cuda:0"
    monkeypatch.setenv("SLURM_JOB_ID", "2")
    assert says(job()) == "cuda:0"


def test_gpus_have_the_names_that_the_machine_knows(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-5a")
    assert devices.visible() == ["3", "GPU-5a"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert devices.visible() == ["0", "1"]


@pytest.mark.parametrize("wanted", ["cpu", "auto"])
def test_without_a_gpu_it_is_the_cpu(monkeypatch, wanted):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with devices.claim(wanted) as device:
        assert device == "cpu"


def test_a_missing_gpu_is_said(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(CircletError, match="no GPU"), devices.claim("cuda"):
        pass


def test_a_gpu_is_worth_its_start_for_minutes_of_work():
    short, long = (
        next(Study.of(config(system="embedding_mlp", steps=steps, block=2)).blocks)
        for steps in (1000, 100_000)
    )
    assert (cost.gpus(short), cost.gpus(long)) == (0, 1)
    assert cost.memory_mb(long, on_gpu=True) > cost.memory_mb(long)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--profile", "profiles/local"], ["gpu=0, device=cpu", "gpu=0, device=cpu"]),
        (["--profile", "profiles/gpu"], ["gpu=0, device=cpu", "gpu=1, device=cuda"]),
        (["--profile", "profiles/gpu", "--resources", "gpu=0"], 2 * ["gpu=0, device=cpu"]),
    ],
)
def test_profiles_give_gpus_to_the_blocks_that_are_worth_it(empty_project, arguments, expected):
    network = "{system: embedding_mlp, block: 2, seeds: {count: 2}, steps: "
    (empty_project.folder / "config/config.yaml").write_text(
        f"results: r\nexperiments:\n  a: {network}100}}\n  b: {network}100000}}\n"
    )
    said = empty_project.run("snakemake", "--dry-run", "--quiet", "host", *arguments).stdout
    found = [re.findall(r"\b(?:gpu|device)=\w+", line) for line in said.splitlines()]
    found = [", ".join(pairs) for pairs in found if len(pairs) == 2]
    assert sorted(found) == expected
