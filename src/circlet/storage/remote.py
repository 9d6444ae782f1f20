"""Results and checkpoints in buckets, on hubs and in archives, through fsspec.

A remote folder is an address such as ``s3://bucket/results``, ``hf://datasets/group/study``, or
a ``.zip`` file. Each kind but ``file://`` and ``.zip`` needs its own package (s3fs,
huggingface_hub).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from circlet.errors import ConfigError, LogError
from circlet.lazy_import import load
from circlet.storage import files

_MAGIC = b"PAR1"  # begins and ends a Parquet file


def is_remote(place: str | Path) -> bool:
    """Return whether a place is an address or an archive, not a folder of this machine."""
    return "://" in str(place) or str(place).endswith(".zip")


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn errors of fsspec and of its packages into a LogError or ConfigError with the address."""
    try:
        yield
    except FileNotFoundError:
        raise LogError(f"{url}: there is no such file or folder") from None
    except (ImportError, ValueError) as error:  # a package is not installed; an unknown protocol
        raise ConfigError(f"{url}: {error}") from None
    except LogError:
        raise
    except Exception as error:  # each store has its own
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise LogError(f"{url}: {reason}") from error


class Remote:
    """A remote folder. Its files are named by their paths below it."""

    def __init__(self, url: str):
        self.url = url
        whole = f"zip://::{url}" if url.endswith(".zip") else url
        with _explained(url):
            self.system, root = load("fsspec").url_to_fs(whole)
        self.root = root.rstrip("/")
        # An archive of a folder, not of its content, begins with the name of the folder.
        for name in self.listing() if whole != url else ():
            folder, _, rest = name.partition("/")
            if rest.startswith(("logs/", "tables/")):
                self.root = folder

    def _at(self, name: str) -> str:
        return f"{self.root}/{name}" if self.root else name

    def listing(self) -> dict[str, dict[str, Any]]:
        """Return what the store says of each file below the folder, by name.

        Raises LogError if a name leads out of the folder, as a false archive may have it.
        """
        with _explained(self.url):
            infos = self.system.find(self.root, detail=True)
        files = {path[len(self.root) :].lstrip("/"): info for path, info in infos.items()}
        if wrong := [name for name in files if ".." in PurePosixPath(name).parts]:
            raise LogError(f"{self.url}: {wrong[0]!r} lies outside of it")
        return files

    def fetch(self, name: str, path: Path) -> None:
        """Copy a file to a path of this machine, whole or not at all."""
        with files.atomic(path) as temporary, _explained(f"{self.url}/{name}"):
            self.system.get_file(self._at(name), str(temporary))

    def fetch_if_there(self, name: str, path: Path) -> None:
        """Copy a file as ``fetch`` does, unless there is none."""
        with _explained(self.url):
            is_there = self.system.exists(self._at(name))
        if is_there:
            self.fetch(name, path)

    def footer(self, name: str) -> bytes:
        """Return a Parquet file without columns: magic number and footer; empty if too short."""
        with _explained(f"{self.url}/{name}"), self.system.open(self._at(name), "rb") as file:
            if file.seek(0, os.SEEK_END) < 12:
                return b""
            file.seek(-8, os.SEEK_END)
            length = int.from_bytes(file.read(4), "little")
            file.seek(-8 - length, os.SEEK_END)
            return _MAGIC + file.read()

    def put(self, path: Path, name: str) -> None:
        """Copy a file of this machine into the folder."""
        with _explained(f"{self.url}/{name}"):
            target = self._at(name)
            if self.system.protocol in ("file", ("file", "local")):  # others have no folders
                self.system.makedirs(str(PurePosixPath(target).parent), exist_ok=True)
            self.system.put_file(str(path), target)

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""
        with _explained(f"{self.url}/{name}"):
            if self.system.exists(self._at(name)):
                self.system.rm_file(self._at(name))


def modified(info: dict[str, Any]) -> float | None:
    """Return the time (s) at which a file was written; None if its store does not say."""
    for key in ("LastModified", "last_modified", "mtime", "date_time"):
        match info.get(key):
            case datetime() as time:
                return time.timestamp()
            case int() | float() as seconds:
                return float(seconds)
            case tuple() as parts:  # of an archive
                return datetime(*parts).timestamp()
    return None


def mirror(url: str, folder: Path) -> int:
    """Copy new and changed logs of a remote folder to a folder; returns their number."""
    remote, copied = Remote(url), 0
    for name, info in remote.listing().items():
        if not PurePosixPath(name).match("logs/*/*/*/*.parquet") and not (
            name.startswith("job_logs/") and name.endswith(".log")
        ):  # a checkpoint may execute code
            continue
        path, time = folder / name, modified(info)
        if time is not None and path.exists():
            there = path.stat()
            if (there.st_size, int(there.st_mtime)) == (info["size"], int(time)):
                continue
        remote.fetch(name, path)
        if time is not None:
            os.utime(path, (time, time))
        copied += 1
    return copied


def outline(url: str, folder: Path) -> None:
    """Copy what `progress.states` reads: texts, how runs ended, and the footers of other files."""
    remote = Remote(url)
    for name in remote.listing():
        path = folder / name
        is_log = name.startswith("logs/")
        if name.startswith("job_logs/") or (is_log and path.name == "runs.parquet"):
            remote.fetch(name, path)
        elif path.suffix == ".parquet":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(remote.footer(name))
