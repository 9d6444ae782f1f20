"""Files that this user keeps between studies, such as measured costs: JSON objects."""

import contextlib
import functools
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def folder() -> Path:
    """Return the folder of these files; nothing can be written there if the user has no home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "circlet"
    except RuntimeError:
        return Path(os.devnull)


def read(file: Path) -> dict[str, Any]:
    """Return the object in a file; empty if the file is not readable."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


kept = functools.cache(read)


def forget(file: Path) -> None:
    """Remove a file, if that is possible."""
    kept(file).clear()
    with contextlib.suppress(OSError):
        file.unlink()


def keep(file: Path, entries: dict[str, Any]) -> None:
    """Add entries to a file, for other processes; if that is impossible, keep them in this one."""
    content = kept(file)
    content |= read(file) | entries  # others may have added to it
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent) as temporary:  # on the same disk
            whole = Path(temporary, file.name)
            whole.write_text(json.dumps(content), encoding="utf-8")
            whole.replace(file)
