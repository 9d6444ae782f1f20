"""Measure training: the plain loop and circlet's trainer, by all ways that a system has."""

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from circlet import native
from circlet.bench import plain
from circlet.study.plan import Study
from circlet.study.points import Block
from circlet.training import native_run
from circlet.training.run import group_size, run_group

CPU = torch.device("cpu")
STEPS = 100_000  # of a run: more than a bench takes


def block(system: str, runs: int, log: dict[str, Any] | None = None) -> Block:
    """A block of a system that logs what a config gets without asking; longer than a bench runs."""
    case = plain.of(system).CASE
    settings = {
        "system": system,
        "parameters": case.parameters,
        "steps": STEPS,
        "dtype": case.dtype,
        "block": runs,
        "seeds": {"count": runs},
        "log": log or {},
    }
    study = Study.of({"results": "results", "experiments": {"bench": settings}})
    return next(study.blocks)


@dataclass(frozen=True)
class Time:
    """Milliseconds per run and step: by the clock, and of this process."""

    wall: float
    cpu: float


Way = Callable[[float], Time]
"""Goes on for some seconds."""


def window(
    advance: Callable[[float], float], seconds: float, wait: Callable[[], None] = lambda: None
) -> Time:
    """``advance`` until a time of the clock, and what each run and step of it took."""
    wait()
    wall, cpu = time.perf_counter(), time.process_time()
    done = advance(wall + seconds)
    wait()
    return Time(
        1000 * (time.perf_counter() - wall) / done, 1000 * (time.process_time() - cpu) / done
    )


def quiet(system: str, runs: int) -> Block:
    """The same, with hardly any logs beyond the first steps, which are to warm up."""
    return block(system, runs, {kind: {} for kind in block(system, runs).point.logs[1:]})


def circlet(system: str, runs: int, device: torch.device, logs: bool = True) -> Way:
    """Runs as a job trains them, which continue with every call: by a kernel, if one covers them.

    A kernel trains one run after another, for as long as there is time. ``logs`` or hardly any.
    """
    point = (block if logs else quiet)(system, runs).point
    if native.uncovered(point.system.equations, point.settings["products"], device.type):
        return pytorch(system, runs, device, logs)
    seeds = itertools.count()
    current = native_run.NativeRun(point, next(seeds), {})

    def advance(until: float) -> float:
        nonlocal current
        done = 0
        while not done or time.perf_counter() < until:
            if current.done == point.steps:
                current.close()
                current = native_run.NativeRun(point, next(seeds), {})
            before = max(0, current.done)
            current.advance()
            done += current.done - before
        return done

    return lambda seconds: window(advance, seconds)


def pytorch(
    system: str, runs: int, device: torch.device, logs: bool = True, module: bool = False
) -> Way:
    """A block that PyTorch trains, which continues with every call; ``logs`` or hardly any.

    On a CPU only the first group of runs is trained, as the others are alike. With ``module``, the
    plain loop's network is stacked and differentiated by autograd, instead of using the system's
    own gradient.
    """
    point = (block if logs else quiet)(system, runs).point
    if module and (own := plain.as_module(point.system)):
        point = replace(point, system=own)
    size = group_size(point, runs, device)
    steps = run_group(point, list(range(size)), device)
    next(steps)  # the initial arrays

    def advance(until: float) -> float:
        for done, _ in enumerate(steps, 1):
            if time.perf_counter() >= until:
                return size * done
        raise AssertionError(f"{system}: is too long for a benchmark")

    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None

    def way(seconds: float) -> Time:
        with torch.no_grad():
            return window(advance, seconds, wait)

    return way


def one(system: str) -> Way:
    """One run in the plain loop on the CPU, which continues with every call."""
    point = block(system, 1).point
    run = plain.one(
        system, point.parameters, point.seeds(0), getattr(torch, plain.of(system).CASE.dtype)
    )
    number = 0

    def advance(until: float) -> float:
        nonlocal number
        first = number
        while number == first or time.perf_counter() < until:
            number += 1
            run.step(number)
        return number - first

    return lambda seconds: window(advance, seconds)


def spread(values: list[float]) -> dict[str, float]:
    """Median, smallest and largest of repeated measurements."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ways(system: str, device: torch.device = CPU, logs: bool = True) -> dict[str, Way]:
    """The ways to train a system, by name.

    ``plain`` is the plain loop, ``module`` a network without a gradient of its own, ``pytorch`` a
    block in PyTorch, ``kernel`` a native kernel where one covers the system. A job takes the last.
    """
    case, point = plain.of(system).CASE, block(system, 1).point
    runs = case.gpu_runs if device.type == "cuda" else case.runs
    by_name = {"plain": one(system)}
    if plain.as_module(point.system):
        by_name["module"] = pytorch(system, runs, device, logs, module=True)
    by_name["pytorch"] = pytorch(system, runs, device, logs)
    if not native.uncovered(point.system.equations, point.settings["products"], device.type):
        by_name["kernel"] = circlet(system, runs, device, logs)
    return by_name


def alternating(ways: dict[str, Way], repeats: int, seconds: float) -> dict[str, list[Time]]:
    """Windows of every way, one after the other, after one each to warm up."""
    for way in ways.values():
        way(seconds)  # the first steps are logged more often, too
    windows: dict[str, list[Time]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            windows[name].append(way(seconds))
    return windows


def measure(
    systems: list[str], device: torch.device, repeats: int, seconds: float
) -> Iterator[dict[str, Any]]:
    """Each system's row; the ways alternate, in this process.

    ``ms`` and ``cpu_ms`` are the wall-clock and the CPU time of this process, per run and step, by
    way (see ``ways``; on a GPU ``core`` is circlet on one core). ``times_plain`` has ratios of CPU
    times on a CPU, and of wall-clock times on a GPU.
    """
    cuda = device.type == "cuda"
    for system in systems:
        case = plain.of(system).CASE
        runs = case.gpu_runs if cuda else case.runs
        by_name = ways(system, device)
        if cuda:
            torch.cuda.reset_peak_memory_stats(device)
            by_name["core"] = circlet(system, case.runs, CPU)
        windows = alternating(by_name, repeats, seconds)
        row = {
            "system": system,
            "parameters": case.parameters,
            "dtype": case.dtype,
            "runs": runs,
            "together": group_size(block(system, runs).point, runs, device),
            "steps": case.steps,
        } | compared(windows, case.steps, cuda)
        if cuda:
            row["peak_mb"] = torch.cuda.max_memory_allocated(device) / 1e6
        yield row


def compared(windows: dict[str, list[Time]], steps: int, cuda: bool) -> dict[str, Any]:
    """Results from the windows of each way: medians, ratios, CPU-seconds of a run.

    ``circlet`` is the name of the way that a job takes.
    """
    clock = {name: spread([t.wall for t in times]) for name, times in windows.items()}
    process = {name: spread([t.cpu for t in times]) for name, times in windows.items()}
    ways = [name for name in windows if name != "core"]
    by = clock if cuda else process
    ours = by[ways[-1]]["median"]
    row = {
        "ms": clock,
        "cpu_ms": process,
        "circlet": ways[-1],
        "times_plain": {name: by["plain"]["median"] / by[name]["median"] for name in ways[1:]},
        "cpu_seconds": {name: times["median"] * steps / 1000 for name, times in process.items()},
    }
    return row | ({"times_core": clock["core"]["median"] / ours} if cuda else {})
