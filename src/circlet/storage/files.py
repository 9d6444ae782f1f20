"""Atomic writes of files, and folders that circlet may clear."""

import contextlib
import json
import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from circlet.errors import LogError, WriteError

_MARK = ".circlet.json"  # marks a folder that circlet may clear, and lists the files made in it


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Context: a temporary path beside ``path``, moved to ``path`` if no error occurs.

    After an error no half-written file remains, under either name. An OSError (full disk,
    read-only folder) becomes a LogError that names the path.
    """
    temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex[:8]}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file as a whole, or not at all: see `atomic`."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def marked_folder(folder: Path, planned: Iterable[Path]) -> Iterator[list[Path]]:
    """Context: make files in a folder for circlet alone; yields a list for the paths made.

    A marker file lists the files. If no error occurs, files that an earlier marker lists and that
    were not made this time are deleted, and nothing else. Raises LogError if the folder is not
    empty and has no marker.
    """
    mark, made = folder / _MARK, list[Path]()
    try:
        if folder.exists() and not mark.exists() and any(folder.iterdir()):
            raise LogError(
                f"{folder}: already exists and has no {_MARK}, so it is somebody else's, or an "
                "earlier version made it; move it, or delete it if nothing in it is yours"
            )
        earlier = json.loads(mark.read_text(encoding="utf-8"))["files"] if mark.exists() else []
        names_there = {str(file.relative_to(folder)) for file in planned}.union(earlier)
    except (ValueError, KeyError, TypeError) as error:
        raise LogError(f"{mark}: is damaged; move {folder} and rerun the command") from error
    except OSError as error:
        raise LogError(f"{folder}: cannot be read: {error.strerror}") from error
    _write_mark(mark, names_there)
    yield made
    names = {str(file.relative_to(folder)) for file in made}
    for name in names_there - names:
        file = folder / name
        if folder.resolve() in file.resolve().parents and not file.is_dir():
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
    _write_mark(mark, names)


def _write_mark(mark: Path, names: set[str]) -> None:
    write_text(mark, json.dumps({"files": sorted(names)}, indent=0))
