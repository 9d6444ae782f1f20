"""Steps on a GPU as CUDA graphs: launched as a whole, not kernel by kernel.

A step of these small networks is some fifty kernels of microseconds each; to launch them one after
the other from Python takes longer than to run them. A graph is recorded once and launched as one.
It reads and writes fixed memory, into which data that differ between steps (batches) are copied.
"""

import logging
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from circlet.systems import trees

log = logging.getLogger("circlet")

WARM_UP = 3  # steps of each shape without a graph, until libraries have set up

Step = Callable[[Any], None]
"""Advances all runs in place, given what it trains on."""

Capture = Callable[[Callable[[], None]], Callable[[], None]]
"""Records what a function does, without doing it, as a function that does it."""


def _copied(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, Tensor) else leaf


def capture(function: Callable[[], None]) -> Callable[[], None]:
    """Record what a function does on the GPU, as a CUDA graph."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    with warnings.catch_warnings():
        # A graph recorded on another device than the tensors' would never do anything.
        warnings.filterwarnings("error", ".*[Gg]raph is empty")
        try:
            with torch.cuda.graph(graph):
                function()
        except RuntimeError:
            torch.cuda.set_stream(stream)  # the recorder may have left another stream
            raise
    return graph.replay


class Graphed:
    """A step that is recorded once for each shape of its batches, and then replayed.

    ``data`` is the input of steps without batches; its memory stays fixed. If a step cannot be
    recorded, a message says why, and steps are launched kernel by kernel.
    """

    def __init__(self, step: Step, data: Any, capture: Capture = capture):
        self.step, self.data = step, data
        self.capture: Capture | None = capture
        self.calls: Counter[tuple[torch.Size, ...]] = Counter()
        self.recorded: dict[tuple[torch.Size, ...], tuple[Any, Callable[[], None]]] = {}

    def __call__(self, batch: Any) -> None:
        """Advance all runs in place."""
        stays = batch is self.data
        tensors = [] if stays else trees.tensors(batch)
        shapes = tuple(t.shape for t in tensors)
        self.calls[shapes] += 1
        if self.calls[shapes] <= WARM_UP or self.capture is None:
            self.step(batch)
            return
        if shapes not in self.recorded:
            static = batch if stays else trees.mapped(_copied, batch)
            try:
                self.recorded[shapes] = static, self.capture(lambda: self.step(static))
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                log.warning("steps are launched kernel by kernel: no CUDA graph: %s", error)
                self.capture = None
                self.step(batch)
                return
        static, replay = self.recorded[shapes]
        for mine, source in zip([] if stays else trees.tensors(static), tensors, strict=True):
            mine.copy_(source)
        replay()


def graphed(step: Step, data: Any, device: torch.device) -> Step:
    """Return a step as it is launched on a device: on a GPU as CUDA graphs."""
    return Graphed(step, data) if device.type == "cuda" else step
