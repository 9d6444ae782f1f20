"""Collect the values to log during training, and arrange them as the declared logs."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from circlet.storage import schema
from circlet.study.points import Point
from circlet.training import fourier
from circlet.training.shapes import check
from circlet.training.stack import check_alike, on_cpu

HELD = 2**28  # most bytes of logs kept on a GPU
PIECE = 2**20  # most numbers for which memory is allocated at once
INDEX = {  # of logs with a row per entry of an array: the column that counts entries, and its first
    "signals": ("frequency", 1),
    "gradients": ("frequency", 1),
    "embeddings": ("token", 0),
}


class _Copies:
    """Copies of tensors; on the CPU their memory is allocated in large pieces.

    Small copies by themselves would end up in what the large tensors of a step leave free, which
    then no longer fit there: the process would grow with every logged step.
    """

    def __init__(self) -> None:
        self.free, self.made = torch.empty(0, dtype=torch.float32), 0

    def of(self, array: Tensor) -> Tensor:
        n = array.numel()
        if n > PIECE // 4 or array.is_cuda:  # a GPU's memory is kept in pieces by torch
            return array.to(torch.float32, copy=True)
        if n > len(self.free):  # as much again, so that few copies take little
            self.free = self.free.new_empty(max(n, min(self.made, PIECE)))
        self.made += n
        own, self.free = self.free[:n], self.free[n:]
        return own.view(array.shape).copy_(array)


class Recorder:
    """The logs of a group of runs, kept in memory until its runs are done."""

    def __init__(self, point: Point, seeds: Sequence[int]):
        self.point, self.metrics = point, tuple(point.system.metrics)
        self.seeds = np.asarray(seeds, dtype=np.int32)
        self.held = 0  # bytes that are kept on a GPU
        self._copies = _Copies()
        self._due: dict[int, list[str]] = {}
        self.kept: dict[str, dict[int, dict[str, Tensor]]] = {}  # kind, step, name
        for kind in point.logs[1:]:  # all but the outcomes
            self.kept[kind] = {}
            for step in point.steps_logged(kind):
                self._due.setdefault(step, []).append(kind)

    def record(self, step: int, weights: dict[str, Tensor], equations: ModuleType, data: Any):
        """Record the values to log at a step; gradients are of the loss on the whole train set."""
        due = self._due.get(step, ())
        if "gradients" in due or "gradient_norms" in due:
            gradient = {name: torch.empty_like(values) for name, values in weights.items()}
            equations.gradients(weights, data, gradient)
        for kind in due:
            match kind:
                case "curves":
                    found = equations.metrics(weights, data)
                    if not self.kept[kind]:
                        wanted = dict.fromkeys(self.metrics, (len(self.seeds),))
                        check(f"{self.point.system.name}: metric", found, wanted)
                case "signals":
                    found = {"signal": fourier.signals(weights["embedding"])}
                case "gradients":
                    found = {"gradient": fourier.signals(gradient["embedding"])}
                case "gradient_norms":
                    norm = torch.linalg.vector_norm
                    found = {name: norm(g.flatten(1), dim=1) for name, g in gradient.items()}
                case "embeddings":
                    found = {"vector": weights["embedding"]}
                case _:
                    found = weights
            self._keep(kind, step, found)

    def _keep(self, kind: str, step: int, arrays: dict[str, Tensor]) -> None:
        # A copy, as the next step changes the tensors in place. It stays where it is: to fetch it
        # from a GPU would make the CPU wait at every logged step.
        own = {name: self._copies.of(array) for name, array in arrays.items()}
        self.kept[kind][step] = own
        self.held += sum(array.nbytes for array in own.values() if array.is_cuda)
        if self.held > HELD:
            self.fetch()

    def fetch(self) -> None:
        """Copy the recorded values from the GPU to the CPU, and wait for them."""
        self.kept, self.held = on_cpu(self.kept), 0

    def restore(self, kept: dict[str, Any], done: int, weights: dict[str, Tensor]) -> None:
        """Resume from values recorded up to a step; raises ValueError if they do not fit."""
        shapes = {name: tuple(values.shape) for name, values in weights.items()}
        runs, embedding = len(self.seeds), shapes.get("embedding", (0, 0, 0))
        frequencies = (embedding[1] - 1) // 2
        wanted: dict[str, dict[str, tuple[int, ...]]] = {
            "curves": dict.fromkeys(self.metrics, (runs,)),
            "signals": {"signal": (runs, frequencies)},
            "gradients": {"gradient": (runs, frequencies)},
            "gradient_norms": dict.fromkeys(shapes, (runs,)),
            "embeddings": {"vector": embedding},
            "parameters": shapes,
        }
        restored = {}
        for kind in self.kept:
            due = [step for step in self.point.steps_logged(kind) if step <= done]
            if list(kept[kind]) != due:
                raise ValueError(f"{kind} has other steps")
            for arrays in kept[kind].values():
                if arrays.keys() != wanted[kind].keys():
                    raise ValueError(f"{kind} has other names")
                for name, array in arrays.items():
                    check_alike(array, wanted[kind][name], torch.float32)
            restored[kind] = {
                step: {name: arrays[name] for name in wanted[kind]}  # rows go by this order
                for step, arrays in kept[kind].items()
            }
        self.kept = restored

    def tables(self, outcomes: dict[str, Any]) -> dict[str, pa.Table]:
        """All logs of the runs as tables, given the columns of the log ``runs``."""
        columns = {kind: self._columns(kind, kept) for kind, kept in self.kept.items() if kept}
        columns["runs"] = outcomes
        declared = schema.logs(self.point.system)
        return {
            kind: schema.table(columns[kind], declared[kind])
            if kind in columns
            else declared[kind].empty_table()
            for kind in self.point.logs
        }

    def _columns(self, kind: str, kept: dict[int, dict[str, Tensor]]) -> dict[str, Any]:
        """A row per step and run, and per name or entry of an array, by the log."""
        steps, runs = list(kept), len(self.seeds)
        names = list(kept[steps[0]])
        if kind == "curves":
            values = {k: np.concatenate([kept[step][k].numpy() for step in steps]) for k in names}
            return {
                "seed": np.tile(self.seeds, len(steps)),
                "step": np.repeat(steps, runs),
                **values,
            }
        if kind in INDEX:
            (name,), (index, first) = names, INDEX[kind]
            cells = torch.stack([kept[step][name] for step in steps], 1).numpy()
            n = cells.shape[2]  # (runs, steps, n, ...)
            return {
                "seed": np.repeat(self.seeds, len(steps) * n),
                "step": np.tile(np.repeat(steps, n), runs),
                index: np.tile(np.arange(first, first + n), runs * len(steps)),
                name: cells.reshape(runs * len(steps) * n, *cells.shape[3:]),
            }
        flat = [torch.cat([a.reshape(runs, -1) for a in kept[s].values()], 1) for s in steps]
        values = torch.cat(flat).flatten().numpy()
        columns = {
            "seed": np.tile(np.repeat(self.seeds, len(names)), len(steps)),
            "step": np.repeat(steps, runs * len(names)),
            "name": names * (runs * len(steps)),
        }
        if kind == "gradient_norms":
            return columns | {"norm": values}
        shapes, times = [array.shape[1:] for array in kept[steps[0]].values()], runs * len(steps)
        dimensions = np.tile(np.concatenate(shapes), times), np.tile([*map(len, shapes)], times)
        sizes = np.tile([shape.numel() for shape in shapes], times)
        return columns | {"shape": schema.Lists(*dimensions), "values": schema.Lists(values, sizes)}
