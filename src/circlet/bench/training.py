"""Training, measured: the plain loop, circlet's trainer, and the floor under both."""

import contextlib
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from circlet.bench import plain
from circlet.plan import Study
from circlet.points import Block
from circlet.training import loop


@dataclass(frozen=True)
class Case:
    """What is measured of a system: its defaults, but for ``parameters``."""

    parameters: dict[str, Any]
    runs: int  # of a block on a CPU, as in config/config.yaml
    gpu_runs: int  # of a block on a GPU
    steps: int  # of a whole run, as in the paper
    dtype: str = "float32"


CASES = {
    "constant_attention": Case({"weight_decay": 0.6}, 100, 4096, 2000),
    "embedding_mlp": Case({}, 1, 128, 30_000),
    "particles": Case({}, 50, 1024, 100, "float64"),
    "sparse_transformer": Case({}, 50, 1024, 64_000),
}


def block(system: str, steps: int, runs: int) -> Block:
    """A block of a system that logs what a config gets without asking."""
    case = CASES[system]
    settings = {
        "system": system,
        "parameters": case.parameters,
        "steps": steps,
        "dtype": case.dtype,
        "block": runs,
        "seeds": {"count": runs},
    }
    study = Study({"results": "results", "experiments": {"bench": settings}})
    return next(study.blocks)


def _steps(system: str, runs: int, seconds: float, speedup: float = 1) -> int:
    """About how many steps of a block take so long, by the plan."""
    return max(20, round(seconds * speedup / block(system, 1, runs).cpu_seconds))


