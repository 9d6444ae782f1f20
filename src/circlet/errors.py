"""The errors that a user can cause or mend. Each is shown as one line, without a traceback."""


class CircletError(Exception):
    """Something outside the code is wrong; the text names the key or the file, and the remedy."""


class ConfigError(CircletError):
    """A config breaks the schema or contradicts itself."""


class LogError(CircletError):
    """A log or table is missing, damaged, or was made from another config."""


class Interrupted(BaseException):
    """A signal has ended a block between two steps; no error, and not to be caught as one."""

    def __init__(self, signal: int, saved: str):
        super().__init__(signal, saved)
        self.signal, self.saved = signal, saved
