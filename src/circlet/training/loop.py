"""One loop for all systems: the runs of a block advance together, in one tensor program."""

import contextlib
import ctypes
import hashlib
import json
import logging
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from circlet.errors import CircletError, LogError
from circlet.lazy_import import load
from circlet.storage import locks, parquet, provenance
from circlet.study import fingerprint, interventions
from circlet.study.points import Block, Point
from circlet.study.seeds import Seeds
from circlet.training import cuda_graphs
from circlet.training.adamw import AdamW
from circlet.training.checkpoint import Checkpoint, lacks_memory
from circlet.training.recorder import Recorder
from circlet.training.stack import Stack, copy_exactly, stacked

log = logging.getLogger("circlet")

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all) after every step."""


def stepping(
    system: ModuleType, parameters: dict[str, Any], stack: Stack, problem: Any
) -> tuple[cuda_graphs.Step, Callable[[int], Any], AdamW | None]:
    """How all runs go on: a step in place, given a batch; the batch of a step; the optimiser.

    A trained system follows AdamW. A simulated one has its own step, and no optimiser.
    """
    optimizer = None
    if hasattr(system, "gradients"):
        gradient = stack.zeros()
        optimizer = AdamW(stack.tensors, parameters["learning_rate"], parameters["weight_decay"])

    def advance(batch: Any) -> None:
        if optimizer is None:
            system.step(stack.arrays, batch)
        else:
            system.gradients(stack.arrays, batch, gradient.arrays)
            optimizer.step(gradient.tensors)

    def batch(number: int) -> Any:
        return system.batch(problem, number) if hasattr(system, "batch") else problem

    return advance, batch, optimizer


def rates(point: Point) -> dict[str, float]:
    """Multiples of the learning rate by name, where they are not 1; 0 is frozen."""
    system = load(point.system.equations)
    found = system.rates(point.parameters) if hasattr(system, "rates") else {}
    return found | ({"embedding": 0} if point.intervenes("freeze") else {})


Base = dict[str, np.ndarray]
"""What interventions look at of another run's end."""


def initial(point: Point, seed: int, base: Base) -> dict[str, np.ndarray]:
    """The arrays of a run at step 0, after its interventions, float64, the embedding first."""
    streams = point.seeds(seed)
    arrays = load(point.system.equations).initial(point.parameters, streams)
    arrays = {"embedding": arrays.pop("embedding"), **arrays}
    draws = streams.stream("intervention")
    for intervention in point.interventions:
        for name, arguments in intervention.items():
            arrays = interventions.apply(name, arguments, arrays, draws, base)
    return arrays


def base_ends(block: Block) -> dict[int, Base]:
    """The ends of the runs that those of a block start from, by seed; NaN where they diverged."""
    found: dict[int, Base] = {}
    for base in block.bases:
        ends: list[Base] = [{} for _ in base.seeds]
        last = [base.point.steps]
        if "parameters" in block.point.reads:
            for name, arrays in parquet.read_weights(base, last).items():
                for end, array in zip(ends, arrays[0], strict=True):
                    end[name] = array
        if "signals" in block.point.reads:
            final = parquet.read_log(base, "signals", last).sort_values("frequency")
            for end, seed in zip(ends, base.seeds, strict=True):
                end["signals"] = final.loc[final["seed"] == seed, "signal"].to_numpy()
        found |= dict(zip(base.seeds, ends, strict=True))
    return found


