"""Copies of finished logs, kept until the study is done, in case a group of blocks fails.

A group is a job of several blocks. If one of them fails, Snakemake removes the logs of all. Copies
are hard links where the file system has them, so they take no room.
"""

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

from circlet.errors import WriteError
from circlet.storage.files import atomic
from circlet.study import fingerprint
from circlet.study.blocks import Block
from circlet.study.plan import Study


def _folder(results: Path) -> Path:
    return results / ".kept"


def _place(block: Block, log: Path) -> Path:
    """Return the place of a copy: another one if the settings or the code are others."""
    made_from = f"{block.json} {block.point.version} {fingerprint.of_system(block.point.system)}"
    name = hashlib.sha256(made_from.encode()).hexdigest()[:16]
    return _folder(block.point.results) / name / log.name


def _copy(source: Path, to: Path) -> None:
    with atomic(to) as temporary:
        try:
            os.link(source, temporary)
        except OSError:  # no hard links here
            shutil.copyfile(source, temporary)


def keep(block: Block) -> None:
    """Keep copies of the logs of a finished block; none if they cannot be written."""
    with contextlib.suppress(WriteError):
        for log in reversed(block.logs):  # `runs` last, as in training
            _copy(log, _place(block, log))


def restore(block: Block) -> None:
    """Put back the logs of a block that were removed, if there are copies of all."""
    if block.log("runs").exists() or not _place(block, block.log("runs")).exists():
        return
    for log in reversed(block.logs):
        _copy(_place(block, log), log)


def restore_all(study: Study) -> None:
    """Put back the logs of all blocks that were removed, until the disk is full."""
    if _folder(study.results).exists():
        with contextlib.suppress(WriteError):
            for block in study.blocks:
                restore(block)


def remove(study: Study) -> None:
    """Remove all copies."""
    shutil.rmtree(_folder(study.results), ignore_errors=True)
