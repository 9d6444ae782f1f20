"""Locks between processes: one Snakemake per results folder, one job per block and per GPU.

The operating system releases a lock when its process ends, even if killed. The file stays.
"""

import contextlib
import errno
import logging
import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from circlet.errors import CircletError, Interrupted, LogError
from circlet.lazy_import import load
from circlet.study.blocks import Block

if TYPE_CHECKING:
    from filelock import FileLock

log = logging.getLogger("circlet")

WAITED = "it had not begun: it waited for another job of its block"

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.[a-z]+")  # names that `files.atomic` gives


class Busy(CircletError):
    """Another process holds a lock; the text says which."""


def hold(path: Path, seconds: float = 0) -> "FileLock | None":
    """Hold a lock until it is released or the process ends; wait some seconds for it.

    Returns None if the file system has no locks. Raises Busy if another process holds the lock,
    and LogError if the file cannot be written.
    """
    filelock = load("filelock")
    lock: FileLock = filelock.FileLock(path, fallback_to_soft=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=seconds, poll_interval=0.1)
    except filelock.Timeout:
        who = ""
        with contextlib.suppress(OSError):
            who = path.read_text(encoding="utf-8").strip()
        raise Busy(who or "another process") from None
    except (OSError, NotImplementedError) as error:
        code = getattr(error, "errno", None)
        if code in (None, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EINVAL, errno.EIO):
            return None
        raise LogError(f"{path}: cannot be written: {os.strerror(code)}") from error
    with contextlib.suppress(OSError):  # on a full disk the file does not name the holder
        path.write_text(f"process {os.getpid()} on {platform.node()}\n", encoding="utf-8")
    return lock


def lock(results: Path) -> "FileLock | None":
    """Lock results against other Snakemakes until the lock is released or the process ends.

    Prints a warning and returns None if the file system has no locks. Exits with a message if
    another Snakemake works on the results.
    """
    path = results / ".lock"
    try:
        file_lock = hold(path)
    except Busy as who:
        sys.exit(
            f"error: another Snakemake works on {results} ({who}); if that is gone, delete {path}"
        )
    except LogError as error:
        sys.exit(f"error: {error}")
    if file_lock is None:
        print(
            f"warning: {results} does not support file locks: do not start a second Snakemake on "
            "it",
            file=sys.stderr,
        )
    return file_lock


@contextlib.contextmanager
def block_lock(block: Block, caught: Sequence[int] = ()) -> Iterator[None]:
    """Wait until no other process runs a block, and keep others from running it.

    The job of a Snakemake that was killed may still run when the next Snakemake starts the block
    again. Half-written files of a killed job are removed. If the file system has no locks, this
    neither waits nor removes files. Raises Interrupted if it waits while a signal is in ``caught``.
    """
    path, seconds = block.log("runs").with_name(".lock"), 0.0
    while True:
        try:
            file_lock = hold(path, seconds)
            break
        except Busy as who:
            if not seconds:
                log.info(
                    "%s: already runs (%s); waiting for it. If it is gone, delete %s",
                    "/".join(block.key), who, path,
                )  # fmt: skip
            seconds = 0.5
            if caught:
                message = f"{WAITED} (of {who}); if that is gone, delete {path}"
                raise Interrupted(caught[0], message) from None
    if file_lock is None:
        yield
        return
    try:
        for file in path.parent.iterdir():
            if _TEMPORARY.fullmatch(file.name):
                with contextlib.suppress(OSError):
                    file.unlink()
        yield
    finally:
        file_lock.release()
