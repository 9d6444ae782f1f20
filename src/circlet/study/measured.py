"""Cost of runs on this machine, measured once and kept in the user's cache.

This module measures the time of kernels. A separate process measures networks that do not declare
their cost, because that needs torch. The numbers decide what jobs request and how long the plan
expects them to take, never the results.
"""

import contextlib
import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from circlet import __version__, native
from circlet.config.experiment import Logs, Schedule
from circlet.errors import CircletError
from circlet.study import fingerprint, registry, user_cache
from circlet.study.user_cache import keep, kept

if TYPE_CHECKING:
    from circlet.study.points import Point

MAX_SPENT = 2.0  # most seconds that a process spends on timing kernels
MAX_TIMED_NUMBERS = 3e7  # most numbers of a run that is timed
_spent = 0.0
BY_KERNEL = "circlet.training.native_run"  # imported when it is needed
STARTED = """
import circlet.storage.parquet, circlet.study.plan, circlet.analysis.stats, pandas, time
print(time.process_time())
"""


@dataclass(frozen=True)
class Measured:
    """The measured cost of a run of a point."""

    weights: int  # numbers that a run keeps
    activations: int  # numbers that it holds at the peak of a step
    evaluated: int  # numbers computed when its metrics are measured
    data: int  # numbers in its examples
    embedding: tuple[int, int]  # shape; (0, 0) if there is none
    together: int  # runs that advance together on a CPU, at most
    alone: float  # seconds of a step of one run
    timed: int  # number of runs that were timed together
    stacked: float  # seconds of a step of these runs
    evaluation: float  # seconds of measuring the metrics of one run

    def step_seconds(self, runs: int) -> float:
        """Return the seconds of a step of some runs that advance together."""
        more = (self.stacked - self.alone) / max(1, self.timed - 1)
        return self.alone + more * (runs - 1)


@dataclass(frozen=True)
class Timed:
    """Seconds of a run that a kernel trains."""

    step: float
    records: dict[str, float]  # seconds of recording a step, by kind of log


@functools.cache
def folder() -> Path:
    """Return the folder of this machine's costs, as other machines may share the user's home.

    A cluster job uses the costs of its plan, from the folder in CIRCLET_COSTS, because they decide
    whether it has a GPU.
    """
    if planned := os.environ.get("CIRCLET_COSTS"):
        return Path(planned)
    return user_cache.folder() / "costs" / _hash(processor(), native.built())


def processor() -> str:
    """Return the name of the processor, or its architecture where the system does not say."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        return names[0] if names else platform.machine()
    return platform.machine()


def _file(point: "Point") -> Path:
    return folder() / f"{point.system.name}.json"


def _key(point: "Point") -> str:
    code = fingerprint.local_code(point.system.equations)
    return _hash(code, point.parameters, point.settings.dtype, point.settings.products)


def _hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def cached(point: "Point") -> Measured | None:
    """Return the cost of a run in PyTorch; None if it has not been measured."""
    try:
        return msgspec.convert(kept(_file(point))[_key(point)], Measured)
    except (KeyError, msgspec.ValidationError):
        return None


def of(point: "Point") -> Measured:
    """Return the cost of a run in PyTorch, measured if necessary; raises CircletError."""
    if cached(point) is None:
        measure([point])
    cost = cached(point)
    assert cost is not None
    return cost


def of_kernel(point: "Point") -> Timed | None:
    """Return the time of a run that a kernel trains; None if no kernel does.

    Runs that differ only in real numbers, such as a learning rate, share a time if a step has as
    many operations. For large networks, and for all once timing has taken `MAX_SPENT`, the time of
    a run with the default parameters is scaled by the number of operations.
    """
    global _spent
    system, settings = point.system, point.settings
    if not system.flops_per_step or native.uncovered(system.equations, settings.products, "cpu"):
        return None
    assert system.weights and system.activations  # a system declares all or none of these
    flops, usual = (system.flops_per_step(**p) for p in (point.parameters, system.defaults))
    sizes = {k: v for k, v in point.parameters.items() if not isinstance(v, float)}
    key = _hash(flops, sizes, settings.dtype, point.logs)
    file = _file(point)
    with contextlib.suppress(KeyError, TypeError):
        return Timed(**kept(file)[key])
    numbers = system.weights(**point.parameters) + system.activations(**point.parameters)
    is_large = flops > max(usual, 0.1 * system.flops_per_second) or numbers > MAX_TIMED_NUMBERS
    if flops != usual and (is_large or _spent > MAX_SPENT):
        like = of_kernel(replace(point, parameters=system.defaults))
        assert like
        times = {kind: seconds * flops / usual for kind, seconds in like.records.items()}
        return Timed(like.step * flops / usual, times)
    began = time.process_time()
    alone = replace(point, interventions=[], parent=None)
    timed = Timed(*import_module(BY_KERNEL).timed(alone))
    _spent += time.process_time() - began
    keep(file, {key: vars(timed)})
    return timed


def start() -> float:
    """Return the CPU seconds in which the process of a table starts: Python and its imports."""
    file, key = folder() / "start.json", _hash(sys.version, __version__)
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return float(kept(file)[key])
    for _ in range(2):  # the first time reads files from the disk
        command = [sys.executable, "-c", STARTED]
        # If this process is killed, the other one must not complain about its closed output.
        seconds = float(subprocess.check_output(command, stderr=subprocess.DEVNULL))
    keep(file, {key: seconds})
    return seconds


def measure(points: Iterable["Point"]) -> None:
    """Measure costs that are neither declared nor known, in one process; raises CircletError.

    The process takes a step of each network, so this also shows whether the networks work.
    """
    missing = {_key(p): p for p in points if p.system.is_measured and cached(p) is None}
    if not missing:
        return
    n = len(missing)
    what = f"{n} networks" if n > 1 else "a network"
    print(f"Measuring what a step of {what} costs, once ...", file=sys.stderr)
    used = [p.system for p in missing.values()]
    modules = {
        m for s in used for module in (s.module, s.equations) for m in fingerprint.closure(module)
    }
    request = {
        "collections": registry.user_places(modules),
        "studies": {key: _alone(point) for key, point in missing.items()},
    }
    done = subprocess.run(
        [sys.executable, "-m", "circlet.training.measure"],
        input=json.dumps(request), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        *_, last = done.stderr.strip().splitlines() or [""]
        if done.returncode < 0:
            last = f"measuring what a step costs was ended by signal {-done.returncode}"
        raise CircletError(last.removeprefix("error: "))
    sys.stderr.write(done.stderr)  # warnings of torch, which jobs do not repeat
    costs: dict[str, Any] = json.loads(done.stdout)
    for file in {_file(point) for point in missing.values()}:
        keep(file, {k: costs[k] for k, point in missing.items() if _file(point) == file})


def _alone(point: "Point") -> str:
    """Return the study of a point's first block, without settings that do not affect a step."""
    schedules = {kind: usual and Schedule() for kind, usual in point.schedules.items()}
    settings = structs.replace(point.settings, log=Logs(**schedules))
    return replace(point, settings=settings, interventions=[], parent=None).blocks[0].json
