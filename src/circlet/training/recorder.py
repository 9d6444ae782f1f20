"""Collect the values to log during training, and arrange them as the declared logs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from circlet.storage import schema
from circlet.study.points import Point

INDEX = {  # of logs with a row per entry of an array: column that numbers entries, first number
    "signals": ("frequency", 1),
    "gradients": ("frequency", 1),
    "embeddings": ("token", 0),
}

Recorded = dict[str, tuple[list[int], dict[str, np.ndarray]]]
"""By kind of log, its steps so far and float32 arrays (steps, runs, ...) by name."""


def as_logged(point: Point, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a group that may have logged more, reduced to a point's steps.

    Raises LookupError if it lacks a step.
    """
    recorded: Recorded = {}
    for kind in point.logs[1:]:
        steps, arrays = state["recorded"][kind]
        due = [step for step in point.steps_logged(kind) if step <= state["done"]]
        if missing := {*due} - {*steps}:
            raise LookupError(f"no {kind} of step {min(missing)}")
        rows = np.searchsorted(steps, due)
        recorded[kind] = due, {name: array[rows] for name, array in arrays.items()}
    return state | {"recorded": recorded}


class Recorder:
    """The logs of a group of runs, kept in memory until its runs are done."""

    def __init__(self, point: Point, seeds: Sequence[int]):
        self.point, self.metrics = point, tuple(point.system.metrics)
        self.seeds = np.asarray(seeds, dtype=np.int32)
        self.due: dict[int, list[str]] = {}  # kinds of logs by step
        self.lengths = dict.fromkeys(point.logs[1:], 0)  # at the end; not of the outcomes
        for kind in self.lengths:
            for step in point.steps_logged(kind):
                self.due.setdefault(step, []).append(kind)
                self.lengths[kind] += 1
        self.steps: dict[str, list[int]] = {kind: [] for kind in self.lengths}  # so far
        self._arrays: dict[str, dict[str, np.ndarray]] = {kind: {} for kind in self.lengths}

    def keep(self, kind: str, step: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep a copy of what is logged at a step, arrays with the runs first, in float32."""
        kept, row = self._arrays[kind], len(self.steps[kind])
        if not row:
            for name, array in arrays.items():
                kept[name] = np.empty((self.lengths[kind], *array.shape), np.float32)
        for name, rows in kept.items():
            if arrays[name].shape != rows.shape[1:]:  # would be broadcast
                raise ValueError(f"{kind} {name}: has the shape {arrays[name].shape} at {step}")
            rows[row] = arrays[name]
        self.steps[kind].append(step)

    @property
    def recorded(self) -> Recorded:
        """All that is recorded so far."""
        return {
            kind: ([*steps], {k: array[: len(steps)] for k, array in self._arrays[kind].items()})
            for kind, steps in self.steps.items()
        }

    def resume(self, recorded: Recorded) -> None:
        """Continue from what was recorded before."""
        for kind, (steps, arrays) in recorded.items():
            for row, step in enumerate(steps):
                self.keep(kind, step, {name: array[row] for name, array in arrays.items()})

    def last(self, kind: str) -> dict[str, np.ndarray]:
        """Return a log's arrays (runs, ...) at the last step of a run; none if it lacks it."""
        steps, arrays = self.recorded.get(kind, ([], {}))
        is_there = steps[-1:] == [self.point.steps]
        return {name: array[-1] for name, array in arrays.items()} if is_there else {}

    def tables(self, outcomes: dict[str, Any]) -> dict[str, pa.Table]:
        """Return all logs of the runs as tables, given the columns of the log ``runs``."""
        columns = {k: self._columns(k, *kept) for k, kept in self.recorded.items() if kept[0]}
        columns["runs"] = outcomes
        declared = schema.logs(self.point.system)
        return {
            kind: schema.table(columns[kind], declared[kind])
            if kind in columns
            else declared[kind].empty_table()
            for kind in self.point.logs
        }

    def _columns(
        self, kind: str, steps: list[int], arrays: dict[str, np.ndarray]
    ) -> dict[str, Any]:
        """Return a log's columns: a row per step and run, and per name or entry of an array."""
        runs, names = len(self.seeds), list(arrays)
        if kind == "curves":
            return {
                "seed": np.tile(self.seeds, len(steps)),
                "step": np.repeat(steps, runs),
                **{name: array.ravel() for name, array in arrays.items()},
            }
        if kind in INDEX:
            (name,), (index, first) = names, INDEX[kind]
            cells = arrays[name].swapaxes(0, 1)
            n = cells.shape[2]  # (runs, steps, n, ...)
            return {
                "seed": np.repeat(self.seeds, len(steps) * n),
                "step": np.tile(np.repeat(steps, n), runs),
                index: np.tile(np.arange(first, first + n), runs * len(steps)),
                name: cells.reshape(runs * len(steps) * n, *cells.shape[3:]),
            }
        flat = [array.reshape(len(steps), runs, -1) for array in arrays.values()]
        cells = np.concatenate(flat, 2).ravel()
        rows: dict[str, Any] = {
            "seed": np.tile(np.repeat(self.seeds, len(names)), len(steps)),
            "step": np.repeat(steps, runs * len(names)),
            "name": names * (runs * len(steps)),
        }
        if kind == "gradient_norms":
            return rows | {"norm": cells}
        shapes: list[Any] = [array.shape[2:] for array in arrays.values()]
        times = runs * len(steps)
        dimensions = np.tile(np.concatenate(shapes), times), np.tile([*map(len, shapes)], times)
        sizes = np.tile([int(np.prod(shape)) for shape in shapes], times)
        return rows | {"shape": schema.Lists(*dimensions), "values": schema.Lists(cells, sizes)}
