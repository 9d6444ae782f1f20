"""Files with the studies of jobs, each named by a hash of its content."""

import hashlib
import time
from pathlib import Path

from circlet.storage import files

MAX_AGE_S = 30 * 86_400  # seconds for which files are kept


class JobConfigs:
    """A folder with the studies of jobs that do not fit on a command line."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, text: str) -> Path:
        """Return the path of the file with a study, as JSON; the file need not exist."""
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"

    def written(self, text: str) -> Path:
        """Write a study to its file, unless it has been written, and return the path."""
        path = self.path(text)
        if not (path.exists() and path.read_text(encoding="utf-8") == text):
            files.write_text(path, text)
        return path

    def remove_old(self) -> None:
        """Remove files that were written a month ago."""
        for path in self.folder.glob("*.json"):
            if time.time() - path.stat().st_mtime > MAX_AGE_S:
                path.unlink()
