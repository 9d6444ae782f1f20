"""Provenance of files: commit, versions, machine."""

import os
import platform
import subprocess
from importlib.metadata import version
from typing import Any

from circlet import __version__
from circlet.study.registry import PACKAGE


def _git(*command: str) -> str:
    arguments = ["git", "-C", str(PACKAGE), *command]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.strip()


def commit() -> str | None:
    """Return the commit of the package's code, with ``-dirty`` if edited since; None if unknown.

    Edits outside the package, as of a config, do not count: the footer has the config.
    """
    try:
        edited = "-dirty" if _git("status", "--porcelain", "--", ".") else ""
        return _git("rev-parse", "--short=12", "HEAD") + edited
    except (OSError, subprocess.CalledProcessError):
        return None  # git is missing, or this is not a checkout


def made_by() -> dict[str, Any]:
    """Return what a footer records of code and machine: commit, versions, interpreter, machine."""
    packages = ("torch", "numpy", "pandas", "pyarrow", "scikit-learn")
    return {
        "commit": commit(),
        "versions": {"circlet": __version__} | {name: version(name) for name in packages},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
