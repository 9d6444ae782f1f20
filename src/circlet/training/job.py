"""The job of a block: lock, parents, checkpoint, training, and writing of logs."""

import contextlib
import ctypes
import functools
import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from circlet import native
from circlet.errors import CircletError, LogError, lacks_memory
from circlet.lazy_import import load
from circlet.storage import locks, parquet, provenance
from circlet.study import fingerprint
from circlet.study.blocks import Block
from circlet.training import native_run
from circlet.training.checkpoint import Checkpoint
from circlet.training.group import Arrays, Group, tables
from circlet.training.recorder import as_logged

log = logging.getLogger("circlet")

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all) after every step."""

Stamp = tuple[int, int]


def run_block(
    block: Block,
    device: str,
    progress: Progress | None = None,
    caught: Sequence[int] = (),
    before: Stamp | None = None,
    address: str | None = None,
) -> None:
    """Run a block, from its checkpoint if there is one, and write its logs.

    Waits while another process runs the same block; if that process has finished the block, nothing
    is left to do. The log ``runs`` is written last, so that a block with this log is complete.
    Raises CircletError on too little memory or a full disk, and Interrupted, with a checkpoint
    saved, when a signal is in ``caught``. ``before`` is the block's ``stamp`` when this process
    began, if the process has waited for something else since. Checkpoints and final states are kept
    at an ``address``, too, if one is given.
    """
    before = before or stamp(block)
    with locks.block_lock(block, caught):
        if stamp(block) != before and _is_done(block):
            log.info("%s: done by another process meanwhile", "/".join(block.key))
        else:
            _run_block(block, device, progress, caught, address)


def stamp(block: Block) -> Stamp:
    """Return inode and time of a block's last log, which change when it is finished; else zeros."""
    try:
        status = block.log("runs").stat()
        return status.st_ino, status.st_mtime_ns
    except OSError:
        return 0, 0


def _is_done(block: Block) -> bool:
    """Return whether a block's logs are undamaged, and made with its settings by this code."""
    try:
        for path in block.logs:
            parquet.read(path)
        made = parquet.footer(block.log("runs"))
        code = fingerprint.of_system(block.point.system)
        return not parquet.differing(block) and made["code"] == code
    except LogError:
        return False


def _run_block(
    block: Block,
    device: str,
    progress: Progress | None,
    caught: Sequence[int],
    address: str | None,
) -> None:
    settle()
    point, started = block.point, time.perf_counter()
    parents = parent_ends(block)
    made_by = provenance.made_by() | {
        "spec": point.spec,
        "parameters": point.parameters,
        "seeds": block.ends,
        "code": fingerprint.of_system(point.system),
        "device": device.partition(":")[0],
    }
    folder = f"{address}/{'/'.join(block.key)}" if address else None
    checkpoint = Checkpoint(block.checkpoint, _fingerprint(made_by, parents), caught, folder)
    # The final state of shorter runs, or of runs that logged more.
    of_any_length = {k: v for k, v in point.spec.items() if k not in ("steps", "log")}
    end_made_by = _fingerprint(made_by | {"spec": of_any_length}, parents)
    end = Checkpoint(block.state, end_made_by, (), folder)
    keeps = point.settings.keep_state

    groups: list[Group] = []
    try:
        parts, train = _trainer(block, device, parents)
        began = checkpoint.load()
        if keeps and not began:
            began = end.load(functools.partial(as_logged, point))
        for number, seeds in enumerate(parts):
            steps = train(seeds, saved=began[number] if number < len(began) else None)
            groups.append(next(steps))
            for group in steps:
                if progress:
                    progress(number * point.steps + group.done, len(parts) * point.steps)
                if checkpoint.due():
                    checkpoint.save([*(group.state() for group in groups), *began[len(groups) :]])
        if keeps:
            end.save([group.state() for group in groups])
        logs = tables(point, groups)
    except (MemoryError, RuntimeError) as error:
        if lacks_memory(error):
            raise CircletError(
                f"{point.experiment}/{point.name}: not enough memory for {block.count} runs; "
                "set a smaller `block`"
            ) from error
        raise
    if unfinished := block.count - logs["runs"]["status"].to_pylist().count("finished"):
        where, message = "/".join(block.key), f"{unfinished} of {block.count} runs diverged"
        log.info("%s: %s, or those that they start from did", where, message)
    footer = made_by | {
        # Wall-clock time, from which the display estimates the time of other blocks.
        "seconds": round(time.perf_counter() - started, 3),
        "interruptions": checkpoint.interruptions,
        "keys": point.labels,
    }
    for kind in reversed(point.logs):
        parquet.write(logs[kind], block.log(kind), footer | {"kind": kind})
    checkpoint.remove()


Train = Callable[..., Iterator[Group]]
"""Trains a group of runs, given their seeds and perhaps the state that was ``saved``."""


def _trainer(
    block: Block, device: str, parents: dict[int, Arrays]
) -> tuple[list[list[int]], Train]:
    """Return the seeds of each group of a block, and what trains a group.

    This is a native kernel if possible, or else PyTorch.
    """
    point, seeds = block.point, list(block.seeds)
    why = native.uncovered(point.system.equations, point.settings.products, device)
    if not why:
        train = functools.partial(native_run.run_alone, point, parents=parents)
        return [[seed] for seed in seeds], train
    if why == native.missing():
        log.info("%s; PyTorch trains instead, several times slower", why)
    torch, run, verify = map(load, ("torch", "circlet.training.run", "circlet.training.verify"))
    run.settle_torch()
    where = torch.device(device)
    verify.verify(point, seeds, where, parents)
    train = functools.partial(run.run_group, point, device=where, parents=parents)
    return run.groups(point, seeds, where), train


def parent_ends(block: Block) -> dict[int, Arrays]:
    """Return the final states of the parent runs of a block, by seed; NaN if they diverged."""
    final_states: dict[int, Arrays] = {}
    for parent in block.parents:
        ends: list[Arrays] = [{} for _ in parent.seeds]
        last = [parent.point.steps]
        if "parameters" in block.point.reads:
            for name, arrays in parquet.read_weights(parent, last).items():
                for end, array in zip(ends, arrays[0], strict=True):
                    end[name] = array
        if "signals" in block.point.reads:
            final = parquet.read_log(parent, "signals", last).sort_values("frequency")
            for end, seed in zip(ends, parent.seeds, strict=True):
                end["signals"] = final.loc[final["seed"] == seed, "signal"].to_numpy()
        final_states |= dict(zip(parent.seeds, ends, strict=True))
    return final_states


def _fingerprint(made_by: dict[str, Any], parents: dict[int, Arrays]) -> str:
    """Return the fingerprint of all that decides the numbers of a block, down to the last bit."""
    # Not the commit, because `code` has what matters of it; not the machine, as nodes differ.
    decisive = {k: v for k, v in made_by.items() if k not in ("commit", "machine")}
    decisive["parents"] = {
        seed: {name: array.tolist() for name, array in sorted(end.items())}
        for seed, end in sorted(parents.items())
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def settle() -> None:
    """Tell glibc to keep freed memory for the arrays of the next step.

    By default it returns every freed megabyte to the system at once, which hands it out again page
    by page, zeroed: a tenth of the time of a step. Without glibc nothing changes.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for option in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD):
            library.mallopt(option, 2**30)
