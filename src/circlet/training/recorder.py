"""Collect what a config asks for while a block runs, and lay it out as the declared logs."""

from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from circlet.storage import schema
from circlet.study.points import Point
from circlet.study.seeds import Seeds
from circlet.training import fourier
from circlet.training.stack import check_alike

HELD = 2**28  # bytes of logs that may wait on a GPU
CURVES = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")


class Recorder:
    """The logs of one block, kept in memory until its runs are done."""

    def __init__(self, point: Point, seeds: list[int]):
        self.point = point
        self.seeds = np.asarray(seeds, dtype=np.int32)
        self.held = 0  # bytes that are kept on a GPU
        self._due: dict[int, set[str]] = {}
        self.kept: dict[str, dict[int, dict[str, Tensor]]] = {}  # kind, step, name
        for kind in point.logs[1:]:  # all but the outcomes
            self.kept[kind] = {}
            for step in point.steps_logged(kind):
                self._due.setdefault(step, set()).add(kind)

    def due(self, step: int) -> set[str]:
        """Kinds of logs that are written at a step."""
        return self._due.get(step, set())

    def curves(self, step: int, measured: dict[str, Tensor]) -> None:
        """Keep losses and accuracies, each of shape (runs,)."""
        self._keep("curves", step, measured)

    def gradients(self, step: int, gradient: Tensor) -> None:
        """Keep the norms by frequency of the gradient by the embedding, (runs, p, d)."""
        self._keep("gradients", step, {"gradient": fourier.signals(gradient)})

    def gradient_norms(self, step: int, gradient: dict[str, Tensor]) -> None:
        """Keep the norm of each part of the gradient of every run, by name."""
        norms = {
            name: torch.linalg.vector_norm(g.flatten(1), dim=1) for name, g in gradient.items()
        }
        self._keep("gradient_norms", step, norms)

    def arrays(self, step: int, state: dict[str, Tensor], due: set[str]) -> None:
        """Keep signals, embeddings and parameters where they are due."""
        if "signals" in due:
            self._keep("signals", step, {"signal": fourier.signals(state["embedding"])})
        if "embeddings" in due:
            self._keep("embeddings", step, {"embedding": state["embedding"]})
        if "parameters" in due:
            self._keep("parameters", step, state)

    def _keep(self, kind: str, step: int, arrays: dict[str, Tensor]) -> None:
        # A copy, as the next step changes the tensors in place. It stays where it is: to fetch it
        # from a GPU would make the CPU wait at every logged step.
        own = {name: array.to(torch.float32, copy=True) for name, array in arrays.items()}
        self.kept[kind][step] = own
        self.held += sum(array.nbytes for array in own.values() if array.is_cuda)
        if self.held > HELD:
            self.fetch()

    def fetch(self) -> None:
        """Bring to the CPU what is kept on a GPU, and wait for it."""
        for steps in self.kept.values():
            for step, arrays in steps.items():
                steps[step] = {name: array.cpu() for name, array in arrays.items()}
        self.held = 0

    def restore(self, kept: dict[str, Any], done: int, shapes: dict[str, tuple[int, ...]]) -> None:
        """Go on from what was kept up to a step; raises ValueError if it is not what is due.

        ``shapes`` are those of the arrays of all runs, by name.
        """
        runs, p = len(self.seeds), shapes["embedding"][1]
        spectrum = (runs, (p - 1) // 2)
        wanted = {
            "curves": dict.fromkeys(CURVES, (runs,)),
            "signals": {"signal": spectrum},
            "gradients": {"gradient": spectrum},
            "gradient_norms": dict.fromkeys(shapes, (runs,)),
            "embeddings": {"embedding": shapes["embedding"]},
            "parameters": shapes,
        }
        restored = {}
        for kind in self.kept:
            due = [step for step in self.point.steps_logged(kind) if step <= done]
            if list(kept[kind]) != due:
                raise ValueError(f"{kind} of other steps")
            for arrays in kept[kind].values():
                if arrays.keys() != wanted[kind].keys():
                    raise ValueError(f"{kind} of other names")
                for name, array in arrays.items():
                    check_alike(array, wanted[kind][name], torch.float32)
            restored[kind] = {
                step: {name: arrays[name] for name in wanted[kind]}  # rows go by this order
                for step, arrays in kept[kind].items()
            }
        self.kept = restored

    def tables(
        self,
        streams: list[Seeds],
        startable: np.ndarray,
        finite: np.ndarray,
        seconds: float,
        device: str,
    ) -> dict[str, pa.Table]:
        """All logs of the block as tables.

        Parameters
        ----------
        streams
            The seeds of each run.
        startable, finite
            Shape (runs,): whether a run had a base to start from, and whether all its values are
            finite at the end.
        seconds
            Computing time of one run.
        device
            Where it ran.
        """
        columns = {
            kind: getattr(self, f"_{kind}_columns")() for kind, kept in self.kept.items() if kept
        }
        columns["runs"] = self._runs_columns(streams, startable, finite, seconds, device)
        return {
            kind: schema.table(columns[kind], schema.LOGS[kind])
            if kind in columns
            else schema.LOGS[kind].empty_table()
            for kind in self.point.logs
        }

    def _runs_columns(self, streams, startable, finite, seconds, device) -> dict[str, Any]:
        n = len(self.seeds)
        last = self.kept.get("curves", {}).get(self.point.steps, {})
        final = {k: last[k].numpy() if last else np.full(n, np.nan) for k in CURVES}
        if last:
            finite = finite & np.isfinite(final["train_loss"])
        return {
            "seed": self.seeds,
            "embedding_seed": [s.embedding for s in streams],
            "network_seed": [s.network for s in streams],
            "data_seed": [s.data for s in streams],
            "order_seed": [s.order for s in streams],
            "steps": [self.point.steps] * n,
            "status": np.select([finite, startable], ["finished", "diverged"], "no_base"),
            **final,
            "seconds": [seconds] * n,
            "device": [device] * n,
            "dtype": [self.point.settings["dtype"]] * n,
        }

    def _curves_columns(self) -> dict[str, np.ndarray]:
        kept = self.kept["curves"]
        return {
            "seed": np.tile(self.seeds, len(kept)),
            "step": np.repeat(list(kept), len(self.seeds)),
            **{k: np.concatenate([values[k].numpy() for values in kept.values()]) for k in CURVES},
        }

    def _signals_columns(self) -> dict[str, np.ndarray]:
        return self._long("signals", "signal", "frequency", first=1)

    def _gradients_columns(self) -> dict[str, np.ndarray]:
        return self._long("gradients", "gradient", "frequency", first=1)

    def _embeddings_columns(self) -> dict[str, Any]:
        columns = self._long("embeddings", "embedding", "token", first=0)
        return columns | {"vector": columns.pop("embedding")}

    def _parameters_columns(self) -> dict[str, Any]:
        columns, values = self._named("parameters")
        arrays = next(iter(self.kept["parameters"].values())).values()
        times = len(values) // sum(array[0].numel() for array in arrays)
        sizes = np.tile([array[0].numel() for array in arrays], times)
        shapes = [array.shape[1:] for array in arrays]
        return columns | {
            "shape": schema.Lists(
                np.tile(np.concatenate(shapes), times), np.tile([len(s) for s in shapes], times)
            ),
            "values": schema.Lists(values, sizes),
        }

    def _gradient_norms_columns(self) -> dict[str, Any]:
        columns, norms = self._named("gradient_norms")
        return columns | {"norm": norms}

    def _named(self, kind: str) -> tuple[dict[str, Any], np.ndarray]:
        """What is kept by name, a row per step, run and name: its keys, and all values in turn."""
        steps, runs = self.kept[kind], len(self.seeds)
        names = list(next(iter(steps.values())))
        values = [
            torch.cat([array.flatten(1) if array.dim() > 1 else array[:, None] for array in
                       arrays.values()], 1).flatten()
            for arrays in steps.values()
        ]  # fmt: skip
        keys = {
            "seed": np.tile(np.repeat(self.seeds, len(names)), len(steps)),
            "step": np.repeat(list(steps), runs * len(names)),
            "name": names * (runs * len(steps)),
        }
        return keys, torch.cat(values).numpy()

    def _long(self, kind: str, name: str, index: str, first: int) -> dict[str, np.ndarray]:
        """A row per run, step and entry of the second axis; further axes stay in the cell."""
        kept = self.kept[kind]
        cells = torch.stack([arrays[name] for arrays in kept.values()], 1).numpy()
        runs, steps, n = cells.shape[:3]  # (runs, steps, n, ...)
        return {
            "seed": np.repeat(self.seeds, steps * n),
            "step": np.tile(np.repeat(list(kept), n), runs),
            index: np.tile(np.arange(first, first + n), runs * steps),
            name: cells.reshape(runs * steps * n, *cells.shape[3:]),
        }
