"""The parent of a point: the point of another experiment that it starts from."""

from typing import Any

from circlet.errors import ConfigError
from circlet.study.points import Point


class ParentIndex:
    """Index of an experiment's points, in which points of other experiments find their parents.

    A point starts from the point with the same parameters. For a transfer only two kinds of
    parameters must agree: those that decide the shapes of the arrays, and those that the parent's
    experiment varies.
    """

    def __init__(self, candidates: list[Point], transfer: bool):
        self.name, self.transfer = candidates[0].experiment, transfer
        first = candidates[0].parameters
        self._swept = {
            k for parent in candidates for k, v in parent.parameters.items() if v != first.get(k)
        }
        self._by_key: dict[tuple[Any, ...], list[Point]] = {}
        for parent in candidates:
            self._by_key.setdefault(self._key(parent), []).append(parent)

    def _alike(self, point: Point) -> list[str]:
        """Return the names of the parameters in which a point and its parent must agree."""
        names = list(point.parameters)
        if not self.transfer:
            return names
        return [k for k in names if k in self._swept or k in point.system.shapes]

    def _key(self, point: Point) -> tuple[Any, ...]:
        same = [point.parameters[name] for name in self._alike(point)]
        return point.system.name, point.fixed_seeds.get("embedding"), *same

    def find(self, where: str, point: Point) -> Point:
        """Return a point's parent; raises ConfigError unless one point has its seeds and logs."""
        candidates = self._by_key.get(self._key(point), [])
        if len(candidates) > 1:  # several agree in the embedding seed: compare all else
            candidates = [
                parent
                for parent in candidates
                if parent.fixed_seeds == point.fixed_seeds and parent.arithmetic == point.arithmetic
            ]
        if len(candidates) != 1:
            how_many = "more than one point" if candidates else "no point"
            same = f"the {', '.join(self._alike(point))}" if self.transfer else "the parameters"
            raise ConfigError(
                f"{where}.interventions: {self.name} has {how_many} with {same} and seeds of "
                f"{point.name}"
            )
        available, needed = candidates[0].every_seed, point.every_seed
        if needed.start < available.start or needed.stop > available.stop:
            missing_seed = needed.start if needed.start not in available else available.stop
            raise ConfigError(
                f"{where}.seeds: {self.name}, which it starts from, has no seed {missing_seed}"
            )
        for kind in point.reads:
            if candidates[0].schedules[kind] is None:
                raise ConfigError(f"{where}.interventions: {self.name} does not log {kind}")
        return candidates[0]