def spread(values: list[float]) -> dict[str, float]:
    """Median, smallest and largest of repeated measurements."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def _seconds(work: Callable[[], None], device: torch.device) -> float:
    """Computing time: of this process on a CPU, of the clock on a GPU."""
    if device.type == "cpu":
        started = time.process_time()
        work()
        return time.process_time() - started
    torch.cuda.synchronize(device)
    started = time.perf_counter()
    work()
    torch.cuda.synchronize(device)
    return time.perf_counter() - started


def _circlet(system: str, runs: int, device: torch.device, seconds: float) -> Callable[[], float]:
    """Seconds per run and step of a block, as a job trains it, logs included, each time called."""
    fast = 1 if device.type == "cpu" else 50
    one = block(system, _steps(system, runs, seconds, fast), runs)
    seeds = list(one.seeds)
    size = loop.together(one.point, runs, device)

    def measure() -> float:
        with torch.no_grad():
            part = loop.Part(one.point, seeds[:size], device, {})
            spent = _seconds(lambda: part.advance(lambda _: None), device)
        return spent / size / one.point.steps

    return measure


def _plain(system: str, seconds: float) -> Callable[[], float]:
    """Seconds per step of one run in the plain loop on the CPU, each time called."""
    point = block(system, 1, 1).point
    run = plain.one(system, point.parameters, point.seeds(0), getattr(torch, CASES[system].dtype))
    number = 0

    def measure() -> float:
        nonlocal number
        first, until, started = number, time.perf_counter() + seconds, time.process_time()
        while time.perf_counter() < until:
            number += 1
            run.step(number)
        return (time.process_time() - started) / (number - first)

    return measure


def floor(system: str, machine: dict[str, Any]) -> dict[str, float]:
    """Seconds per run and step that the machine needs at least.

    ``products``: floating-point operations at the measured rate of products. ``memory``: values and
    both moments of AdamW read and written once, at the measured rate of a copy; all else could
    stay in caches.
    """
    point = block(system, 1, 1).point
    trained = "learning_rate" in point.parameters
    values = point.evaluate("WEIGHTS") * (6 if trained else 2)
    return {
        "products": point.evaluate("FLOPS_PER_STEP") * point.value_bytes / 4 / machine["flops"],
        "memory": values * point.value_bytes / machine["copied"],
    }


def measure(
    systems: list[str], device: torch.device, machine: dict[str, Any], repeats: int, seconds: float
) -> Iterator[dict[str, Any]]:
    """Each system's row: milliseconds per run and step, alternating, in this process.

    On a GPU, ``cpu`` is circlet's trainer on one core of this machine.
    """
    loop.settle()
    for system in systems:
        case = CASES[system]
        runs = case.runs if device.type == "cpu" else case.gpu_runs
        ways = {
            "plain": _plain(system, seconds),
            "circlet": _circlet(system, runs, device, seconds),
        }
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
            ways["cpu"] = _circlet(system, case.runs, torch.device("cpu"), seconds)
        found: dict[str, list[float]] = {name: [] for name in ways}
        for way in ways.values():
            way()  # to warm up
        for _ in range(repeats):
            for name, way in ways.items():
                found[name].append(1000 * way())
        at_least = max(floor(system, machine).values()) * 1000
        ours = statistics.median(found["circlet"])
        row = {
            "system": system,
            "parameters": case.parameters,
            "dtype": case.dtype,
            "runs": runs,
            "steps": case.steps,
            "ms": {name: spread(values) for name, values in found.items()},
            "times_plain": statistics.median(found["plain"]) / ours,
            "floor_ms": at_least,
            "times_floor": ours / at_least,
            "cpu_seconds_plain": statistics.median(found["plain"]) * case.steps / 1000,
            "seconds_a_run": ours * case.steps / 1000,
        }
        if device.type == "cuda":
            row["times_cpu"] = statistics.median(found["cpu"]) / ours
            row["peak_mb"] = torch.cuda.max_memory_allocated(device) / 1e6
        yield row


KINDS = {"bmm": "products", "baddbmm": "products", "mm": "products", "addmm": "products"}
KINDS |= {"_linear_pointwise": "products", "_fused_adamw_": "optimiser"}


def shares(system: str, seconds: float) -> dict[str, float]:
    """What the time of a block on a CPU goes to; shares that sum to 1.

    ``products`` of matrices, ``optimiser``, ``elementwise`` (all other operators), ``python`` (what
    no operator runs in), by PyTorch's profiler, which slows Python down; and
    ``logs``, by which steps with logs are slower than without.
    """
    device, runs = torch.device("cpu"), CASES[system].runs
    one = block(system, _steps(system, runs, seconds), runs)
    seeds = list(one.seeds)[: loop.together(one.point, runs, device)]
    with torch.no_grad():
        part = loop.Part(one.point, seeds, device, {})

        def steps() -> None:
            for number in range(1, one.point.steps + 1):
                part.step(part.batch(number))

        alone = min(_seconds(steps, device) for _ in range(3))
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            started = time.perf_counter()
            steps()
            total = time.perf_counter() - started
        logged = min(_circlet(system, runs, device, seconds)() for _ in range(3))
    logs = max(0.0, 1 - alone / (logged * one.point.steps * len(seeds)))
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


def _worker(system: str, seconds: float) -> tuple[float, float]:
    """Milliseconds per run and step of a process among others, and its peak memory in MB."""
    loop.settle()
    device, runs = torch.device("cpu"), CASES[system].runs
    _circlet(system, runs, device, seconds / 10)()
    measure = _circlet(system, runs, device, seconds)
    with contextlib.suppress(Exception):  # whoever is late is measured all the same
        _barrier.wait(60)
    spent = measure() * 1000
    return spent, _peak_mb()


def _peak_mb() -> float:
    """The most memory that this process had. Not getrusage's, which counts that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


def all_cores(systems: list[str], cores: int, seconds: float) -> dict[str, dict[str, float]]:
    """A process on every core: milliseconds per run and step of them all, memory of one."""
    context = multiprocessing.get_context("spawn")
    found = {}
    for system in systems:
        barrier = context.Barrier(cores)
        with ProcessPoolExecutor(cores, context, _join, (barrier,)) as pool:
            jobs = [pool.submit(_worker, system, seconds) for _ in range(cores)]
            results = [job.result() for job in jobs]
        together = sum(1 / ms for ms, _ in results)
        found[system] = {"ms": 1 / together, "peak_mb": max(mb for _, mb in results)}
    return found
