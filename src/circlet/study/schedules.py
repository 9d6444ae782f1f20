"""Schedules: the steps at which a kind of log is written."""

import functools
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from circlet.errors import ConfigError

INT32_MAX = 2**31 - 1  # of integers in columns, and of the values of a column of lists
MOST = 1_000_000  # steps of a log


def steps_of(
    schedule: dict[str, Any] | None, steps: int, epoch: int = 1, early: Iterable[int] = ()
) -> np.ndarray:
    """The steps that a schedule of the config names, sorted, int64; none if it is null.

    The first and the last of the ``steps`` of a run are always included, and so are those of
    ``early`` that the run reaches. ``epoch`` is the number of steps per epoch. Raises ConfigError
    if there are more than ``MOST``.
    """
    return _steps_of(json.dumps(schedule), steps, epoch, tuple(early))


@functools.lru_cache(maxsize=64)  # the points of an experiment mostly have the same
def _steps_of(text: str, steps: int, epoch: int, early: tuple[int, ...]) -> np.ndarray:
    schedule = json.loads(text)
    if schedule is None:
        return np.empty(0, dtype=np.int64)
    strides = []
    if every := schedule.get("every"):
        strides.append((every, min(schedule.get("until", steps), steps)))
    if epochs := schedule.get("every_epochs"):
        strides.append((epochs * epoch, steps))
    if any(until // stride > MOST for stride, until in strides):
        raise ConfigError(f"more than {MOST} steps of a log; log fewer")
    even = (
        _log_spaced(schedule["per_decade"]) if "per_decade" in schedule else np.empty(0, np.int64)
    )
    named = [0, steps, *schedule.get("at", []), *(step for step in early if step <= steps)]
    multiples = [np.arange(0, until + 1, stride) for stride, until in strides]
    return np.unique(np.concatenate([named, even[even <= steps], *multiples]).astype(np.int64))


@functools.lru_cache(maxsize=64)
def _log_spaced(per_decade: int) -> np.ndarray:
    """All steps that are spaced evenly in the logarithm, sorted."""
    decades = math.ceil(math.log10(INT32_MAX))
    steps = (round(10 ** (i / per_decade)) for i in range(decades * per_decade + 1))
    return np.unique(np.fromiter(steps, dtype=np.int64))


def evenly(values: Sequence[Any], most: int) -> list[Any]:
    """At most a number of some steps or other values, from the first to the last."""
    places = np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int)
    return [values[i] for i in places]
