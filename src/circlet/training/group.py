"""Runs that are trained together, whatever trains them: their logs, and their state."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from circlet.study.points import Point
from circlet.study.seeds import PURPOSES
from circlet.training.recorder import Recorder

Arrays = dict[str, np.ndarray]

After = Callable[[int, int, list["Group"]], None]
"""Called when a step is done and recorded: steps done, steps in all, and the groups so far."""


class Group:
    """Runs that are trained together: everything about them that changes from step to step."""

    def __init__(self, point: Point, seeds: Sequence[int], device: str):
        self.point, self.seeds = point, list(seeds)
        self.recorder = Recorder(point, seeds)
        self.device = device  # as the logs name it
        self.done = -1  # steps; step 0 is not recorded yet
        self.seconds = 0.0  # of computing time
        self.startable: Any = True  # of runs with a parent, whether it is finite

    def finite(self) -> np.ndarray:
        """Whether all values of a run are finite, (runs,)."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """All that ``restore`` needs to resume from here: numbers and arrays in dictionaries."""
        raise NotImplementedError

    def tables(self) -> dict[str, pa.Table]:
        """The logs of its runs by kind."""
        n, settings = len(self.seeds), self.point.settings
        streams = [self.point.seeds(seed) for seed in self.seeds]
        last = self.recorder.kept.get("curves", {}).get(self.point.steps, {})
        final = {k: last[k] if last else np.full(n, np.nan) for k in self.point.system.metrics}
        finite = self.finite()
        if "train_loss" in last:
            finite &= np.isfinite(final["train_loss"])
        startable = np.broadcast_to(self.startable, n)
        return self.recorder.tables(
            {
                "seed": self.seeds,
                **{f"{kind}_seed": [getattr(s, kind) for s in streams] for kind in PURPOSES},
                "steps": [self.point.steps] * n,
                "status": np.select([finite, startable], ["finished", "diverged"], "no_parent"),
                **final,
                "seconds": [self.seconds / n] * n,
                "device": [self.device] * n,
                "dtype": [settings["dtype"]] * n,
                "products": [settings["products"]] * n,
            }
        )


def tables(point: Point, groups: Sequence[Group]) -> dict[str, pa.Table]:
    """The logs of all groups of a block."""
    found = [group.tables() for group in groups]
    return {kind: pa.concat_tables([t[kind] for t in found]) for kind in point.logs}
