"""The device of a block: the CPU, or a GPU that no other job uses.

Snakemake counts GPUs and assigns none. So every job on a GPU holds the lock of one device, and the
next job takes the next. The system drops a lock when its process ends, however it ends.
"""

import contextlib
import errno
import fcntl
import logging
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from circlet.errors import CircletError, Interrupted
from circlet.lazy_import import load

log = logging.getLogger("circlet")

SYSTEMD = Path("/run/user")  # has a folder for each user who is logged in, named by the user id
ELSEWHERE = "set XDG_RUNTIME_DIR, the same for all your jobs, to an existing folder that you own"


def visible() -> list[str]:
    """Names of the GPUs that this process may use, in the order of torch's indices."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = load("torch").cuda.device_count()
    return named.split(",")[:count] if named else [str(i) for i in range(count)]


def _owner(folder: Path) -> int | None:
    """User id of the owner of a folder, None if it is not there."""
    with contextlib.suppress(OSError):
        found = folder.stat()
        return found.st_uid if stat.S_ISDIR(found.st_mode) else None
    return None


def lock_folder() -> Path:
    """Folder of this user's locks, the same one for every job on this machine.

    A job of cron has no XDG_RUNTIME_DIR, and a job of SLURM or of ``su`` may have inherited one
    that names a folder of another machine or user. So the variable counts only if it names a folder
    of this user, and systemd's folder of this user counts without the variable.
    """
    user = os.getuid()
    for folder in (Path(os.environ.get("XDG_RUNTIME_DIR", "")), SYSTEMD / str(user)):
        if folder.is_absolute() and _owner(folder) == user:
            return folder / "circlet"
    try:
        return Path(tempfile.gettempdir()) / f"circlet-{user}"
    except OSError as error:
        raise CircletError(f"no folder for locks of GPUs: {error.strerror}; {ELSEWHERE}") from error


def _unusable(path: Path, why: str) -> CircletError:
    return CircletError(
        f"{path}: cannot be used for locks of GPUs, {why}; delete it while none of your jobs uses "
        f"a GPU, or {ELSEWHERE}"
    )


def _open_folder(path: Path) -> int:
    """Descriptor of the folder of locks, made if it is missing.

    The temporary folder is everybody's: what has this name there may be another user's, or a link
    to somewhere else.
    """
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
    except OSError as error:
        raise CircletError(
            f"{path}: cannot be made, for locks of GPUs: {error.strerror}; {ELSEWHERE}"
        ) from error
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except NotADirectoryError:
        raise _unusable(path, "it is a symbolic link or a file instead of a folder") from None
    except OSError as error:
        raise _unusable(path, f"opening it failed ({error.strerror})") from error
    found = os.fstat(folder)
    if found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return folder
    os.close(folder)
    if found.st_uid == os.getuid():
        raise _unusable(path, "other users may write to it")
    raise CircletError(
        f"{path}: cannot be used for locks of GPUs, it belongs to another user (id "
        f"{found.st_uid}); ask them to delete it, or {ELSEWHERE}"
    )


def _open_lock(path: Path, folder: int) -> int:
    """Descriptor of a lock file in the folder with this descriptor; its content is not touched."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK  # not to wait at a pipe
    try:
        lock = os.open(path.name, flags, 0o600, dir_fd=folder)
    except OSError as error:
        link = error.errno == errno.ELOOP
        why = "it is a symbolic link" if link else f"opening it failed ({error.strerror})"
        raise _unusable(path, why) from error
    if not stat.S_ISREG(os.fstat(lock).st_mode):
        os.close(lock)
        raise _unusable(path, "it is not a regular file")
    return lock


@contextlib.contextmanager
def _locks(names: Sequence[str]) -> Iterator[list[tuple[Path, int]]]:
    """Path and descriptor of the lock file of each GPU; closing one releases its lock.

    Under SLURM each job may see its own device as number 0, so the locks of two jobs differ.
    """
    job = os.environ.get("SLURM_JOB_ID", "")
    path = lock_folder()
    with contextlib.ExitStack() as opened:
        folder = _open_folder(path)
        opened.callback(os.close, folder)
        locks = []
        for name in names:
            lock = path / f"gpu{job and '-' + job}-{name.replace('/', '_')}.lock"
            locks.append((lock, _open_lock(lock, folder)))
            opened.callback(os.close, locks[-1][1])
        yield locks


def _take(path: Path, lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise CircletError(
            f"{path}: cannot be locked: {error.strerror}; {ELSEWHERE} on a local disk"
        ) from error
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
    with _locks(names) as locks:
        while True:
            free = next((i for i, (path, lock) in enumerate(locks) if _take(path, lock)), None)
            if free is not None:
                yield free
                return
            if caught:
                raise Interrupted(caught[0], "it was waiting for a GPU and had not begun")
            if not told:
                log.info("waiting for one of %d GPUs, all are taken by other jobs", len(names))
                told = True
            time.sleep(0.5)


@contextlib.contextmanager
def claim(wanted: str, caught: Sequence[int] = ()) -> Iterator[str]:
    """The device that ``auto``, ``cpu`` or ``cuda`` means here, a GPU for this process alone.

    Raises CircletError if there is no GPU and one is wanted, Interrupted if a signal is in
    ``caught`` while it waits for one.
    """
    if wanted == "cpu":  # torch takes seconds to import, which native kernels do without
        yield "cpu"
        return
    torch = load("torch")
    if not torch.cuda.is_available():
        if wanted == "cuda":
            raise CircletError("--device cuda: torch sees no GPU here; use --device cpu or auto")
        yield "cpu"
        return
    # It is also made the current one: CUDA graphs are recorded there, whatever their tensors.
    with free_gpu(caught) as index, torch.cuda.device(index):
        yield f"cuda:{index}"
