"""Schedules: the steps at which a kind of log is written."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import UNSET

from circlet.config.experiment import INT32_MAX, Schedule
from circlet.errors import ConfigError

MAX_STEPS = 1_000_000  # most steps of a log


@functools.lru_cache(maxsize=64)  # most points of an experiment have the same schedule
def steps_of(
    schedule: Schedule | None, steps: int, epoch: int = 1, early: Sequence[int] = ()
) -> np.ndarray:
    """Return the steps of a schedule of the config, sorted, int64; none if it is null.

    The first and the last of the ``steps`` of a run are always included, and so are those of
    ``early`` that the run reaches. ``epoch`` is the number of steps per epoch. Raises ConfigError
    if there are more than ``MAX_STEPS``.
    """
    if schedule is None:
        return np.empty(0, dtype=np.int64)
    strides = []
    if schedule.every:
        until = steps if schedule.until is UNSET else min(schedule.until, steps)
        strides.append((schedule.every, until))
    if schedule.every_epochs:
        strides.append((schedule.every_epochs * epoch, steps))
    if any(until // stride > MAX_STEPS for stride, until in strides):
        raise ConfigError(f"more than {MAX_STEPS} steps of a log; log fewer")
    parts = [np.arange(0, until + 1, stride) for stride, until in strides]
    if schedule.per_decade:
        spaced = _log_spaced(schedule.per_decade)
        parts.append(spaced[spaced <= steps])
    single = [0, steps, *(schedule.at or ()), *(step for step in early if step <= steps)]
    return np.unique(np.concatenate([single, *parts]).astype(np.int64))


@functools.lru_cache(maxsize=64)
def _log_spaced(per_decade: int) -> np.ndarray:
    """Return all steps that are evenly spaced in the logarithm, sorted."""
    decades = math.ceil(math.log10(INT32_MAX))
    steps = (round(10 ** (i / per_decade)) for i in range(decades * per_decade + 1))
    return np.unique(np.fromiter(steps, dtype=np.int64))


def evenly(values: Sequence[Any], max_count: int) -> list[Any]:
    """Return at most ``max_count`` values, evenly spaced in order, from the first to the last."""
    places = np.linspace(0, len(values) - 1, min(max_count, len(values))).round().astype(int)
    return [values[i] for i in places]
