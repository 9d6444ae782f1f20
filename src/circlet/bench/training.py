"""Time the training of a system: in PyTorch, by a native kernel where one covers it, by others."""

import functools
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from circlet import native
from circlet.study import declared_systems, registry
from circlet.study.planning import plan
from circlet.study.points import Point
from circlet.training import native_run
from circlet.training.run import group_size, run_group

CPU = torch.device("cpu")
STEPS = 100_000  # of a run
RUNS = {"cpu": 50, "cuda": 1024}  # of a block
# Short windows, as the shortest of them needs a quiet moment of the machine.
REPEATS, SECONDS = 15, 0.2

Way = tuple[str, int]
"""A name, and how many runs are trained together."""
Act = Callable[[], float]
"""Trains on for a moment; returns the steps taken, counted for each run."""


def systems() -> list[str]:
    """Return the names of circlet's systems."""
    return sorted(declared_systems.Systems(registry.SHIPPED))


def point(system: str, runs: int, logs: bool = True) -> Point:
    """Return a system at its defaults, with its usual logs or hardly any beyond the first steps."""
    settings = {
        "system": system,
        "steps": STEPS,
        "block": runs,
        "seeds": {"count": runs},
        "log": {} if logs else {kind: {} for kind in point(system, runs).logs[1:]},
    }
    return plan({"results": "results", "experiments": {"bench": settings}}).points[0]


def trainer(train: Callable[[list[int]], Any], runs: int) -> Act:
    """Return a function that trains a group of runs on; after the last step, the next group.

    ``train`` yields the group of some seeds whenever it has taken steps.
    """

    def advances():
        for first in itertools.count(0, runs):
            before = 0
            for group in train([*range(first, first + runs)]):
                done = max(0, group.done)
                yield runs * (done - before)
                before = done

    return advances().__next__


def ways(system: str, device: torch.device = CPU, logs: bool = True) -> dict[Way, Act]:
    """Return how circlet trains: in PyTorch, and by a kernel where one covers the system.

    On a CPU only the first group of a block is trained, as the others are alike.
    """
    runs = RUNS[device.type]
    a = point(system, runs, logs)
    size = group_size(a, runs, device)
    train = functools.partial(run_group, a, device=device)
    acts = {("pytorch", size): trainer(train, size)}
    if not native.uncovered(a.system.equations, a.settings.products, device.type):
        acts["kernel", 1] = trainer(functools.partial(native_run.run_alone, a), 1)
    return acts


def window(act: Act, seconds: float, device: torch.device = CPU) -> float:
    """Train for some seconds, and return the milliseconds that each run and step took.

    They are CPU time of this process, or on a GPU those of the clock.
    """
    on_gpu = device.type == "cuda"
    clock = time.perf_counter if on_gpu else time.process_time
    if on_gpu:
        torch.cuda.synchronize()
    began, until, done = clock(), time.perf_counter() + seconds, 0.0
    while not done or time.perf_counter() < until:
        done += act()
    if on_gpu:
        torch.cuda.synchronize()
    return 1000 * (clock() - began) / done


def measure(system: str, acts: dict[Way, Act], device: torch.device = CPU) -> dict[str, Any]:
    """Return the times of some ways to train a system, which take turns in this process.

    ``ms`` is the time per run and step (see ``window``) by name of the way, and ``groups`` how many
    runs it trains together: the fastest number that was tried.
    """
    windows: dict[Way, list[float]] = {way: [] for way in acts}
    for _ in range(REPEATS + 1):
        for way, act in acts.items():
            windows[way].append(window(act, SECONDS, device))
    row: dict[str, Any] = {"system": system, "ms": {}, "groups": {}}
    for (name, runs), (_, *ms) in windows.items():  # the first of each is to warm up
        if name not in row["ms"] or min(ms) < row["ms"][name]["min"]:
            row["ms"][name] = {"median": statistics.median(ms), "min": min(ms), "max": max(ms)}
            row["groups"][name] = runs
    return row
