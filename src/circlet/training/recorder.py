"""Collect the values to log during training, and arrange them as the declared logs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from circlet.storage import schema
from circlet.study.points import Point

PIECE = 2**20  # most numbers for which memory is allocated at once
INDEX = {  # of logs with a row per entry of an array: column that numbers entries, first number
    "signals": ("frequency", 1),
    "gradients": ("frequency", 1),
    "embeddings": ("token", 0),
}

Kept = dict[str, dict[int, dict[str, np.ndarray]]]
"""Recorded arrays, float32 with the runs first, by kind of log, step and name."""


def as_logged(point: Point, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a group that may have logged more, reduced to a point's steps.

    Raises LookupError if it lacks a step.
    """
    recorded: Kept = {}
    for kind in point.logs[1:]:
        due = [step for step in point.steps_logged(kind) if step <= state["done"]]
        if missing := [step for step in due if step not in state["recorded"][kind]]:
            raise LookupError(f"no {kind} of step {missing[0]}")
        recorded[kind] = {step: state["recorded"][kind][step] for step in due}
    return state | {"recorded": recorded}


class Recorder:
    """The logs of a group of runs, kept in memory until its runs are done."""

    def __init__(self, point: Point, seeds: Sequence[int]):
        self.point, self.metrics = point, tuple(point.system.metrics)
        self.seeds = np.asarray(seeds, dtype=np.int32)
        self._free, self._made = np.empty(0, np.float32), 0  # memory for copies
        self.kept: Kept = {kind: {} for kind in point.logs[1:]}  # all except the outcomes
        self.due: dict[int, list[str]] = {}  # kinds of logs by step
        for kind in self.kept:
            for step in point.steps_logged(kind):
                self.due.setdefault(step, []).append(kind)

    @np.errstate(over="ignore")  # of a run that diverges
    def keep(self, kind: str, step: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep a copy of what is logged at a step, in float32."""
        self.kept[kind][step] = {name: self._copied(array) for name, array in arrays.items()}

    def _copied(self, array: np.ndarray) -> np.ndarray:
        """Return a copy of an array; memory for small ones is allocated in large pieces.

        Separate small copies would fill gaps between the large arrays of a step, which would then
        no longer fit: the process would grow with every logged step.
        """
        n = array.size
        if n > PIECE // 4:
            return array.astype(np.float32)
        if n > len(self._free):  # doubles the memory, so that few copies take little
            self._free = np.empty(max(n, min(self._made, PIECE)), np.float32)
        self._made += n
        copied, self._free = self._free[:n].reshape(array.shape), self._free[n:]
        copied[...] = array
        return copied

    def tables(self, outcomes: dict[str, Any]) -> dict[str, pa.Table]:
        """Return all logs of the runs as tables, given the columns of the log ``runs``."""
        columns = {kind: self._columns(kind, kept) for kind, kept in self.kept.items() if kept}
        columns["runs"] = outcomes
        declared = schema.logs(self.point.system)
        return {
            kind: schema.table(columns[kind], declared[kind])
            if kind in columns
            else declared[kind].empty_table()
            for kind in self.point.logs
        }

    def _columns(self, kind: str, kept: dict[int, dict[str, np.ndarray]]) -> dict[str, Any]:
        """Return a log's columns: a row per step and run, and per name or entry of an array."""
        steps, runs = list(kept), len(self.seeds)
        names = list(kept[steps[0]])
        if kind == "curves":
            values = {k: np.concatenate([kept[step][k] for step in steps]) for k in names}
            return {
                "seed": np.tile(self.seeds, len(steps)),
                "step": np.repeat(steps, runs),
                **values,
            }
        if kind in INDEX:
            (name,), (index, first) = names, INDEX[kind]
            cells = np.stack([kept[step][name] for step in steps], 1)
            n = cells.shape[2]  # (runs, steps, n, ...)
            return {
                "seed": np.repeat(self.seeds, len(steps) * n),
                "step": np.tile(np.repeat(steps, n), runs),
                index: np.tile(np.arange(first, first + n), runs * len(steps)),
                name: cells.reshape(runs * len(steps) * n, *cells.shape[3:]),
            }
        numbers = sum(array.size for array in kept[steps[0]].values()) // runs
        all_values = np.empty((len(steps), runs, numbers), np.float32)
        for place, step in enumerate(steps):
            arrays = [array.reshape(runs, -1) for array in kept[step].values()]
            np.concatenate(arrays, 1, out=all_values[place])
        cells = all_values.ravel()
        rows: dict[str, Any] = {
            "seed": np.tile(np.repeat(self.seeds, len(names)), len(steps)),
            "step": np.repeat(steps, runs * len(names)),
            "name": names * (runs * len(steps)),
        }
        if kind == "gradient_norms":
            return rows | {"norm": cells}
        shapes: list[Any] = [array.shape[1:] for array in kept[steps[0]].values()]
        times = runs * len(steps)
        dimensions = np.tile(np.concatenate(shapes), times), np.tile([*map(len, shapes)], times)
        sizes = np.tile([int(np.prod(shape)) for shape in shapes], times)
        return rows | {"shape": schema.Lists(*dimensions), "values": schema.Lists(cells, sizes)}
