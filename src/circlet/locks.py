"""Locks between processes: one Snakemake per results folder, one job per block.

The system drops a lock when its process ends, however it ends.
"""

import contextlib
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
from circlet.points import Block

log = logging.getLogger("circlet")

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.[a-z]+")  # names that `io.atomic` gives


class Busy(CircletError):
    """Another process holds a lock; the text says which."""


def _locked(path: Path) -> IO[bytes] | None:
    """Hold a lock until the file that is returned is closed or the process ends.

    None where the file system has no locks. Raises Busy if another process holds it, and LogError
    if the file cannot be written.
    """
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = path.open("a+b", buffering=0)
        except OSError as error:
            raise LogError(f"{path}: cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with stream:
                stream.seek(0)
                raise Busy(stream.read().decode().strip() or "another process") from None
        except OSError:
            stream.close()
            return None
        if _is_at(stream, path):
            with contextlib.suppress(OSError):  # a full disk: who holds it is a courtesy
                stream.truncate(0)
                stream.write(f"process {os.getpid()} on {platform.node()}\n".encode())
            return stream
        stream.close()


def _is_at(stream: IO[bytes], path: Path) -> bool:
    """Whether a file is still at its path: its last holder may have deleted it, as `turn` does."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
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
            f"warning: {path.parent} has no locks: start no other Snakemake on it", file=sys.stderr
        )
    return stream


@contextlib.contextmanager
def turn(block: Block, caught: Sequence[int] = ()) -> Iterator[bool]:
    """Wait until no other process runs a block; yields whether another one did.

    The job of a Snakemake that was killed may still run when the next Snakemake starts the block
    again. What a killed job left half-written is removed. Where the file system has no locks,
    nothing is waited for or removed. Raises Interrupted if a signal is in ``caught`` meanwhile.
    """
    path, waited = block.log("runs").with_name(".lock"), False
    while True:
        try:
            held = _locked(path)
            break
        except Busy as who:
            if not waited:
                log.info(
                    "%s: already runs (%s); waiting for it. If it is gone, delete %s",
                    "/".join(block.key), who, path,
                )  # fmt: skip
            waited = True
            if caught:
                said = "it waited for another job of its block, and had not begun"
                raise Interrupted(caught[0], said) from None
            time.sleep(0.5)
    if held is None:
        yield waited
        return
    with held:
        try:
            for file in path.parent.iterdir():
                if _TEMPORARY.fullmatch(file.name):
                    file.unlink(missing_ok=True)
            yield waited
        finally:
            with contextlib.suppress(OSError):
                path.unlink()
