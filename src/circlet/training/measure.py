"""Measure the cost of a step of some networks; ``circlet.study.measured`` runs this module.

Reads JSON, ``collections`` and ``studies`` by key, from standard input, and writes what a run of
each study's first point costs, by key. Points whose arrays have the same shapes are measured once.
"""

import contextlib
import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from circlet.errors import CircletError
from circlet.study import planning
from circlet.study.points import Point
from circlet.study.registry import place_in_user_code
from circlet.systems import trees
from circlet.training import autograd, verify
from circlet.training.job import settle
from circlet.training.run import initials, run_group, settle_torch
from circlet.training.sizes import activations, data_size, together
from circlet.training.stack import Stack

SECONDS = 0.05  # for which steps or metrics are timed
MAX_RUNS = 128  # most runs that are timed together
CPU = torch.device("cpu")


def measured(point: Point) -> dict[str, Any]:
    """Return the cost of a run of a point: the fields of `circlet.study.measured.Measured`."""
    equations = autograd.equations(point.system)
    seed = point.all_seeds.start
    verify.verify(point, point.all_seeds, CPU)  # so that errors appear before any job starts
    arrays = equations.initial(point.parameters, point.seeds(seed))
    alone = _step_seconds(point, 1)
    if point.system.batched:
        _step_seconds(point, 2)  # raises an error if vmap cannot do it
    n_together = together(point)
    timed = min(n_together, point.block_size, MAX_RUNS)
    return {
        "weights": sum(array.size for array in arrays.values()),
        "activations": activations(point),
        "evaluated": activations(point, evaluated=True),
        "data": data_size(point),
        "embedding": arrays["embedding"].shape if point.system.embedding else (0, 0),
        "together": n_together,
        "timed": timed,
        "alone": alone,
        "stacked": _step_seconds(point, timed) if timed > 1 else alone,
        "evaluation": _evaluation_seconds(point, timed) / timed,
    }


def _step_seconds(point: Point, runs: int) -> float:
    """Return the least time of a step of some runs together, without the first, which is logged."""
    steps = run_group(point, _seeds(point, runs), CPU)
    for _ in range(3):  # ready, step 0, step 1
        next(steps, None)
    return _seconds(lambda: next(steps, None) is not None)


def _evaluation_seconds(point: Point, runs: int) -> float:
    """Return the least time in which the metrics of some runs are measured; 0 if there are none."""
    equations = autograd.equations(point.system)
    if not hasattr(equations, "metrics"):
        return 0
    seeds, dtype = _seeds(point, runs), getattr(torch, point.settings.dtype)
    weights = Stack(initials(point, seeds, {}), dtype, CPU, {}).arrays
    data = equations.data(point.parameters, [point.seeds(seed) for seed in seeds], dtype, CPU)

    def evaluate() -> bool:
        with torch.no_grad():
            equations.metrics(weights, data)
        return True

    evaluate()
    return _seconds(evaluate)


def _seeds(point: Point, runs: int) -> range:
    first = point.all_seeds.start
    return range(first, first + runs)


def _seconds(act: Callable[[], bool]) -> float:
    """Return the shortest time of a function, repeated for `SECONDS` or until it returns False."""
    times: list[float] = []
    until = time.perf_counter() + SECONDS
    while not times or (time.perf_counter() < until and len(times) < 100):
        started = time.perf_counter()
        if not act():
            break
        times.append(time.perf_counter() - started)
    return min(times, default=1e-3)


def _signature(point: Point) -> str:
    """Return all that the cost of a step depends on: the shapes of arrays, and the optimiser."""
    equations, seeds = autograd.equations(point.system), point.seeds(point.all_seeds.start)
    data = equations.data(point.parameters, [seeds], torch.float32, CPU)
    shapes = [tuple(t.shape) for t in trees.tensors(data)]
    arrays = equations.initial(point.parameters, seeds)
    weights = {name: array.shape for name, array in arrays.items()}
    choices = {k: point.parameters.get(k) for k in ("optimizer", "batch_size")}
    peak = activations(point)  # the same shapes may be used more often, as in a recurrent network
    return repr(
        (
            point.system.name,
            (point.settings.dtype, point.settings.products, point.settings.block),
            shapes,
            weights,
            choices,
            peak,
        )
    )


def _costs(studies: dict[str, str], collections: list[str]) -> Iterator[tuple[str, dict]]:
    by_signature: dict[str, dict] = {}
    for key, text in studies.items():
        (point,) = planning.decode(text, collections).points
        signature = _signature(point)
        if signature not in by_signature:
            by_signature[signature] = measured(point)
        yield key, by_signature[signature]


if __name__ == "__main__":
    settle()
    settle_torch()
    request = json.load(sys.stdin)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # what the author prints
            costs = dict(_costs(request["studies"], request["collections"]))
        print(json.dumps(costs))
    except CircletError as error:
        sys.exit(f"error: {error}")
    except Exception as error:
        if place := place_in_user_code(error):
            line = " ".join(f"{type(error).__name__}: {error}".split())
            sys.exit(f"error: {place}: {line}")
        raise
