"""Schedules: the steps at which a kind of log is written.

The plan only counts these steps and asks whether some of them are there. Both follow from the
numbers in the config, so that a schedule of a billion steps costs the plan no more than one of ten.
Jobs list the steps.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

INT32_MAX = 2**31 - 1  # of integers in columns, and of the values of a column of lists


@dataclass(frozen=True, eq=False)
class Schedule:
    """A set of steps: multiples of some numbers, and listed steps."""

    strides: tuple[tuple[int, int], ...]  # each: the multiples of the first, up to the second
    listed: np.ndarray  # sorted, int64

    @classmethod
    def of(
        cls, schedule: dict[str, Any] | None, steps: int, epoch: int = 1, early: Iterable[int] = ()
    ) -> "Schedule":
        """The steps that a schedule of the config names; none if it is null.

        The first and the last of the ``steps`` of a run are always included, and so are those of
        ``early`` that the run reaches. ``epoch`` is the number of steps per epoch.
        """
        if schedule is None:
            return cls((), np.empty(0, dtype=np.int64))
        strides = []
        if every := schedule.get("every"):
            strides.append((every, min(schedule.get("until", steps), steps)))
        if epochs := schedule.get("every_epochs"):
            strides.append((epochs * epoch, steps))
        even = np.empty(0, dtype=np.int64)
        if per_decade := schedule.get("per_decade"):
            even = _even(per_decade)
            even = even[even <= steps]
        named = [0, steps, *schedule.get("at", []), *(step for step in early if step <= steps)]
        listed = np.union1d(np.asarray(named, dtype=np.int64), even)
        return cls(tuple(strides), listed)

    def count(self, every: int = 1, last: int = INT32_MAX) -> int:
        """How many of its steps there are, or only of the multiples of ``every`` up to ``last``."""
        found = 0
        # Each step once: those of one stride, less those of two, and so on.
        for size in range(1, len(self.strides) + 1):
            for chosen in itertools.combinations(self.strides, size):
                stride = math.lcm(every, *(number for number, _ in chosen))
                until = min(last, *(until for _, until in chosen))
                found += (-1) ** (size + 1) * (until // stride + 1)
        alone = (self.listed % every == 0) & (self.listed <= last)
        for number, until in self.strides:
            alone &= (self.listed % number != 0) | (self.listed > until)
        return found + int(alone.sum())

    @functools.cached_property
    def size(self) -> int:
        """The number of its steps."""
        return self.count()

    def contains(self, steps: range) -> bool:
        """Whether all of some steps belong to it, which begin at 0: ``range(0, 101, 10)``."""
        return self.count(steps.step, steps[-1]) == len(steps)

    @property
    def steps(self) -> list[int]:
        """Its steps, sorted."""
        parts = [np.arange(0, until + 1, number) for number, until in self.strides]
        return np.unique(np.concatenate([self.listed, *parts])).tolist()


class Schedules:
    """Schedules of the logs of an experiment, which its points share: each is counted once."""

    def __init__(self):
        self._known: dict[tuple, tuple[Any, Schedule]] = {}

    def of(
        self, kind: str, schedule: Any, steps: int, epoch: int, early: Iterable[int] = ()
    ) -> Schedule:
        """The schedule of one kind of log, see `Schedule.of`."""
        key = (kind, steps, epoch)
        source, found = self._known.get(key, (None, None))
        if found is None or source is not schedule:
            found = Schedule.of(schedule, steps, epoch, early)
            self._known[key] = schedule, found
        return found


@functools.lru_cache(maxsize=64)
def _even(per_decade: int) -> np.ndarray:
    """All steps that are spaced evenly in the logarithm, sorted."""
    decades = math.ceil(math.log10(INT32_MAX))
    steps = (round(10 ** (i / per_decade)) for i in range(decades * per_decade + 1))
    return np.unique(np.fromiter(steps, dtype=np.int64))


def evenly(values: Sequence[Any], most: int) -> list[Any]:
    """At most a number of some steps or other values, from the first to the last."""
    places = np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int)
    return [values[i] for i in places]
