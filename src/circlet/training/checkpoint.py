"""Checkpoints: a block that is interrupted resumes where it was.

The file stands in the folder of the block's logs but no rule has it as output, so Snakemake leaves
it alone when a job fails. It goes when the block is done.
"""

import contextlib
import hashlib
import io as stream
import logging
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from circlet.errors import Interrupted, LogError
from circlet.storage import files

log = logging.getLogger("circlet")

# What schedulers and `kill` send before they kill, and ctrl-C. Not SIGUSR1, which a cluster may be
# told to send: the Snakemakes around a job would die of it.
SIGNALS = (signal.SIGTERM, signal.SIGINT)
FIRST, MOST = 10.0, 600.0  # seconds to the first checkpoint, and the most between two


def lacks_memory(error: BaseException) -> bool:
    """Whether an error says that there is too little memory, which torch says in words only."""
    words = ("can't allocate memory", "out of memory")
    return isinstance(error, MemoryError) or any(text in str(error) for text in words)


class Checkpoint:
    """The checkpoint of one block: when it is due, and how it is kept.

    The first is due after ten seconds, the next ones whenever the time has doubled, at most ten
    minutes apart; so a short block writes none, and a killed one loses at most half of its work
    beyond the first ten seconds. ``made_by`` are settings, code and versions: a checkpoint that was
    made by others is left unused. ``caught`` are signals that have arrived, from ``deferred``.
    """

    def __init__(self, path: Path, made_by: str, caught: Sequence[int]):
        self.path, self.made_by, self.caught = path, made_by, caught
        self.started = time.monotonic()
        self.next = self.started + FIRST
        self.interruptions = 0  # how often the block was begun again before

    def load(self) -> list[dict[str, Any]]:
        """The states of its groups when it was saved; none if it never was, or by other code."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            log.info("%s: cannot be read and is left unused: %s", self.path, error.strerror)
            return []
        digest, body = content[:32], content[32:]
        if hashlib.sha256(body).digest() != digest:  # torch would read a flipped bit as a number
            log.info("%s: is damaged and left unused", self.path)
            return []
        try:
            saved = torch.load(stream.BytesIO(body), weights_only=True)
            if saved["made_by"] != self.made_by:
                log.info("%s: was made by other settings, code or versions; left unused", self.path)
                return []
            interruptions, groups = saved["interruptions"] + 1, list(saved["groups"])
            if type(interruptions) is not int or not 0 < interruptions < 2**31:
                raise ValueError("interruptions")
        except Exception as error:  # whatever may stand in a file that somebody has changed
            self.refuse(error)
            return []
        self.interruptions = interruptions
        return groups

    def refuse(self, error: BaseException) -> None:
        """Say that it is left unused, as it does not hold what it should.

        Raises the error itself if it is too little memory: that is not the checkpoint's fault.
        """
        if lacks_memory(error):
            raise error
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:100]
        log.info("%s: cannot be used and is left unused (%s)", self.path, reason)
        self.interruptions = 0

    def due(self) -> bool:
        """Whether to save now: a signal has arrived, or it is time."""
        return bool(self.caught) or time.monotonic() >= self.next

    def save(self, groups: list[dict[str, Any]]) -> None:
        """Keep the states of the groups so far; then raise Interrupted if a signal has arrived.

        If the disk is full, keep training unless a signal has arrived.
        """
        saved = {"made_by": self.made_by, "interruptions": self.interruptions, "groups": groups}
        where = f"saved {self.path}, rerun the command to resume"
        body = stream.BytesIO()
        torch.save(saved, body)
        try:
            with files.atomic(self.path) as temporary, temporary.open("wb") as file:
                # From the buffer itself: it may be as large as all logs.
                file.write(hashlib.sha256(body.getbuffer()).digest())
                file.write(body.getbuffer())
        except LogError as error:
            where = f"nothing was saved: {error}"
            log.info("checkpoint: %s", error)
        now = time.monotonic()
        self.next = now + min(now - self.started, MOST)
        if self.caught:
            raise Interrupted(self.caught[0], where)

    def remove(self) -> None:
        """Remove it: the block is done."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


@contextlib.contextmanager
def deferred() -> Iterator[list[int]]:
    """Only note the signals that end a job, so that no step is cut in two; yields those noted."""
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # signals go to the main one
        yield caught
        return
    previous = {s: signal.signal(s, lambda number, _: caught.append(number)) for s in SIGNALS}
    try:
        yield caught
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
