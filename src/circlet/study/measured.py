"""What runs cost on this machine: measured once, kept in the user's cache.

The time of kernels is measured here. A separate process measures what networks cost that do not
declare it, because that needs torch. The numbers decide what jobs request
and how long the plan expects them to take, never the results.
"""

import contextlib
import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from circlet import __version__, native
from circlet.config.experiment import Logs, Schedule
from circlet.errors import CircletError
from circlet.study import fingerprint, registry

if TYPE_CHECKING:
    from circlet.study.points import Point

MOST_SPENT = 2.0  # seconds in which a process times kernels
MOST_HELD = 3e7  # numbers of a run that is timed
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
    timed: int  # how many runs were timed together
    stacked: float  # seconds of one of their steps
    evaluation: float  # and, for each of them, of measuring its metrics

    @classmethod
    def of(cls, found: dict[str, Any]) -> "Measured":
        """From JSON, which has no tuples."""
        return cls(**found | {"embedding": tuple(found["embedding"])})

    def step_seconds(self, runs: int) -> float:
        """Seconds of a step of some runs that advance together."""
        more = (self.stacked - self.alone) / max(1, self.timed - 1)
        return self.alone + more * (runs - 1)


@dataclass(frozen=True)
class Timed:
    """Seconds of a run that a kernel trains."""

    step: float
    records: dict[str, float]  # of recording a step, by kind of log


@functools.cache
def folder() -> Path:
    """Of this machine: a home may be shared by machines with other processors.

    A job of a cluster uses the costs that it was planned with, which CIRCLET_COSTS names: they
    decide whether it has a GPU.
    """
    if planned := os.environ.get("CIRCLET_COSTS"):
        return Path(planned)
    return user_folder() / "costs" / _hash(processor(), native.built())


def user_folder() -> Path:
    """Folder of what this user keeps between studies."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "circlet"


def processor() -> str:
    """Name of the processor, or its architecture where the system does not say."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        return names[0] if names else platform.machine()
    return platform.machine()


def _file(point: "Point") -> Path:
    return folder() / f"{point.system.name}.json"


def _key(point: "Point") -> str:
    code = fingerprint.own_code(point.system.equations)
    return _hash(code, point.parameters, point.settings.dtype, point.settings.products)


def _hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _read(file: Path) -> dict[str, Any]:
    """What the cache has of a system; whatever is not readable is measured anew."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


_kept = functools.cache(_read)


def known(point: "Point") -> Measured | None:
    """What a run costs in PyTorch, if it has been measured."""
    try:
        return Measured.of(_kept(_file(point))[_key(point)])
    except (KeyError, TypeError):
        return None


def of(point: "Point") -> Measured:
    """What a run costs in PyTorch; it is measured if it has not been. Raises CircletError."""
    if known(point) is None:
        measure([point])
    found = known(point)
    assert found is not None
    return found


def of_kernel(point: "Point") -> Timed | None:
    """The time of a run that a kernel trains; None if none does.

    Runs that differ only in numbers such as a learning rate, which are no whole numbers, take as
    long if a step has as many operations. The time of large networks, and of any when timing has
    taken some seconds, follows from the operations and from a run with the default parameters.
    """
    global _spent
    system, settings = point.system, point.settings
    if not system.flops_per_step or native.uncovered(system.equations, settings.products, "cpu"):
        return None
    assert system.weights and system.activations  # who declares one declares all
    flops, usual = (system.flops_per_step(**p) for p in (point.parameters, system.defaults))
    sizes = {k: v for k, v in point.parameters.items() if not isinstance(v, float)}
    key = _hash(flops, sizes, settings.dtype, point.logs)
    file = _file(point)
    with contextlib.suppress(KeyError, TypeError):
        return Timed(**_kept(file)[key])
    held = system.weights(**point.parameters) + system.activations(**point.parameters)
    is_large = flops > max(usual, 0.1 * system.flops_per_second) or held > MOST_HELD
    if flops != usual and (is_large or _spent > MOST_SPENT):
        like = of_kernel(replace(point, parameters=system.defaults))
        assert like
        times = {kind: seconds * flops / usual for kind, seconds in like.records.items()}
        return Timed(like.step * flops / usual, times)
    began = time.process_time()
    alone = replace(point, interventions=[], parent=None)
    found = Timed(*import_module(BY_KERNEL).timed(alone))
    _spent += time.process_time() - began
    _keep(file, {key: vars(found)})
    return found


def start() -> float:
    """CPU seconds in which the process of a table starts: Python and what it imports."""
    file, key = folder() / "start.json", _hash(sys.version, __version__)
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return float(_kept(file)[key])
    for _ in range(2):  # at first files are read from the disk
        found = float(subprocess.check_output([sys.executable, "-c", STARTED]))
    _keep(file, {key: found})
    return found


def measure(points: Iterable["Point"]) -> None:
    """Measure what no system declares and is not known yet, in one process; raises CircletError.

    That process takes a step of each network, so this also tells whether they work at all.
    """
    missing = {_key(p): p for p in points if p.system.is_measured and known(p) is None}
    if not missing:
        return
    n = len(missing)
    what = f"{n} networks" if n > 1 else "a network"
    print(f"Measuring what a step of {what} costs, once ...", file=sys.stderr)
    used = [p.system for p in missing.values()]
    modules = {m for s in used for own in (s.module, s.equations) for m in fingerprint.closure(own)}
    given = {
        "collections": registry.own_folders(modules),
        "studies": {key: _alone(point) for key, point in missing.items()},
    }
    done = subprocess.run(
        [sys.executable, "-m", "circlet.training.measure"],
        input=json.dumps(given), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        *_, last = done.stderr.strip().splitlines() or [""]
        if done.returncode < 0:
            last = f"measuring what a step costs was ended by signal {-done.returncode}"
        raise CircletError(last.removeprefix("error: "))
    sys.stderr.write(done.stderr)  # warnings of torch, which jobs do not repeat
    found: dict[str, Any] = json.loads(done.stdout)
    for file in {_file(point) for point in missing.values()}:
        _keep(file, {k: found[k] for k, point in missing.items() if _file(point) == file})


def _alone(point: "Point") -> str:
    """The study of a point's first block, without what a step does not depend on: see `_key`."""
    schedules = {kind: usual and Schedule() for kind, usual in point.schedules.items()}
    settings = structs.replace(point.settings, log=Logs.of(schedules))
    return replace(point, settings=settings, interventions=[], parent=None).blocks[0].study


def _keep(file: Path, found: dict[str, Any]) -> None:
    """Keep it for other processes; where that is not possible, each measures for itself."""
    kept = _kept(file)
    kept |= _read(file) | found  # others may have added to it
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as temporary:
            json.dump(kept, temporary)
        Path(temporary.name).replace(file)
