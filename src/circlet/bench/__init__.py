"""The benchmark: training speed of PyTorch, native kernels, and JAX."""

import importlib.metadata
import importlib.util
import logging
import os
import platform
from typing import Any

import torch

from circlet import native
from circlet.bench import training
from circlet.bench.text import ratios, text
from circlet.errors import CircletError
from circlet.lazy_import import load
from circlet.storage import provenance
from circlet.study import measured
from circlet.training import job
from circlet.training.run import settle_torch

__all__ = ["compare", "ratios", "run", "text"]

log = logging.getLogger("circlet")

REPEATS, SECONDS = 5, 0.4
# More and shorter ones of peers: a ratio of two shortest times needs a quiet moment for each.
PEER_REPEATS, PEER_SECONDS = 15, 0.2


def compare(device: torch.device) -> dict[str, Any]:
    """Measure the same training in JAX and in circlet on one core, in three minutes.

    Returns ``machine`` and ``peers``, a row per system. Raises CircletError without JAX.
    """
    if device.type != "cpu":
        raise CircletError("bench --peers compares on one core of a CPU: leave out --device")
    if importlib.util.find_spec("jax") is None:
        raise CircletError("bench --peers needs JAX: pip install 'circlet[peers]'")
    job.settle()
    settle_torch()
    about, rows = machine(device), []
    for row in load("circlet.bench.peers").measure(training.systems(), PEER_REPEATS, PEER_SECONDS):
        log.info("%s: measured", row["system"])
        rows.append(row)
    about["versions"]["jax"] = importlib.metadata.version("jax")
    return {"machine": about, "peers": rows}


def run(device: torch.device) -> dict[str, Any]:
    """Measure the training of all systems, in half a minute.

    Returns ``machine`` and ``training``, a row per system.
    """
    job.settle()
    settle_torch()
    rows = []
    for row in training.measure(device, REPEATS, SECONDS):
        log.info("%s: measured", row["system"])
        rows.append(row)
    return {"machine": machine(device), "training": rows}


def machine(device: torch.device) -> dict[str, Any]:
    """Return the properties of the machine and the versions of packages."""
    cuda = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if cuda else device.type,
        "processor": measured.processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "kernels": native.instructions(),
        "no_kernels": native.missing(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": provenance.made_by()["versions"],
    }
