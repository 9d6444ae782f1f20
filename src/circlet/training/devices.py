"""The device of a block: the CPU, or a GPU that no other job uses, or a share of one.

Snakemake counts GPUs but does not assign them. So each job on a GPU holds a lock of one device,
and the next job takes another device. A device has one lock for each job that may use it.
"""

import contextlib
import itertools
import logging
import os
import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from circlet.errors import CircletError, Interrupted, LogError
from circlet.lazy_import import load
from circlet.storage import locks
from circlet.study import user_cache

log = logging.getLogger("circlet")

ELSEWHERE = "to share GPUs between jobs, set XDG_CACHE_HOME to a folder on a local disk"


def visible() -> list[str]:
    """Return the names of the GPUs that this process may use, in the order of torch's indices."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = load("torch").cuda.device_count()
    return named.split(",")[:count] if named else [str(i) for i in range(count)]


def _lock_file(name: str, share: int) -> Path:
    """Return the file that jobs of this user on this machine lock for a share of a GPU.

    Under SLURM each job may see its own device as number 0, so the locks of two jobs differ.
    """
    job, device = os.environ.get("SLURM_JOB_ID", ""), name.replace("/", "_")
    parts = ("gpu", platform.node(), job, device, f"share{share}" if share else "")
    return user_cache.folder() / "locks" / "-".join(filter(None, parts))


@contextlib.contextmanager
def free_gpu(caught: Sequence[int]) -> Iterator[int]:
    """Context: the index of a GPU that no other job of this user holds.

    ``CIRCLET_GPU_SHARES`` says how many jobs may hold one GPU. A job takes a second share only if
    no GPU has a first one left. Waits for a share; raises Interrupted at a signal.
    """
    names = visible()
    if len(names) == 1 and "SLURM_JOB_ID" in os.environ:  # SLURM gave it to this job alone
        yield 0
        return
    shares = range(int(os.environ.get("CIRCLET_GPU_SHARES") or 1))
    is_logged = False
    while True:
        for share, (index, name) in itertools.product(shares, enumerate(names)):
            path = _lock_file(name, share)
            try:
                lock = locks.hold(path)
            except locks.Busy:
                continue
            except LogError as error:
                raise CircletError(f"{error}; {ELSEWHERE}") from error
            if lock is None:
                raise CircletError(f"{path}: cannot be locked; {ELSEWHERE}")
            try:
                yield index
            finally:
                lock.release()
            return
        if caught:
            raise Interrupted(caught[0], "it was waiting for a GPU and had not begun")
        if not is_logged:
            log.info("waiting for one of %d GPUs, all are taken by other jobs", len(names))
            is_logged = True
        time.sleep(0.5)


@contextlib.contextmanager
def claim(requested: str, caught: Sequence[int] = ()) -> Iterator[str]:
    """Context: the device for ``auto``, ``cpu`` or ``cuda``; a GPU is for this process alone.

    Raises CircletError if ``cuda`` is requested without a GPU, Interrupted if a signal is in
    ``caught`` while the process waits for a GPU.
    """
    if requested == "cpu":  # torch takes seconds to import, which native kernels do without
        yield "cpu"
        return
    torch = load("torch")
    if not torch.cuda.is_available():
        if requested == "cuda":
            raise CircletError("--device cuda: torch sees no GPU here; use --device cpu or auto")
        yield "cpu"
        return
    # Make the GPU current, too: CUDA graphs are recorded on the current one in any case.
    with free_gpu(caught) as index, torch.cuda.device(index):
        yield f"cuda:{index}"
