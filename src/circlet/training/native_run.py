"""Train runs by native kernels: one run after another, without torch."""

import bisect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from circlet import native
from circlet.study.points import Point
from circlet.study.seeds import Seeds
from circlet.training.group import Arrays, Group, initial, multipliers

# Steps of the first call of a kernel, and seconds that later calls aim at: between calls signals
# are handled and progress is shown.
FIRST, LONGEST = 64, 0.2
TIMED = 0.005  # least seconds of steps that are timed


def run_alone(
    point: Point,
    seeds: Sequence[int],
    parents: dict[int, Arrays] | None = None,
    saved: dict[str, Any] | None = None,
) -> Iterator["NativeRun"]:
    """Run one seed of a point, from its initial arrays or a saved state to the end.

    As `circlet.training.run.run_group`, but it yields after some steps, not after each.
    """
    (seed,) = seeds
    group = NativeRun(point, seed, (parents or {}).get(seed, {}))
    if saved:
        group.restore(saved)
    yield group
    while group.done < point.steps:
        group.advance()
        yield group
    group.close()


def timed(point: Point) -> tuple[float, dict[str, float]]:
    """Return the least seconds, of a few trials, of a step and of recording it by kind of log."""
    run = NativeRun(point, point.all_seeds.start, {})
    run.done = 0

    def seconds(act: Callable[[], None], enough: float) -> float:
        times, until = list[float](), time.process_time() + enough
        while len(times) < 2 or time.process_time() < until:
            started = time.process_time()
            act()
            times.append(time.process_time() - started)
        return min(times)

    steps = 1

    def train() -> None:
        run.run.train(run.done, steps, run.batches.of(run.done + 1, run.done + steps))
        run.done += steps

    while (took := seconds(train, 0)) < TIMED:
        steps *= 4

    def record(kind: str) -> None:
        run.record()
        run.recorder.steps[kind].clear()

    records = {}
    for kind in point.logs[1:]:
        run.recorder.due, run.recorder.lengths = {run.done: [kind]}, {kind: 1}
        records[kind] = seconds(partial(record, kind), TIMED)
    return took / steps, records


class NativeRun(Group):
    """A run that a kernel trains."""

    def __init__(self, point: Point, seed: int, parent: Arrays):
        super().__init__(point, [seed], "cpu")
        module: Any = native.starts(point.system.equations)
        streams, parameters = point.seeds(seed), point.parameters
        rates, _ = multipliers(point, module)
        self.run = native.Run(
            module.kernel(parameters, streams),
            initial(point, module, seed, parent),
            parameters,
            rates,
            point.settings.dtype,
        )
        self.weights = self.run.arrays
        self.startable = point.parent is None or bool(self.finite()[0])
        self.batches = Batches(parameters, streams)
        self.trained = [v for name, v in self.run.arrays.items() if rates.get(name, 1)]
        self.steps = FIRST  # of a call
        self.recorded = sorted(self.recorder.due)

    def finite(self) -> np.ndarray:
        """Return whether all values are finite, (1,)."""
        return np.array([np.isfinite(self.run.values).all()])

    def advance(self) -> None:
        """Take steps up to the next logged one, at most ``self.steps``, and record what is due."""
        started = time.process_time()
        if self.done < 0:
            self.done = 0
        else:
            place = bisect.bisect_right(self.recorded, self.done)
            due = self.recorded[place] if place < len(self.recorded) else self.point.steps
            until = self.changes.constant_until(self.done, due)
            steps = min(self.steps, until - self.done)
            for name, value in self.changes.settings(self.done + 1).items():
                setattr(self.run.optimizer, name, value)
            self.run.train(self.done, steps, self.batches.of(self.done + 1, self.done + steps))
            self.done += steps
            spent = max(time.process_time() - started, 1e-6)
            if steps == self.steps:
                self.steps = max(1, int(steps * min(2.0, LONGEST / spent)))
        self.constrain()
        with np.errstate(all="ignore"):  # a run that diverges has rows, too
            self.record()
        self.seconds += time.process_time() - started

    def metrics(self) -> dict[str, float]:
        """Return the metrics of the run by name."""
        measured = self.run.metrics()
        return {name: measured[name] for name in self.recorder.metrics}

    def gradient(self) -> Arrays:
        """Return the gradient of the loss on the whole train set, by name."""
        return self.run.gradient()

    def keep(self, kind: str, arrays: Mapping[str, Any]) -> None:
        """Give the recorder the values of a kind of log at this step."""
        self.recorder.keep(kind, self.done, {k: np.asarray(v)[None] for k, v in arrays.items()})

    def close(self) -> None:
        """Free all that only further training needs."""
        self.run.close()
        if not self.point.settings.keep_state:
            self.run.means = self.run.squares = self.run.values[:0]

    def state(self) -> dict[str, Any]:
        """Return the state with copies of its values and moments."""
        moments = {"means": self.run.means.copy(), "squares": self.run.squares.copy()}
        return super().state() | {"values": self.run.values.copy(), "optimizer": moments}

    def restore(self, state: dict[str, Any]) -> None:
        """Resume; a finished run needs no moments, unless it may continue."""
        super().restore(state)
        pairs, moments = [(state["values"], self.run.values)], state["optimizer"]
        if self.done != self.point.steps or len(moments["means"]):
            pairs += [(moments["means"], self.run.means), (moments["squares"], self.run.squares)]
        for saved, into in pairs:
            into[:] = saved


class Batches:
    """The orders of the epochs of a run, if it trains on batches."""

    def __init__(self, parameters: dict[str, Any], seeds: Seeds):
        size, n = parameters.get("batch_size", 0), parameters.get("n_train", 0)
        dropout = parameters.get("dropout", 0)
        self.per_epoch = -(-n // size) if size and (size < n or dropout) else 0
        draw = partial(native.Epochs.draw, seeds.order_words(), n=n, d=parameters["d"])
        self.draw = lru_cache(1)(partial(draw, dropout=dropout))  # an epoch may have many calls

    def of(self, first: int, last: int) -> native.Epochs | None:
        """Return the epochs of the steps ``first`` to ``last``, counted from 1."""
        if not self.per_epoch:
            return None
        epochs = range((first - 1) // self.per_epoch, (last - 1) // self.per_epoch + 1)
        return self.draw(epochs)
