"""Cost of runs whose system does not declare it: measured once, kept in the user's cache.

A separate process measures, because that needs torch. The numbers decide what jobs request and how
long the plan expects them to take, never the results.
"""

import contextlib
import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from circlet.errors import CircletError
from circlet.study import fingerprint, registry

if TYPE_CHECKING:
    from circlet.study.points import Point


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


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "circlet" / "costs"


def _file(point: "Point") -> Path:
    return _folder() / f"{point.system.name}.json"


def _key(point: "Point") -> str:
    code = fingerprint.own_code(point.system.equations)
    made = [code, point.parameters, point.settings["dtype"]]
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:16]


@functools.cache
def _kept(file: Path) -> dict[str, Measured]:
    """What the cache has of a system; whatever is not readable is measured anew."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {key: Measured.of(cost) for key, cost in found.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def known(point: "Point") -> Measured | None:
    """What a run costs, if it has been measured."""
    return _kept(_file(point)).get(_key(point))


def of(point: "Point") -> Measured:
    """What a run costs; it is measured if it has not been. Raises CircletError if it cannot be."""
    if known(point) is None:
        measure([point])
    found = known(point)
    assert found is not None
    return found


def measure(points: Iterable["Point"]) -> None:
    """Measure what is not known yet, in one other process; raises CircletError.

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
        own = {k: Measured.of(found[k]) for k, point in missing.items() if _file(point) == file}
        kept = _kept(file)
        kept |= own
        _write(file, kept)


def _alone(point: "Point") -> str:
    """The study of a point's first block, without what a step does not depend on: see `_key`."""
    log: dict[str, Any] = {kind: usual and {} for kind, usual in point.settings["log"].items()}
    settings = point.settings | {"log": log}
    return replace(point, settings=settings, interventions=[], parent=None).blocks[0].study


def _write(file: Path, kept: dict[str, Measured]) -> None:
    """Keep it for other processes; where that is not possible, each measures for itself."""
    text = json.dumps({key: vars(cost) for key, cost in kept.items()})
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as temporary:
            temporary.write(text)
        Path(temporary.name).replace(file)
