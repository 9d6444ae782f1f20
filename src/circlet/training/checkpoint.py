"""Checkpoints: an interrupted block resumes where it stopped.

The file lies in the folder of the block's logs, but is no rule's output, so Snakemake does not
delete it when a job fails. It is removed when the block is done.
"""

import contextlib
import hashlib
import logging
import pickle
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from circlet.errors import CircletError, Interrupted, LogError, lacks_memory
from circlet.storage import files, remote

log = logging.getLogger("circlet")

SIZE = 32  # bytes of a SHA-256
FIRST, MOST = 10.0, 600.0  # seconds to the first checkpoint, and the most between two


class Checkpoint:
    """The checkpoint of one block: when to save, and how.

    The first is due after ten seconds, the next ones whenever the time has doubled, at most ten
    minutes apart; so a short block writes none, and a killed one loses at most half of its work
    beyond the first ten seconds. ``made_by`` has the settings, code and versions: a checkpoint that
    was made with others is ignored. ``caught`` is a list of the signals that have arrived.
    ``address`` is a remote folder that also gets the file, for when this machine's disk is lost.
    """

    def __init__(self, path: Path, made_by: str, caught: Sequence[int], address: str | None = None):
        self.path, self.made_by, self.caught, self.address = path, made_by, caught, address
        self.started = time.monotonic()
        self.next = self.started + FIRST
        self.interruptions = 0  # how often the block was restarted before

    def load(self, convert: Callable[[Any], Any] = lambda state: state) -> list[dict[str, Any]]:
        """Return the saved states of the groups, converted; none if there are none to be used.

        Raises the error itself if it is too little memory: that is not the checkpoint's fault.
        """
        if not self.path.exists():
            self._with_remote(lambda folder: folder.fetch_if_there(self.path.name, self.path))
        try:
            with self.path.open("rb") as file:
                digest = file.read(SIZE)
                # A flipped bit would be read as a valid number.
                if hashlib.file_digest(file, "sha256").digest() != digest:
                    raise LogError("is damaged")
                file.seek(SIZE)
                saved = pickle.load(file)
            if saved["made_by"] != self.made_by:
                raise LogError("was made by other settings, code or versions")
            groups = [convert(state) for state in saved["groups"]]
            self.interruptions = saved["interruptions"] + 1
            return groups
        except FileNotFoundError:
            pass
        except LogError as error:
            log.info("%s: %s; left unused", self.path, error)
        except Exception as error:  # a checkpoint of another release
            if lacks_memory(error):
                raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:100]
            log.info("%s: cannot be used (%s); left unused", self.path, reason)
        return []

    def due(self) -> bool:
        """Return whether to save now: if a signal has arrived, or `next` is reached."""
        return bool(self.caught) or time.monotonic() >= self.next

    def save(self, groups: list[dict[str, Any]]) -> None:
        """Save the states of the groups so far; then raise Interrupted if a signal has arrived.

        If the disk is full, keep training unless a signal has arrived.
        """
        saved = {"made_by": self.made_by, "interruptions": self.interruptions, "groups": groups}
        where = f"saved {self.path}, rerun the command to resume"
        try:
            with files.atomic(self.path) as temporary, temporary.open("wb+") as file:
                file.write(bytes(SIZE))  # room for the digest of what follows
                pickle.dump(saved, file, protocol=5)  # writes arrays as they are
                file.seek(SIZE)
                digest = hashlib.file_digest(file, "sha256").digest()
                file.seek(0)
                file.write(digest)
            self._with_remote(lambda folder: folder.put(self.path, self.path.name))
        except LogError as error:
            where = f"nothing was saved: {error}"
            log.info("checkpoint: %s", error)
        now = time.monotonic()
        self.next = now + min(now - self.started, MOST)
        if self.caught:
            raise Interrupted(self.caught[0], where)

    def remove(self) -> None:
        """Remove the file, once the block is done."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._with_remote(lambda folder: folder.remove(self.path.name))

    def _with_remote(self, act: Callable[[remote.Remote], None]) -> None:
        """Do something with the remote folder, if there is one; an error is only logged."""
        if self.address:
            try:
                act(remote.Remote(self.address))
            except CircletError as error:
                log.info("checkpoint: %s", error)
