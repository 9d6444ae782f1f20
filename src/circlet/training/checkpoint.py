"""Checkpoints: an interrupted block resumes where it stopped.

The file stands in the folder of the block's logs but no rule has it as output, so Snakemake leaves
it alone when a job fails. It goes when the block is done.
"""

import contextlib
import hashlib
import json
import logging
import math
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from circlet.errors import Interrupted, LogError, lacks_memory
from circlet.storage import files

log = logging.getLogger("circlet")

# What schedulers and `kill` send before they kill, and ctrl-C. Not SIGUSR1, which a cluster may be
# told to send: the Snakemakes around a job would die of it.
SIGNALS = (signal.SIGTERM, signal.SIGINT)
FIRST, MOST = 10.0, 600.0  # seconds to the first checkpoint, and the most between two


def _plain(value: Any, arrays: list[np.ndarray]) -> Any:
    """A value as JSON has it, without its arrays, which are appended to a list."""
    if isinstance(value, np.ndarray):
        arrays.append(np.ascontiguousarray(value))
        return {"array": [value.dtype.str, value.shape]}
    if isinstance(value, dict):  # JSON would make texts of keys that are numbers
        return {"items": [[key, _plain(item, arrays)] for key, item in value.items()]}
    is_list = isinstance(value, list | tuple)
    return [_plain(item, arrays) for item in value] if is_list else value


def packed(value: Any) -> list[Any]:
    """A value as what to write into a file: the length of a header, the header, and its arrays.

    The value is made of numbers, texts and arrays in lists and dictionaries. The header is JSON.
    """
    arrays: list[np.ndarray] = []
    header = json.dumps(_plain(value, arrays)).encode()
    return [len(header).to_bytes(8), header, *arrays]


def unpacked(content: memoryview) -> Any:
    """The value that was packed, with arrays in this memory; raises what a damaged one causes."""
    size = int.from_bytes(content[:8])
    at = 8 + size

    def whole(value: Any) -> Any:
        nonlocal at
        if isinstance(value, list):
            return [whole(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "items" in value:
            return {key: whole(item) for key, item in value["items"]}
        dtype, shape = value["array"]
        array = np.frombuffer(content, dtype, math.prod(shape), at).reshape(shape)
        at += array.nbytes
        return array

    return whole(json.loads(bytes(content[8:at])))


class Checkpoint:
    """The checkpoint of one block: when to save, and how.

    The first is due after ten seconds, the next ones whenever the time has doubled, at most ten
    minutes apart; so a short block writes none, and a killed one loses at most half of its work
    beyond the first ten seconds. ``made_by`` has the settings, code and versions: a checkpoint that
    was made with others is ignored. ``caught`` are signals that have arrived, from ``deferred``.
    """

    def __init__(self, path: Path, made_by: str, caught: Sequence[int]):
        self.path, self.made_by, self.caught = path, made_by, caught
        self.started = time.monotonic()
        self.next = self.started + FIRST
        self.interruptions = 0  # how often the block was restarted before

    def load(self) -> list[dict[str, Any]]:
        """The saved states of its groups; none if there is no checkpoint made by this code."""
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return []
        except OSError as error:
            log.info("%s: cannot be read and is left unused: %s", self.path, error.strerror)
            return []
        with file:
            return self._read(file)

    def _read(self, file: BufferedReader) -> list[dict[str, Any]]:
        """The content of its file."""
        try:
            content = memoryview(file.read())
            size = hashlib.sha256().digest_size
            # A flipped bit would be read as a valid number.
            if hashlib.sha256(content[size:]).digest() != content[:size]:
                log.info("%s: is damaged and left unused", self.path)
                return []
            saved = unpacked(content[size:])
            if saved["made_by"] != self.made_by:
                log.info("%s: was made by other settings, code or versions; left unused", self.path)
                return []
            interruptions, groups = saved["interruptions"] + 1, list(saved["groups"])
            if type(interruptions) is not int or not 0 < interruptions < 2**31:
                raise ValueError("interruptions")
        except Exception as error:  # a changed file may contain anything
            self.refuse(error)
            return []
        self.interruptions = interruptions
        return groups

    def refuse(self, error: BaseException) -> None:
        """Report that the checkpoint is ignored because its content does not fit.

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
        """Save the states of the groups so far; then raise Interrupted if a signal has arrived.

        If the disk is full, keep training unless a signal has arrived.
        """
        saved = {"made_by": self.made_by, "interruptions": self.interruptions, "groups": groups}
        where = f"saved {self.path}, rerun the command to resume"
        try:
            parts = packed(saved)
            digest = hashlib.sha256()
            for part in parts:
                digest.update(part)
            with files.atomic(self.path) as temporary, temporary.open("wb") as file:
                file.writelines([digest.digest(), *parts])
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
    """Defer the signals that end a job until a step is done; yields those received."""
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
