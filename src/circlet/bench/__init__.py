"""The benchmark: how fast this machine trains, against the plain loop and against its own floor."""

import logging
from typing import Any

import torch

from circlet.bench import machine, pipeline, training
from circlet.plan import Study
from circlet.points import Point
from circlet.source import SYSTEMS

log = logging.getLogger("circlet")

REPEATS, SECONDS = 5, 0.4


def run(study: Study, device: torch.device) -> dict[str, Any]:
    """Measure everything; under two minutes.

    Returns
    -------
    dict
        ``machine``; ``training``, a row per system; ``pipeline``, a row per part; ``study``, what
        the study's training takes at these rates. Milliseconds are per run and step.
    """
    torch.set_num_threads(1)
    log.info("what the machine can do ...")
    about = machine.describe(device)
    rows = []
    for row in training.measure(list(SYSTEMS), device, about, REPEATS, SECONDS):
        log.info("%s: measured", row["system"])
        rows.append(row)
    if device.type == "cpu":
        for row in rows:
            row["shares"] = training.shares(row["system"], SECONDS)
        log.info("all %d cores at once ...", about["cores"])
        busy = training.all_cores(list(SYSTEMS), about["cores"], 4 * SECONDS)
        for row in rows:
            own = busy[row["system"]]
            row |= {"all_cores_ms": own["ms"], "peak_mb": own["peak_mb"]}
    log.info("the pipeline around it ...")
    return {
        "machine": about,
        "training": rows,
        "pipeline": list(pipeline.measure()),
        "study": projected(study, rows),
    }


def _flops(point: Point) -> float:
    """Of a step of one run, counting those in double precision twice."""
    return point.evaluate("FLOPS_PER_STEP") * point.value_bytes / 4


def projected(study: Study, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hours that the training of a study takes here, by system, its points by their FLOPs.

    On a CPU all cores work on it.
    """
    found = []
    for row in rows:
        system = row["system"]
        points = [p for p in study.points if p.system == system]
        if not points:
            continue
        flops = sum(p.count * p.steps * _flops(p) for p in points)
        ms = row["all_cores_ms"] if "all_cores_ms" in row else row["ms"]["circlet"]["median"]
        found.append(
            {
                "system": system,
                "runs": sum(p.count for p in points),
                "run_steps": sum(p.count * p.steps for p in points),
                "hours": flops / _flops(training.block(system, 1, 1).point) * ms / 3.6e6,
            }
        )
    return found
