"""Each job has its own GPU; GPUs are faked, processes and locks are real."""

import contextlib
import json
import re

import pytest
import torch
from conftest import config

from circlet.errors import CircletError, Interrupted
from circlet.training import devices

# A fake torch needs no GPU and no seconds to import.
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
def job(two_gpus, begin):
    """Return a function that starts a job, which takes a GPU, prints it, and waits for a line."""
    return lambda: begin(JOB)


def says(job):
    return job.stdout.readline().strip()


@pytest.mark.parametrize(("shares", "visible"), [("1", "0,1"), ("2", "0")])
def test_a_third_job_waits_for_a_gpu_or_a_share_of_one(job, monkeypatch, shares, visible):
    monkeypatch.setenv("CIRCLET_GPU_SHARES", shares)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    gpus = visible.split(",")
    first, second = job(), job()
    taken = sorted([(says(first), first), (says(second), second)], key=lambda one: one[0])
    last = f"cuda:{gpus[-1]}"
    assert [device for device, _ in taken] == ["cuda:0", last]
    third = job()
    assert says(third) == f"waiting for one of {len(gpus)} GPUs, all are taken by other jobs"
    taken[1][1].stdin.write("\n")
    taken[1][1].stdin.flush()
    assert says(third) == last


def test_jobs_that_share_gpus_take_free_ones_first(job, monkeypatch):
    monkeypatch.setenv("CIRCLET_GPU_SHARES", "2")
    first, second = job(), job()
    assert {says(first), says(second)} == {"cuda:0", "cuda:1"}
    assert {says(job()), says(job())} == {"cuda:0", "cuda:1"}


@pytest.fixture
def two_gpus(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "device", lambda index: contextlib.nullcontext())
    return tmp_path


@pytest.mark.usefixtures("two_gpus")
def test_who_waits_for_a_gpu_can_be_told_to_end():
    with devices.claim("cuda"), devices.claim("cuda"), pytest.raises(Interrupted):
        devices.claim("cuda", [15]).__enter__()


def test_a_folder_of_locks_that_cannot_be_is_said(two_gpus, error_of):
    (two_gpus / "circlet").write_text("a file")
    said = error_of("run", "--device", "cuda", "--study", json.dumps(config()))
    assert said.count("\n") == 1
    assert said.startswith(f"error: {two_gpus}/circlet/locks/") and "cannot be written" in said


def test_a_disk_without_locks_is_said(two_gpus, monkeypatch):
    monkeypatch.setattr(devices.locks, "hold", lambda path: None)
    with pytest.raises(CircletError, match=f"{two_gpus}.*cannot be locked.* local disk"):
        devices.claim("cuda").__enter__()


def test_gpus_of_two_slurm_jobs_are_not_the_same(job, monkeypatch):
    """In each job, the device that SLURM gave it is the first."""
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


def test_without_a_gpu_it_is_the_cpu_or_said(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for wanted in ("cpu", "auto"):
        with devices.claim(wanted) as device:
            assert device == "cpu"
    with pytest.raises(CircletError, match="no GPU"), devices.claim("cuda"):
        pass


def test_profiles_give_gpus_to_the_blocks_that_are_worth_it(empty_project):
    network = "{system: embedding_mlp, block: 2, seeds: {count: 2}, steps: "
    (empty_project.folder / "config/config.yaml").write_text(
        f"results: r\nexperiments:\n  a: {network}100}}\n  b: {network}100000}}\n"
    )
    command = ("snakemake", "--dry-run", "--quiet", "host", "--profile", "profiles/gpu")
    said = empty_project.run(*command).stdout
    requests = [re.findall(r"\b(?:gpu|device)=\w+", line) for line in said.splitlines()]
    requests = [", ".join(pairs) for pairs in requests if pairs]
    assert sorted(requests) == ["device=cpu", "gpu=1, device=cuda"]
