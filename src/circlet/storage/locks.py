"""Locks between processes: one Snakemake per results folder, one job per block.

The system drops a lock when its process ends, however it ends.
"""

import contextlib
import errno
import fcntl
import logging
import os
import platform
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from circlet.errors import CircletError, Interrupted, LogError
from circlet.study.points import Block

log = logging.getLogger("circlet")

WAITED = "it had not begun: it waited for another job of its block"

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.[a-z]+")  # names that `files.atomic` gives


class Busy(CircletError):
    """Another process holds a lock; the text says which."""


def _locked(path: Path) -> IO[bytes] | None:
    """Hold a lock until the file that is returned is closed or the process ends.

    None where the file system has no locks. Raises Busy if another process holds it, and LogError
    if the file cannot be written.
    """
    for _ in range(100):  # again whenever its last holder deletes the file at the same moment
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Not through a link: what it points to would be emptied.
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            stream = os.fdopen(os.open(path, flags, 0o666), "r+b", buffering=0)
        except OSError as error:
            raise LogError(f"{path}: cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with stream:
                stream.seek(0)
                raise Busy(stream.read().decode().strip() or "another process") from None
        except OSError as error:
            stream.close()
            if error.errno == errno.ESTALE:  # deleted on another node
                continue
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        if _is_at(stream, path):
            # On a full disk the lock holds, but does not name its holder.
            with contextlib.suppress(OSError):
                stream.truncate(0)
                stream.write(f"process {os.getpid()} on {platform.node()}\n".encode())
            return stream
        stream.close()
    raise Busy("several short-lived processes")


def _is_at(stream: IO[bytes], path: Path) -> bool:
    """Whether a file is still at its path: the last holder of a block's lock deletes it."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except OSError:
        return False


def lock(results: Path) -> IO[bytes] | None:
    """Keep other Snakemakes from some results until the lock is closed or the process ends.

    None, and a warning, where the file system has no locks. Ends the program with a line if another
    Snakemake works there.
    """
    path = results / ".lock"
    try:
        stream = _locked(path)
    except Busy as who:
        sys.exit(
            f"error: another Snakemake works on {results} ({who}); if that is gone, delete {path}"
        )
    except LogError as error:
        sys.exit(f"error: {error}")
    if stream is None:
        print(
            f"warning: {path.parent} does not support file locks: do not start a second Snakemake "
            "on it",
            file=sys.stderr,
        )
    return stream


@contextlib.contextmanager
def block_lock(block: Block, caught: Sequence[int] = ()) -> Iterator[None]:
    """Wait until no other process runs a block, and keep others from running it.

    The job of a Snakemake that was killed may still run when the next Snakemake starts the block
    again. What a killed job left half-written is removed. Where the file system has no locks,
    nothing is waited for or removed. Raises Interrupted if a signal is in ``caught`` meanwhile.
    """
    path, waiting = block.log("runs").with_name(".lock"), False
    while True:
        try:
            held = _locked(path)
            break
        except Busy as who:
            if not waiting:
                log.info(
                    "%s: already runs (%s); waiting for it. If it is gone, delete %s",
                    "/".join(block.key), who, path,
                )  # fmt: skip
            waiting = True
            if caught:
                said = f"{WAITED} (of {who}); if that is gone, delete {path}"
                raise Interrupted(caught[0], said) from None
            time.sleep(0.5)
    if held is None:
        yield
        return
    with held:
        try:
            for file in path.parent.iterdir():
                if _TEMPORARY.fullmatch(file.name):
                    with contextlib.suppress(OSError):
                        file.unlink()
            yield
        finally:
            if _is_at(held, path):  # somebody may have deleted it and locked a new file
                with contextlib.suppress(OSError):
                    path.unlink()
