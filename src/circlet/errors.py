"""The errors that a user can cause or fix. Each is shown as one line, without a traceback."""

import difflib
from collections.abc import Iterable

RENAMED = {
    "measures": "derived_metrics",
    "MEASURES": "DERIVED_METRICS",
    "FROM_COLLECTIONS": "COLLECTION_FILES",
}


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question with the new or most similar name, and a space; empty if there is none."""
    near = [RENAMED[name]] if name in RENAMED else difflib.get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}? " if near else ""


def unknown(what: str, name: str, names: Iterable[str]) -> str:
    """Return the error text for an unknown name: the most similar valid name, and all of them."""
    names = list(names)
    listed = ", ".join(names) or "none"
    return f"there is no {what} {name!r} ({did_you_mean(name, names)}there are: {listed})"


def check_exist(where: str, what: str, existing: Iterable[str], names: Iterable[str]) -> None:
    """Raise ConfigError for the first of some names that does not exist."""
    for name in names:
        if name not in existing:  # a look-up in `Systems` imports the system
            raise ConfigError(f"{where}: {unknown(what, name, existing)}")


class CircletError(Exception):
    """Error with a cause outside the code; the text names the key or file, and the remedy."""


class ConfigError(CircletError):
    """A config breaks the schema or contradicts itself; the text is joined to one line."""

    def __init__(self, text: str):
        super().__init__(" ".join(text.split()))


class LogError(CircletError):
    """A log or table is missing, damaged, or was made from another config."""


class WriteError(LogError):
    """A file cannot be written, for example because the disk is full."""


def not_installed(error: ModuleNotFoundError) -> str | None:
    """Return the line that says which package to install; None if circlet has the module."""
    package = (error.name or "circlet").partition(".")[0]
    if package == "circlet":
        return None
    return (
        f"error: the Python package {package} is not installed; install it, or install circlet "
        "with all its dependencies (`pip install --editable .` in the clone)"
    )


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error means too little memory; torch says so in the message alone."""
    words = ("can't allocate memory", "out of memory")
    return isinstance(error, MemoryError) or any(text in str(error) for text in words)


class Interrupted(BaseException):
    """A signal has ended a block between two steps; not an error, so not an `Exception`."""

    def __init__(self, signal: int, saved: str):
        super().__init__(signal, saved)
        self.signal, self.saved = signal, saved
