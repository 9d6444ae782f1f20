"""Collect what a config asks for while a block runs, and lay it out as the declared logs."""

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from torch import Tensor

from circlet import fourier, schema
from circlet.points import Point
from circlet.seeds import Seeds

CURVES = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")


class Recorder:
    """The logs of one block, kept in memory until its runs are done."""

    def __init__(self, point: Point, seeds: list[int]):
        self.point = point
        self.seeds = np.asarray(seeds, dtype=np.int32)
        self._due: dict[int, set[str]] = {}
        self._kept: dict[str, dict[int, dict[str, np.ndarray]]] = {}
        for kind in point.logs[1:]:  # all but the outcomes
            self._kept[kind] = {}
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

    def arrays(self, step: int, state: dict[str, Tensor], due: set[str]) -> None:
        """Keep signals, embeddings and parameters where they are due."""
        if "signals" in due:
            self._keep("signals", step, {"signal": fourier.signals(state["embedding"])})
        if "embeddings" in due:
            self._keep("embeddings", step, {"embedding": state["embedding"]})
        if "parameters" in due:
            self._keep("parameters", step, state)

    def _keep(self, kind: str, step: int, arrays: dict[str, Tensor]) -> None:
        # A copy, as the next step changes the tensors in place.
        self._kept[kind][step] = {
            name: array.to("cpu", torch.float32, copy=True).numpy()
            for name, array in arrays.items()
        }

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
        frames = {
            kind: getattr(self, f"_{kind}_frame")() for kind, kept in self._kept.items() if kept
        }
        frames["runs"] = self._runs_frame(streams, startable, finite, seconds, device)
        return {
            kind: schema.conform(frames[kind], list(schema.LOGS[kind]), kind)
            if kind in frames
            else schema.LOGS[kind].empty_table()
            for kind in self.point.logs
        }

    def _runs_frame(self, streams, startable, finite, seconds, device) -> pd.DataFrame:
        last = self._kept.get("curves", {}).get(self.point.steps, {})
        final = {name: last.get(name, np.full(len(finite), np.nan)) for name in CURVES}
        if last:
            finite = finite & np.isfinite(last["train_loss"])
        return pd.DataFrame(
            {
                "seed": self.seeds,
                "embedding_seed": [s.embedding for s in streams],
                "network_seed": [s.network for s in streams],
                "data_seed": [s.data for s in streams],
                "steps": self.point.steps,
                "status": np.select([finite, startable], ["finished", "diverged"], "no_base"),
                **{name: pd.array(values, dtype="Float32") for name, values in final.items()},
                "seconds": seconds,
                "device": device,
                "dtype": self.point.settings["dtype"],
            }
        )

    def _curves_frame(self) -> pd.DataFrame:
        return pd.concat(
            pd.DataFrame({"seed": self.seeds, "step": step, **values})
            for step, values in self._kept["curves"].items()
        )

    def _signals_frame(self) -> pd.DataFrame:
        return _long(self._kept["signals"], "signal", self.seeds, "frequency", first=1)

    def _gradients_frame(self) -> pd.DataFrame:
        return _long(self._kept["gradients"], "gradient", self.seeds, "frequency", first=1)

    def _embeddings_frame(self) -> pd.DataFrame:
        frame = _long(self._kept["embeddings"], "embedding", self.seeds, "token", first=0)
        return frame.rename(columns={"embedding": "vector"})

    def _parameters_frame(self) -> pd.DataFrame:
        return pd.DataFrame(
            [
                (seed, step, name, list(array.shape[1:]), array[run].ravel())
                for step, arrays in self._kept["parameters"].items()
                for run, seed in enumerate(self.seeds)
                for name, array in arrays.items()
            ],
            columns=["seed", "step", "name", "shape", "values"],
        )


def _long(
    kept: dict[int, dict[str, np.ndarray]], name: str, seeds: np.ndarray, index: str, first: int
) -> pd.DataFrame:
    """One row per run, step and entry of the second axis; further axes stay in the cell."""
    cells = np.stack([arrays[name] for arrays in kept.values()], axis=1)  # (runs, steps, n, ...)
    runs, steps, n = cells.shape[:3]
    values = cells.reshape(runs * steps * n, *cells.shape[3:])
    return pd.DataFrame(
        {
            "seed": np.repeat(seeds, steps * n),
            "step": np.tile(np.repeat(list(kept), n), runs),
            index: np.tile(np.arange(first, first + n), runs * steps),
            name: values if values.ndim == 1 else list(values),
        }
    )
