"""Measure training: a block in PyTorch, and a native kernel where one covers the system."""

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from circlet import native
from circlet.study import declared_systems, registry
from circlet.study.blocks import Block
from circlet.study.planning import plan
from circlet.training import native_run
from circlet.training.run import group_size, run_group

CPU = torch.device("cpu")
STEPS = 100_000  # of a run: more than a bench takes
RUNS = {"cpu": 50, "cuda": 1024}  # of a block


def systems() -> list[str]:
    """Return the names of circlet's systems."""
    return sorted(declared_systems.Systems(registry.SHIPPED))


def block(system: str, runs: int, logs: bool = True) -> Block:
    """Return a block with more steps than a benchmark takes.

    It has the default logs, or hardly any beyond the first steps, which are to warm up.
    """
    settings = {
        "system": system,
        "steps": STEPS,
        "block": runs,
        "seeds": {"count": runs},
        "log": {} if logs else {kind: {} for kind in block(system, runs).point.logs[1:]},
    }
    study = plan({"results": "results", "experiments": {"bench": settings}})
    return next(study.blocks)


Way = Callable[[float], float]
"""Runs a program for some seconds and returns the time of a step."""


def window(advance: Callable[[float], float], seconds: float, device: torch.device = CPU) -> float:
    """Call ``advance`` for some seconds; return the milliseconds that each run and step took.

    They are CPU time of this process, or on a GPU those of the clock.
    """
    on_gpu = device.type == "cuda"
    clock = time.perf_counter if on_gpu else time.process_time
    if on_gpu:
        torch.cuda.synchronize()
    began = clock()
    done = advance(time.perf_counter() + seconds)
    if on_gpu:
        torch.cuda.synchronize()
    return 1000 * (clock() - began) / done


def repeated(act: Callable[[], float]) -> Callable[[float], float]:
    """Return a function that calls ``act`` until a time, at least once, and adds the results."""

    def advance(until: float) -> float:
        done = 0.0
        while not done or time.perf_counter() < until:
            done += act()
        return done

    return advance


def kernel(system: str, logs: bool = True) -> Way:
    """Return a way to train runs one by one with a native kernel; each call continues."""
    point = block(system, RUNS["cpu"], logs).point
    seeds = itertools.count()
    current = native_run.NativeRun(point, next(seeds), {})

    def act() -> int:
        nonlocal current
        if current.done == point.steps:
            current.close()
            current = native_run.NativeRun(point, next(seeds), {})
        before = max(0, current.done)
        current.advance()
        return current.done - before

    return lambda seconds: window(repeated(act), seconds)


def pytorch(system: str, runs: int, device: torch.device, logs: bool = True) -> Way:
    """Return a way to train a block in PyTorch; each call continues. ``logs``: as by default.

    On a CPU only the first group of runs is trained, as the others are alike.
    """
    point = block(system, runs, logs).point
    size = group_size(point, runs, device)
    steps = run_group(point, list(range(size)), device)
    next(steps)  # the initial arrays

    def advance(until: float) -> float:
        for done, _ in enumerate(steps, 1):
            if time.perf_counter() >= until:
                return size * done
        raise AssertionError(f"{system}: is too long for a benchmark")

    def way(seconds: float) -> float:
        with torch.no_grad():
            return window(advance, seconds, device)

    return way


def spread(values: list[float]) -> dict[str, float]:
    """Return the median, smallest and largest of repeated measurements."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ways(system: str, device: torch.device = CPU, logs: bool = True) -> dict[str, Way]:
    """Return the ways to train a system: ``pytorch``, and ``kernel`` where one covers the system.

    A job uses the last one.
    """
    point = block(system, 1).point
    by_name = {"pytorch": pytorch(system, RUNS[device.type], device, logs)}
    if not native.uncovered(point.system.equations, point.settings.products, device.type):
        by_name["kernel"] = kernel(system, logs)
    return by_name


def alternating(ways: dict[str, Way], repeats: int, seconds: float) -> dict[str, list[float]]:
    """Measure all ways in turn, repeatedly, after one warm-up each."""
    for way in ways.values():
        way(seconds)  # warm-up; the first steps are also logged more often
    windows: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            windows[name].append(way(seconds))
    return windows


def measure(device: torch.device, repeats: int, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield a row per system; the ways alternate, in this process.

    ``ms`` is the time per run and step (see ``window``) by way (see ``ways``; on a GPU ``core`` is
    PyTorch on one core). ``circlet`` names the way that a job takes.
    """
    runs = RUNS[device.type]
    for system in systems():
        by_name = ways(system, device)
        taken = [*by_name][-1]
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
            by_name["core"] = pytorch(system, RUNS["cpu"], CPU)
        windows = alternating(by_name, repeats, seconds)
        row: dict[str, Any] = {
            "system": system,
            "runs": runs,
            "together": group_size(block(system, runs).point, runs, device),
            "ms": {name: spread(times) for name, times in windows.items()},
            "circlet": taken,
        }
        if device.type == "cuda":
            row["times_core"] = row["ms"]["core"]["median"] / row["ms"][taken]["median"]
            row["peak_mb"] = torch.cuda.max_memory_allocated(device) / 1e6
        yield row
