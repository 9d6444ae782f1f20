"""Ranges of swept parameters, and random search.

Ranges become lists when a config is read, so that no other code sees them. Computed values, but
not the given ends, are rounded to four significant digits, or more if the range is narrow, so that
names of folders stay short.
"""

import itertools
import math
import zlib
from typing import Any

import msgspec
import numpy as np

from circlet.config.experiment import Experiment, Range, Sample
from circlet.config.schema import Schema, shown
from circlet.errors import ConfigError

GRIDS = ("linspace", "logspace", "range")
_LARGEST = 1e300  # so that no difference of two overflows


def expanded(where: str, experiment: Experiment, schemas: dict[str, Schema]) -> Experiment:
    """Return an experiment with lists for all that it sweeps, and cases for what it samples.

    Raises ConfigError. ``schemas`` are those of the parameters of its system.
    """
    sweep, drawn = dict(experiment.sweep), dict[str, tuple[str, list[Any]]]()
    for name, values in experiment.sweep.items():
        if isinstance(values, Range):
            location = f"{where}.sweep.{name}"
            ((kind, numbers),) = msgspec.to_builtins(values).items()
            is_whole = schemas.get(name, {}).get("type") == "integer"
            if kind in GRIDS:
                sweep[name] = _grid(location, kind, numbers, is_whole)
            else:
                _check_drawn(location, kind, numbers, is_whole)
                drawn[name] = (kind, numbers)
                del sweep[name]
    if drawn and not experiment.sample:
        raise ConfigError(
            f"{where}.sweep.{min(drawn)}: is drawn at random; give the number of points, as in "
            "`sample: 100`"
        )
    if drawn and experiment.cases:
        raise ConfigError(f"{where}: has both cases and values drawn at random; remove one of them")
    sample = experiment.sample
    count = sample.count if isinstance(sample, Sample) else sample
    # A config that was expanded before has as many cases as its sample.
    if experiment.sample and experiment.cases and len(experiment.cases) != count:
        raise ConfigError(f"{where}: has both cases and sample; remove one of them")
    if experiment.sample and not (drawn or experiment.cases):
        raise ConfigError(
            f"{where}.sample: nothing is drawn at random; give a parameter a range under `sweep`, "
            "such as learning_rate: {loguniform: [0.001, 0.1]}"
        )
    cases = _drawn(where, drawn, experiment.sample, schemas) if drawn else experiment.cases
    return msgspec.structs.replace(experiment, sweep=sweep, cases=cases)


def _rounded(value: float, low: float, high: float) -> float:
    """Round a value between ``low`` and ``high`` to four digits, or more if these are close."""
    rounded, digits = float(f"{value:.4g}"), 4
    while abs(rounded - value) > (high - low) / 1000:
        digits += 1
        rounded = float(f"{value:.{digits}g}")
    return min(max(rounded, low), high) if abs(rounded) > 1e-9 * (high - low) else 0.0


def _grid(where: str, kind: str, numbers: list[Any], is_whole: bool) -> list[Any]:
    """Return the values of a grid; for an integer parameter rounded, without duplicates."""
    _check_size(where, kind, numbers)
    if kind == "range":
        if any(number != int(number) for number in numbers) or not all(numbers[2:]):
            raise ConfigError(
                f"{where}.range: must be whole numbers: first, end and step; else use linspace"
            )
        values: list[Any] = list(range(*map(int, numbers))[:10_001])
    else:
        if len(numbers) != 3 or numbers[2] != int(numbers[2]) or not 2 <= numbers[2] <= 10_000:
            raise ConfigError(
                f"{where}.{kind}: must be the first and the last value, and how many (2 to 10 000)"
            )
        first, last, count = numbers
        if kind == "logspace" and not (first > 0 and last > 0):
            raise ConfigError(f"{where}.logspace: both ends must be larger than 0")
        space = np.geomspace if kind == "logspace" else np.linspace
        between = space(first, last, int(count))[1:-1].tolist()
        ends = min(first, last), max(first, last)
        values = [first, *(round(v) if is_whole else _rounded(v, *ends) for v in between), last]
        different = list(dict.fromkeys(values))
        if len(different) < len(values) and not is_whole:
            raise ConfigError(f"{where}.{kind}: some of {count} values are equal when rounded")
        values = different
    if not values:
        raise ConfigError(f"{where}.{kind}: {shown(numbers)}: has no values")
    if len(values) > 10_000:
        raise ConfigError(f"{where}.{kind}: has {len(values)} values, at most 10000 are allowed")
    return values


def _check_size(where: str, kind: str, numbers: list[Any]) -> None:
    if any(abs(number) > _LARGEST for number in numbers):
        raise ConfigError(f"{where}.{kind}: {shown(numbers)}: must be below {_LARGEST:g}")


def _check_drawn(where: str, kind: str, numbers: list[Any], is_whole: bool) -> None:
    if kind == "choice":
        return
    _check_size(where, kind, numbers)
    if len(numbers) != 2:
        raise ConfigError(f"{where}.{kind}: must be the smallest and the largest value")
    if is_whole and any(number != int(number) for number in numbers):
        raise ConfigError(f"{where}.{kind}: {shown(numbers)}: both must be whole numbers")
    if not numbers[0] < numbers[1] or (kind == "loguniform" and numbers[0] <= 0):
        least = " larger than 0, and" if kind == "loguniform" else ""
        raise ConfigError(
            f"{where}.{kind}: {shown(numbers)}: the first must be{least} smaller than the second"
        )


def _drawn(
    where: str,
    ranges: dict[str, tuple[str, list[Any]]],
    sample: Any,
    schemas: dict[str, Schema],
) -> list[dict[str, Any]]:
    """Draw points at random, all different.

    Each parameter has a stream of its own, so that more points, or another parameter, change none
    of the values that were drawn before.
    """
    count, seed = (sample.count, sample.seed) if isinstance(sample, Sample) else (sample, 0)
    max_draws = 20 * count + 100  # most draws: with few possible values, most repeat
    columns = [
        _stream(*kind_and_numbers, seed, name, max_draws, schemas.get(name, {}))
        for name, kind_and_numbers in ranges.items()
    ]
    rows = dict.fromkeys(zip(*columns, strict=True))
    if len(rows) < count:
        raise ConfigError(f"{where}.sample: there are fewer than {count} different points")
    return [dict(zip(ranges, row, strict=True)) for row in itertools.islice(rows, count)]


def _stream(
    kind: str, numbers: list[Any], seed: int, name: str, max_draws: int, schema: dict[str, Any]
) -> list[Any]:
    u = np.random.default_rng([seed, zlib.crc32(name.encode())]).random(max_draws)
    if kind == "choice":
        return [numbers[int(x * len(numbers))] for x in u]
    low, high = numbers
    if schema.get("type") == "integer":
        if kind == "uniform":
            return [int(low) + int(x * (high - low + 1)) for x in u]
        values = np.exp(math.log(low) + u * math.log((high + 1) / low))
        return [min(int(x), int(high)) for x in values]
    if kind == "loguniform":
        spread = np.exp(math.log(low) + u * math.log(high / low))
    else:
        spread = low + u * (high - low)
    return [_rounded(x, low, high) for x in spread.tolist()]
