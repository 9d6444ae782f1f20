"""Runs that are trained together, whatever trains them: their logs, and their state."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from circlet.study import interventions
from circlet.study.points import Point
from circlet.study.seeds import PURPOSES
from circlet.training.changes import Changes
from circlet.training.recorder import Recorder

Arrays = dict[str, np.ndarray]


class Group:
    """Runs that are trained together: everything about them that changes from step to step."""

    def __init__(self, point: Point, seeds: Sequence[int], device: str):
        self.point, self.seeds = point, list(seeds)
        self.recorder = Recorder(point, seeds)
        self.device = device  # as the logs name it
        self.done = -1  # steps; step 0 is not recorded yet
        self.seconds = 0.0  # of computing time
        self.startable: Any = True  # whether the start of each run with a parent is finite
        self.changes = Changes(point)
        self.weights: dict[str, Any]  # the arrays that are trained or moved, by name
        self.trained: list[np.ndarray]  # arrays, of a single run in NumPy
        self.norms: Any = None  # at which the weights of each run are kept, (runs,)

    def finite(self) -> np.ndarray:
        """Return whether all values of a run are finite, (runs,)."""
        raise NotImplementedError

    def metrics(self) -> dict[str, Any]:
        """Return the metrics by name."""
        raise NotImplementedError

    def gradient(self) -> dict[str, Any]:
        """Return the gradient of the loss on the whole train set, by name."""
        raise NotImplementedError

    def signals(self, embedding: Any) -> Any:
        """Return signals (..., (p-1)//2) of an embedding (..., p, d), or of its gradient.

        They are the norms of F_k = sum_n exp(-2 pi i k n / p) E_n, vectors in C^d. Frequencies k
        and p - k are the same circle, and k = 0 is the mean, so k runs over 1..(p-1)//2. At N(0, 1)
        initialisation a signal is about sqrt(p d).
        """
        p = embedding.shape[-2]
        coefficients = np.fft.rfft(embedding, axis=-2)[..., 1 : (p - 1) // 2 + 1, :]
        return np.linalg.norm(coefficients, axis=-1)

    def norm(self, array: Any) -> Any:
        """Return the norm of each run's part of an array."""
        return np.linalg.norm(array.ravel())

    def keep(self, kind: str, arrays: dict[str, Any]) -> None:
        """Give the recorder the values of a kind of log at this step."""
        raise NotImplementedError

    def scale(self, factors: np.ndarray) -> None:
        """Multiply all trained weights of each run by a factor (runs,)."""
        for array in self.trained:
            array *= factors.astype(array.dtype)

    def trained_norms(self) -> np.ndarray:
        """Return the norm of all trained weights of each run, (runs,) float64."""
        squares = (np.square(array, dtype=float).sum() for array in self.trained)
        return np.sqrt([sum(squares)])

    def constrain(self) -> None:
        """Keep the norm of the weights after a step, if the point has the intervention ``clamp``.

        Khanh, arXiv 2606.18465, clamps the norm to separate its effect from that of the logits.
        """
        clamp = self.changes.clamp
        if not clamp or self.done < clamp["step"]:
            return
        norms = self.trained_norms()
        if self.done == clamp["step"]:
            self.norms = clamp["factor"] * norms
        else:
            with np.errstate(all="ignore"):  # a run that diverges
                self.scale(self.norms / norms)

    def record(self) -> None:
        """Record what is to be logged at this step."""
        due = self.recorder.due.get(self.done, ())
        needs_gradient = "gradients" in due or "gradient_norms" in due
        gradient = self.gradient() if needs_gradient else {}
        for kind in due:
            match kind:
                case "curves":
                    arrays = self.metrics()
                case "signals":
                    arrays = {"signal": self.signals(self.weights["embedding"])}
                case "gradients":
                    arrays = {"gradient": self.signals(gradient["embedding"])}
                case "gradient_norms":
                    arrays = {name: self.norm(array) for name, array in gradient.items()}
                case "embeddings":
                    arrays = {"vector": self.weights["embedding"]}
                case _:
                    arrays = self.weights
            self.keep(kind, arrays)

    def state(self) -> dict[str, Any]:
        """Return all that ``restore`` needs to resume at this step, in dictionaries."""
        return {
            "done": self.done,
            "seconds": self.seconds,
            "norms": self.norms,
            "recorded": self.recorder.recorded,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from a state of the same runs."""
        self.done, self.seconds, self.norms = state["done"], state["seconds"], state["norms"]
        self.recorder.resume(state.pop("recorded"))  # frees what is copied

    def tables(self) -> dict[str, pa.Table]:
        """Return the logs of its runs by kind."""
        n, settings = len(self.seeds), self.point.settings
        streams = [self.point.seeds(seed) for seed in self.seeds]
        last = self.recorder.last("curves")
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
                "dtype": [settings.dtype] * n,
                "products": [settings.products] * n,
            }
        )


def tables(point: Point, groups: Sequence[Group]) -> dict[str, pa.Table]:
    """Return the logs of all groups of a block."""
    by_group = [group.tables() for group in groups]
    return {kind: pa.concat_tables([t[kind] for t in by_group]) for kind in point.logs}


def initial(point: Point, equations: Any, seed: int, parent: Arrays) -> Arrays:
    """Return the arrays of a run at step 0, after its interventions, float64, an embedding first.

    ``equations`` has the functions ``initial`` and perhaps ``learning_rate_multipliers``.
    """
    streams = point.seeds(seed)
    arrays = equations.initial(point.parameters, streams)
    if point.system.embedding:
        arrays = {"embedding": arrays.pop("embedding"), **arrays}
    draws = streams.stream("intervention")
    for name, arguments in interventions.list_interventions(point.interventions):
        arrays = interventions.apply(name, arguments, arrays, draws, parent)
    return arrays


def multipliers(point: Point, equations: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Return the multipliers of learning rate and weight decay by name, where they are not 1.

    A learning rate of 0 freezes the array.
    """
    kinds = ("learning_rate_multipliers", "weight_decay_multipliers")
    declared: list[Any] = [getattr(equations, k, lambda _: {})(point.parameters) for k in kinds]
    rates, decays = declared
    return rates | ({"embedding": 0} if point.intervenes("freeze") else {}), decays
