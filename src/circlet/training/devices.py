"""Where a block runs: on the CPU, or on a GPU that it has to itself.

Snakemake counts GPUs and assigns none. So every job on a GPU holds the lock of one device, and the
next job takes the next. The system drops a lock when its process ends, however it ends.
"""

import contextlib
import fcntl
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import torch

from circlet.errors import CircletError, Interrupted

log = logging.getLogger("circlet")


def visible() -> list[str]:
    """Names of the GPUs that this process may use, in the order of torch's indices."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = torch.cuda.device_count()
    return named.split(",")[:count] if named else [str(i) for i in range(count)]


def _lock(name: str) -> Path:
    """Lock file of a GPU on this machine.

    Under SLURM each job may see its own device as number 0, so the locks of two jobs differ.
    """
    job = os.environ.get("SLURM_JOB_ID", "")
    folder = Path(tempfile.gettempdir()) / f"circlet-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise CircletError(f"{folder}: cannot be made: {error.strerror}") from error
    return folder / f"gpu{job and '-' + job}-{name.replace('/', '_')}.lock"


def _take(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def free_gpu(caught: Sequence[int]) -> Iterator[int]:
    """Index of a GPU that no other job of this user holds.

    Waits until there is one; raises Interrupted if a signal arrives meanwhile.
    """
    names = visible()
    if len(names) == 1 and "SLURM_JOB_ID" in os.environ:  # SLURM gave it to this job alone
        yield 0
        return
    told = False
    with contextlib.ExitStack() as stack:
        locks = [stack.enter_context(_lock(name).open("w")) for name in names]
        while True:
            free = next((i for i, lock in enumerate(locks) if _take(lock)), None)
            if free is not None:
                yield free
                return
            if caught:
                raise Interrupted(caught[0], "it waited for a GPU, and had not begun")
            if not told:
                log.info("waiting for one of %d GPUs, all are taken by other jobs", len(names))
                told = True
            time.sleep(0.5)


@contextlib.contextmanager
def claim(wanted: str, caught: Sequence[int] = ()) -> Iterator[torch.device]:
    """The device that ``auto``, ``cpu`` or ``cuda`` means here, a GPU for this process alone.

    Raises CircletError if there is no GPU and one is wanted, Interrupted if a signal is in
    ``caught`` while it waits for one.
    """
    has = wanted != "cpu" and torch.cuda.is_available()
    if wanted == "cuda" and not has:
        raise CircletError("--device cuda: torch sees no GPU here; use --device cpu or auto")
    if not has:
        yield torch.device("cpu")
        return
    # It is also made the current one: CUDA graphs are recorded there, whatever their tensors.
    with free_gpu(caught) as index, torch.cuda.device(index):
        yield torch.device("cuda", index)
