"""Swept parameters of an experiment: those that differ between its points, and their values."""

import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from circlet.study.points import Point, canonical
from circlet.study.seeds import PURPOSES


@dataclass(frozen=True)
class Swept:
    """A parameter, argument of an intervention, dtype or products that differs between points."""

    name: str  # its column in tables
    values: tuple[Any, ...]  # numbers sorted, words as in the config; None: a point has none

    @cached_property
    def is_words(self) -> bool:
        """Whether its values have no order."""
        return not all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)

    @cached_property
    def is_log(self) -> bool:
        """Whether a logarithmic scale suits its values.

        True if all values are positive, they span a factor of ten, and their median is nearer to
        the middle of the logarithms than to the middle of the values: 0.1, 0.3, 1, but not 0.1,
        0.2, ..., 1.
        """
        if self.is_words or self.values[0] <= 0 or self.values[-1] / self.values[0] < 10:
            return False
        low, median, high = self.values[0], statistics.median(self.values), self.values[-1]
        in_log = math.log(median / low) / math.log(high / low)
        return bool(abs(in_log - 0.5) < abs((median - low) / (high - low) - 0.5))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Its values as text."""
        return tuple(map(text, self.values))

    def places(self, points: Iterable[Point]) -> dict[str, int]:
        """Return the index (0, 1, ...) of each point's value among the values, by the point's name.

        Runs are grouped by these indices, because floats should not be compared and words have no
        other order.
        """
        index = {v: i for i, v in enumerate(self.values)}
        return {point.name: index[value(point, self.name)] for point in points}


def text(value: Any) -> str:
    """Return a value as text for names and figures."""
    return "none" if value is None else canonical(list(value) if type(value) is tuple else value)


def is_written(value: Any, written: str) -> bool:
    """Return whether a value is the one that a file names: 0.30 is 0.3, and true is True."""
    return _normalised(text(value)) == _normalised(written)


def _normalised(written: str) -> str:
    try:
        return text(float(written) + 0.0)  # -0 is 0
    except ValueError:
        return written.title() if written.lower() in ("true", "false") else written


def words(name: str) -> str:
    """Return a name in words; a symbol such as f_a stays unchanged."""
    return name if len(name.rpartition("_")[2]) == 1 else name.replace("_", " ")


def value(point: Point, name: str) -> Any:
    """Return a point's value of a swept parameter, None if it has none; lists become tuples."""
    point_value = point.values.get(name)
    return tuple(point_value) if isinstance(point_value, list) else point_value


def setting(point: Point, parameters: Iterable[Swept]) -> list[str]:
    """Return a point's values of swept parameters in words, such as ``weight decay 0.3``."""
    return [f"{words(q.name)} {text(value(point, q.name))}" for q in parameters]


def swept(points: Iterable[Point]) -> list[Swept]:
    """Return the parameters that differ between points of an experiment, without fixed seeds."""
    points = list(points)
    names = dict.fromkeys(name for point in points for name in point.values)
    parameters = []
    for name in names:
        values = list(dict.fromkeys(value(point, name) for point in points))
        if len(values) > 1:
            numbers = Swept(name, tuple(values))
            parameters.append(numbers if numbers.is_words else Swept(name, tuple(sorted(values))))
    return parameters


def fixes_seeds(points: Iterable[Point]) -> bool:
    """Return whether points differ in seeds that all their runs share."""
    return len({tuple(point.fixed_seeds.get(k) for k in PURPOSES) for point in points}) > 1


def pairs(points: list[Point], name: str, ends: list[Any]) -> Iterator[tuple[Point, Point, str]]:
    """Yield pairs of points that differ only in a parameter, with the others' values as text."""
    others = [parameter.name for parameter in swept(points) if parameter.name != name]
    alike: dict[tuple[Any, ...], dict[Any, Point]] = {}
    for point in points:
        key = tuple(value(point, other) for other in others)
        alike.setdefault((*key, *point.fixed_seeds.items()), {})[value(point, name)] = point
    for by_value in alike.values():
        if all(end in by_value for end in ends):
            first, second = (by_value[end] for end in ends)
            at = ", ".join(f"{o} {text(value(first, o))}" for o in others)
            yield first, second, at
