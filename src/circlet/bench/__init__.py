"""The benchmark: training speed compared with the plain loop and with a lower bound."""

import importlib.metadata
import importlib.util
import logging
from typing import Any

import torch

from circlet.bench import machine, pipeline, plain, training
from circlet.bench.text import beaten_floors, ratios, text
from circlet.errors import CircletError
from circlet.lazy_import import load
from circlet.study import cost
from circlet.study.plan import Study
from circlet.training import job

__all__ = ["compare", "ratios", "run", "text"]

log = logging.getLogger("circlet")

REPEATS, SECONDS = 5, 0.4


def compare(device: torch.device) -> dict[str, Any]:
    """Measure the same training in JAX and here, on one core; three minutes.

    Returns ``machine`` and ``peers``, a row per system. Raises CircletError without JAX.
    """
    if device.type != "cpu":
        raise CircletError("bench --peers compares on one core of a CPU: leave out --device")
    if importlib.util.find_spec("jax") is None:
        raise CircletError("bench --peers needs JAX: pip install 'circlet[peers]'")
    about, rows = _settled(device), []
    for row in load("circlet.bench.peers").measure(sorted(plain.systems()), REPEATS, SECONDS):
        log.info("%s: measured", row["system"])
        rows.append(row)
    about["versions"]["jax"] = importlib.metadata.version("jax")
    return {"machine": about, "peers": rows}


def _settled(device: torch.device) -> dict[str, Any]:
    """The machine, for a process that computes as a job does."""
    job.settle()
    torch.set_num_threads(1)
    log.info("what the machine can do (close what else runs on it) ...")
    return machine.describe(device)


def run(study: Study, device: torch.device, training_only: bool = False) -> dict[str, Any]:
    """Measure everything, or training only; under two minutes.

    Raises CircletError at once if a package is missing that the pipeline needs.

    Returns ``machine``; ``training``, a row per system; ``pipeline``, a row per part, empty if it
    is left out; ``study``, the time that the training of the study takes at these rates;
    ``warnings``, a line that names systems whose training was faster than their lower bound, if
    any.
    """
    if not training_only:
        pipeline.check_packages()
    about = _settled(device)
    rows, systems = [], sorted(plain.systems())
    for row in training.measure(systems, device, about, REPEATS, SECONDS):
        log.info("%s: measured", row["system"])
        rows.append(row)
    if device.type == "cpu":
        log.info("what the time goes to ...")
        for row in rows:
            row["shares"] = training.shares(row["system"], SECONDS)
        log.info("all %d cores at once, half a minute ...", about["cores"])
        busy = training.all_cores(systems, about["cores"], 4 * SECONDS)
        for row in rows:
            own = busy[row["system"]]
            row |= {"all_cores_ms": own["ms"], "all_cores_cpu_ms": own["cpu_ms"]}
            row |= {"had": own["had"], "peak_mb": own["peak_mb"]}
    parts = []
    if not training_only:
        log.info("the pipeline around it, half a minute ...")
        parts = list(pipeline.measure())
    return {
        "machine": about,
        "training": rows,
        "pipeline": parts,
        "study": projected(study, rows),
        "warnings": beaten_floors(rows),
    }


def projected(study: Study, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hours that the training of a study takes here, by system, from the plan's expectation.

    The plan's expectation for each point is scaled by measured / expected time at the point that
    was measured. On a CPU all cores are used; on a GPU blocks are assumed to be as large as the
    measured one.
    """
    found = []
    for row in rows:
        points = [point for point in study.points if point.system.name == row["system"]]
        if not points:
            continue
        expected = sum(cost.cpu_seconds(n) for point in points for n in point.blocks)
        case = training.block(row["system"], plain.of(row["system"]).CASE.runs)
        ms = row["all_cores_ms"] if "all_cores_ms" in row else row["ms"][row["circlet"]]
        scale = ms["median"] * case.point.steps * case.count / 1000 / cost.cpu_seconds(case)
        found.append(
            {
                "system": row["system"],
                "runs": sum(point.count for point in points),
                "run_steps": sum(point.count * point.steps for point in points),
                "hours": expected * scale / 3600,
            }
        )
    return found