class Part:
    """Some runs of a point that advance together, as one tensor program."""

    def __init__(
        self,
        point: Point,
        seeds: list[int],
        device: torch.device,
        bases: dict[int, Base],
    ):
        self.system = load(point.system.equations)
        self.point, self.device = point, device
        dtype = getattr(torch, point.settings["dtype"])
        self.streams: list[Seeds] = [point.seeds(seed) for seed in seeds]
        starts = [initial(point, seed, bases.get(seed, {})) for seed in seeds]
        self.stack = stacked(starts, dtype, device, rates(point))
        self.arrays = self.stack.arrays
        self.problem = self.system.problem(point.parameters, self.streams, dtype, device)
        self.step, self.batch, self.optimizer = stepping(
            self.system, point.parameters, self.stack, self.problem
        )
        if device.type == "cuda":
            self.step = cuda_graphs.Graphed(self.step, self.problem)
        self.recorder = Recorder(point, seeds)
        # Without a base whatever is not finite has diverged.
        self.startable = self._finite() | (point.base is None)
        self.done, self.seconds = -1, 0.0  # step 0 is not recorded yet

    def advance(self, after: Callable[["Part"], None]) -> None:
        """Go on to the last step; ``after`` is called when a step is done and recorded."""
        started = time.perf_counter() - self.seconds
        while self.done < self.point.steps:
            self.done += 1
            if self.done:
                self.step(self.batch(self.done))
            self._record()
            self.seconds = time.perf_counter() - started
            after(self)
        # What it has recorded is all that is needed from here on.
        self.recorder.fetch()  # and the GPU is done
        self.seconds = time.perf_counter() - started
        self.step = self.batch = self.optimizer = self.problem = None

    def _record(self) -> None:
        if not (due := self.recorder.due(self.done)):
            return
        if "curves" in due:
            self.recorder.curves(self.done, self.system.curves(self.arrays, self.problem))
        if "gradients" in due:
            self.recorder.gradients(self.done, self._gradient()["embedding"])
        if "gradient_norms" in due:
            self.recorder.gradient_norms(self.done, self._gradient())
        self.recorder.arrays(self.done, self.arrays, due)

    def _gradient(self) -> dict[str, Tensor]:
        """Gradient of the loss of every run on its train set, by name."""
        out = {name: torch.empty_like(values) for name, values in self.arrays.items()}
        self.system.gradients(self.arrays, self.problem, out)
        return out

    def _finite(self) -> np.ndarray:
        return self.stack.finite().cpu().numpy()

    def state(self) -> dict[str, Any]:
        """What ``restore`` needs to go on from here as if nothing had happened, on the CPU."""
        self.recorder.fetch()
        return {
            "done": self.done,
            "seconds": self.seconds,
            "values": {rate: tensor.cpu() for rate, tensor in self.stack.tensors.items()},
            "optimizer": self.optimizer.state() if self.optimizer else {},
            "recorded": self.recorder.kept,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state, of the same runs; raises ValueError if it is not one of theirs."""
        done = state["done"]
        if type(done) is not int or not -1 <= done <= self.point.steps:
            raise ValueError(f"step {done}")
        copy_exactly(state["values"], self.stack.tensors)
        if self.optimizer and done < self.point.steps:  # at its end it needs none
            self.optimizer.restore(state["optimizer"])
        shapes = {name: tuple(array.shape) for name, array in self.arrays.items()}
        self.recorder.restore(state["recorded"], done, shapes)
        self.done, self.seconds = done, float(state["seconds"])

    def tables(self) -> dict[str, pa.Table]:
        """The logs of its runs by kind."""
        cuda = self.device.type == "cuda"
        name = torch.cuda.get_device_name(self.device) if cuda else self.device.type
        seconds = self.seconds / len(self.streams)
        return self.recorder.tables(self.streams, self.startable, self._finite(), seconds, name)


@torch.no_grad()
def run(
    point: Point,
    seeds: list[int],
    device: torch.device,
    progress: Progress | None = None,
    bases: dict[int, Base] | None = None,
    checkpoint: Checkpoint | None = None,
) -> dict[str, pa.Table]:
    """Run some seeds of a point to the end and return their logs by kind.

    On a GPU all of them advance together, on a CPU as many as the system says. They begin at step
    0, or where their checkpoint was saved.
    """
    saved = checkpoint.load() if checkpoint else []
    size = together(point, len(seeds), device)
    groups = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    done: list[Part] = []

    def after(part: Part) -> None:
        if progress:
            progress(len(done) * point.steps + part.done, len(groups) * point.steps)
        if checkpoint and checkpoint.due():
            checkpoint.save([p.state() for p in (*done, part)])

    while len(done) < len(groups):
        part = Part(point, groups[len(done)], device, bases or {})
        if len(done) < len(saved):
            try:
                part.restore(saved[len(done)])
            except Exception as error:  # whatever may stand in a file that somebody has changed
                if lacks_memory(error):
                    raise
                checkpoint.refuse(error)
                saved = []
                done.clear()
                continue
        part.advance(after)
        done.append(part)
    tables = [part.tables() for part in done]
    return {kind: pa.concat_tables([t[kind] for t in tables]) for kind in point.logs}


def together(point: Point, count: int, device: torch.device) -> int:
    """How many of the runs of a block advance together."""
    return count if device.type == "cuda" else point.cpu_batch(count)


Stamp = tuple[int, int]


def run_block(
    block: Block,
    device: torch.device | str,
    progress: Progress | None = None,
    caught: Sequence[int] = (),
    before: Stamp | None = None,
) -> None:
    """Run a block and write its logs, from its checkpoint if there is one.

    While another process runs the same block it waits; if that one has finished the block, nothing
    is left to do. The log of outcomes is written last, so that a block with it is complete. Raises
    CircletError on too little memory or a full disk, and Interrupted, with a checkpoint saved, when
    a signal is in ``caught``. ``before`` is the block's ``stamp`` when this process began, if it
    has waited for something else since.
    """
    before = before or stamp(block)
    with locks.block_lock(block, caught):
        if stamp(block) != before and _is_done(block):
            log.info("%s: done by another process meanwhile", "/".join(block.key))
        else:
            _run_block(block, torch.device(device), progress, caught)


def stamp(block: Block) -> Stamp:
    """What differs once somebody has finished a block: inode and time of its last log, or zeros."""
    try:
        found = block.log("runs").stat()
        return found.st_ino, found.st_mtime_ns
    except OSError:
        return 0, 0


def _is_done(block: Block) -> bool:
    """Whether its logs are there, whole, and made with these settings by this code."""
    try:
        for path in block.logs:
            parquet.verify(path)
        made = parquet.footer(block.log("runs"))
        return parquet.is_current(block) and made["code"] == fingerprint.of_system(
            block.point.system
        )
    except LogError:
        return False


def _run_block(
    block: Block, device: torch.device, progress: Progress | None, caught: Sequence[int]
) -> None:
    settle()
    point = block.point
    started = time.perf_counter()
    bases = base_ends(block)
    made_by = provenance.made_by() | {
        "spec": point.spec,
        "parameters": point.parameters,
        "seeds": block.ends,
        "code": fingerprint.of_system(point.system),
        "device": device.type,
    }
    checkpoint = Checkpoint(block.checkpoint, _fingerprint(made_by, bases), caught)
    try:
        tables = run(point, list(block.seeds), device, progress, bases, checkpoint)
    except (MemoryError, RuntimeError) as error:
        if lacks_memory(error):
            raise CircletError(
                f"{point.experiment}/{point.name}: no memory for {block.count} runs at once; "
                "set a smaller `block`"
            ) from error
        raise
    footer = made_by | {
        "seconds": round(time.perf_counter() - started, 3),
        "interruptions": checkpoint.interruptions,
    }
    for kind in reversed(point.logs):
        parquet.write(tables[kind], block.log(kind), footer | {"kind": kind})
    checkpoint.remove()


def settle() -> None:
    """Set the process up for training.

    One thread: the matrices are small, and blocks run side by side. Threads would only spin.

    The C library is to keep what tensors free for those of the next step. As it comes, it gives
    every freed megabyte back to the system, which hands it out again page by page, zeroed: a tenth
    of the time of a step. Where there is no such library, nothing is lost.
    """
    torch.set_num_threads(1)
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for option in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD):
            library.mallopt(option, 2**30)


def _fingerprint(made_by: dict[str, Any], bases: dict[int, Base]) -> str:
    """Fingerprint of all that decides the numbers of a block, down to the last bit."""
    starts = {
        seed: {name: array.tolist() for name, array in sorted(base.items())}
        for seed, base in sorted(bases.items())
    }
    # Not the commit, of which `code` has what matters; not the machine, as nodes differ in cores.
    decisive = {k: v for k, v in made_by.items() if k not in ("commit", "machine")}
    decisive["bases"] = starts
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()
