"""The benchmark: training speed of PyTorch, native kernels, and JAX."""

import importlib.metadata
import importlib.util
import logging
import os
import platform
from collections.abc import Callable
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


def compare(device: torch.device) -> dict[str, Any]:
    """Measure the same training in JAX and in circlet on one core, in three minutes.

    Returns ``machine`` and ``peers``, a row per system. Raises CircletError without JAX.
    """
    if device.type != "cpu":
        raise CircletError("bench --peers compares on one core of a CPU: leave out --device")
    if importlib.util.find_spec("jax") is None:
        raise CircletError("bench --peers needs JAX: pip install 'circlet[peers]'")
    about, cores = machine(device), os.sched_getaffinity(0)
    about["versions"]["jax"] = importlib.metadata.version("jax")
    os.sched_setaffinity(0, {max(cores)})
    try:
        return {"machine": about, "peers": _rows(load("circlet.bench.peers").measure)}
    finally:
        os.sched_setaffinity(0, cores)


def run(device: torch.device) -> dict[str, Any]:
    """Measure the training of all systems, in half a minute.

    Returns ``machine`` and ``training``, a row per system.
    """
    rows = _rows(lambda name: training.measure(name, training.ways(name, device), device))
    return {"machine": machine(device), "training": rows}


def _rows(measure: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    job.settle()
    settle_torch()
    rows = []
    for system in training.systems():
        rows.append(measure(system))
        log.info("%s: measured", system)
    return rows


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
