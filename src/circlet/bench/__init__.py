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
from circlet.study import cost, measured
from circlet.study.plan import Study
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


def run(study: Study, device: torch.device) -> dict[str, Any]:
    """Measure the training of all systems, in half a minute.

    Returns ``machine``; ``training``, a row per system; ``study``, the time that the training of
    the study takes at these rates.
    """
    job.settle()
    settle_torch()
    rows = []
    for row in training.measure(device, REPEATS, SECONDS):
        log.info("%s: measured", row["system"])
        rows.append(row)
    about = machine(device)
    return {"machine": about, "training": rows, "study": projected(study, rows, about["cores"])}


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


def projected(study: Study, rows: list[dict[str, Any]], cores: int) -> list[dict[str, Any]]:
    """Return the hours that the training of a study takes on this machine, by system.

    The plan's expectation for each point is scaled by measured / expected time at the point that
    was measured. On a CPU all cores train, each as fast as the one that was measured; on a GPU
    blocks are assumed to be as large as the measured one.
    """
    projections = []
    for row in rows:
        points = [point for point in study.points if point.system.name == row["system"]]
        if not points:
            continue
        expected = sum(cost.cpu_seconds(n) for point in points for n in point.blocks)
        case = training.block(row["system"], row["runs"])
        ms = row["ms"][row["circlet"]]["median"] / (1 if "times_core" in row else cores)
        scale = ms * case.point.steps * case.count / 1000 / cost.cpu_seconds(case)
        projections.append(
            {
                "system": row["system"],
                "runs": sum(point.count for point in points),
                "run_steps": sum(point.count * point.steps for point in points),
                "hours": expected * scale / 3600,
            }
        )
    return projections
