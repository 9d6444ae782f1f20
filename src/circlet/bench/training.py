"""Measure training: the plain loop, circlet's trainer, and a lower bound for both."""

import contextlib
import itertools
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from circlet import native
from circlet.bench import plain
from circlet.study import cost
from circlet.study.planning import plan
from circlet.study.points import Block
from circlet.training import job, native_run
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
    study = plan({"results": "results", "experiments": {"bench": settings}})
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
    if native.uncovered(point.system.equations, point.settings.products, device.type):
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


def floor(system: str, machine: dict[str, Any]) -> dict[str, float]:
    """Lower bound of the milliseconds per run and step on this machine.

    ``products``: floating-point operations of the products of matrices, at the measured rate of
    large ones (PyTorch's default or ``circlet.systems.matmul``, whichever is faster). ``memory``:
    values and both moments of AdamW read and written once, at the measured rate of a copy;
    this applies where no cache keeps them between steps.
    """
    point = block(system, 1).point
    values = cost.weights(point) * (6 if "learning_rate" in point.parameters else 2)
    rate = max(machine["flops"], machine["torch_flops"])
    return {
        "products": 1000 * cost.product_flops(point) / rate,
        "memory": 1000 * values * cost.value_bytes(point) / machine["copied"],
    }


def ways(system: str, device: torch.device = CPU, logs: bool = True) -> dict[str, Way]:
    """The ways to train a system, by name.

    ``plain`` is the plain loop, ``module`` a network without a gradient of its own, ``pytorch`` a
    block in PyTorch, ``kernel`` a native kernel where one covers the system. A job takes the last.
    """
    case, point = plain.of(system).CASE, block(system, 1).point
    runs = case.gpu_runs if device.type == "cuda" else case.runs
    found = {"plain": one(system)}
    if plain.as_module(point.system):
        found["module"] = pytorch(system, runs, device, logs, module=True)
    found["pytorch"] = pytorch(system, runs, device, logs)
    if not native.uncovered(point.system.equations, point.settings.products, device.type):
        found["kernel"] = circlet(system, runs, device, logs)
    return found


def alternating(ways: dict[str, Way], repeats: int, seconds: float) -> dict[str, list[Time]]:
    """Windows of every way, one after the other, after one each to warm up."""
    for way in ways.values():
        way(seconds)  # the first steps are logged more often, too
    found: dict[str, list[Time]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            found[name].append(way(seconds))
    return found


def measure(
    systems: list[str], device: torch.device, machine: dict[str, Any], repeats: int, seconds: float
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
        own = ways(system, device)
        if cuda:
            torch.cuda.reset_peak_memory_stats(device)
            own["core"] = circlet(system, case.runs, CPU)
        found = alternating(own, repeats, seconds)
        row = {
            "system": system,
            "parameters": case.parameters,
            "dtype": case.dtype,
            "runs": runs,
            "together": group_size(block(system, runs).point, runs, device),
            "steps": case.steps,
        } | compared(found, floor(system, machine), case.steps, cuda)
        if cuda:
            row["peak_mb"] = torch.cuda.max_memory_allocated(device) / 1e6
        yield row


def compared(
    found: dict[str, list[Time]], least: dict[str, float], steps: int, cuda: bool
) -> dict[str, Any]:
    """Results from the windows of each way: medians, ratios, CPU-seconds of a run.

    ``circlet`` is the name of the way that a job takes.
    """
    clock = {name: spread([t.wall for t in times]) for name, times in found.items()}
    process = {name: spread([t.cpu for t in times]) for name, times in found.items()}
    ways = [name for name in found if name != "core"]
    by = clock if cuda else process
    ours = by[ways[-1]]["median"]
    row = {
        "ms": clock,
        "cpu_ms": process,
        "circlet": ways[-1],
        "times_plain": {name: by["plain"]["median"] / by[name]["median"] for name in ways[1:]},
        "floor_ms": least,
        "times_floor": ours / max(least.values()),
        "cpu_seconds": {name: times["median"] * steps / 1000 for name, times in process.items()},
    }
    return row | ({"times_core": clock["core"]["median"] / ours} if cuda else {})


KINDS = {"bmm": "products", "baddbmm": "products", "mm": "products", "addmm": "products"}
KINDS |= {"_linear_pointwise": "products", "_fused_adamw_": "optimiser"}


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Suppress what libraries write to stderr directly, such as the profiler at its start."""
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def shares(system: str, seconds: float) -> dict[str, float]:
    """Breakdown of the time of a block on one core in PyTorch; shares that sum to 1.

    ``logs`` is the additional time of steps with logs. PyTorch's profiler splits the rest into
    ``products`` of matrices, ``optimiser``, ``elementwise`` (all other operators) and ``python``
    (time outside operators, which the profiler increases).
    """
    runs = plain.of(system).CASE.runs
    ways = [pytorch(system, runs, CPU, logs) for logs in (False, True)]
    for way in ways:
        way(seconds)
    bare, logged = zip(*([way(seconds).cpu for way in ways] for _ in range(3)), strict=True)
    logs = max(0.0, 1 - statistics.median(bare) / statistics.median(logged))
    started = time.perf_counter()
    with _silent(), torch.autograd.profiler.profile() as profiler:
        ways[0](seconds / 4)
        total = time.perf_counter() - started
    spent = dict.fromkeys(("products", "optimiser", "elementwise"), 0.0)
    for event in profiler.key_averages():
        kind = KINDS.get(event.key.split("::")[-1], "elementwise")
        spent[kind] += event.self_cpu_time_total / 1e6
    found = {kind: value / total for kind, value in spent.items()}
    found["python"] = max(0.0, 1 - sum(found.values()))
    return {kind: value * (1 - logs) for kind, value in found.items()} | {"logs": logs}


_barrier: Any = None


def _join(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def _worker(system: str, seconds: float) -> tuple[list[Time], float]:
    """Three windows of a process among others, and its peak memory in MB."""
    job.settle()
    torch.set_num_threads(1)
    way = circlet(system, plain.of(system).CASE.runs, CPU)
    way(seconds / 3)
    _barrier.wait(120)
    return [way(seconds / 3) for _ in range(3)], _peak_mb()


def _peak_mb() -> float:
    """The most memory that this process had. Not getrusage's, which counts that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


def combined(workers: list[tuple[list[Time], float]]) -> dict[str, Any]:
    """Combined speed of simultaneous processes.

    ``ms``: milliseconds per run and step of all processes together, half of one's if two are alike,
    by the clock; ``cpu_ms`` likewise of CPU time; ``had``: the share of the cores' time that they
    got, less than 1 on a shared machine; ``peak_mb`` of the largest.
    """
    windows = list(zip(*(windows for windows, _ in workers), strict=True))
    return {
        "ms": spread([1 / sum(1 / own.wall for own in window) for window in windows]),
        "cpu_ms": spread([1 / sum(1 / own.cpu for own in window) for window in windows]),
        "had": statistics.mean(own.cpu / own.wall for window in windows for own in window),
        "peak_mb": max(mb for _, mb in workers),
    }


def all_cores(systems: list[str], cores: int, seconds: float) -> dict[str, dict[str, Any]]:
    """By system, a process on every core: see ``combined``."""
    context = multiprocessing.get_context("spawn")
    found = {}
    for system in systems:
        barrier = context.Barrier(cores)
        with ProcessPoolExecutor(cores, context, _join, (barrier,)) as pool:
            jobs = [pool.submit(_worker, system, seconds) for _ in range(cores)]
            found[system] = combined([job.result() for job in jobs])
    return found
