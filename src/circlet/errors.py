"""The errors that a user can cause or mend. Each is shown as one line, without a traceback."""


class CircletError(Exception):
    """Something outside the code is wrong; the text names the key or the file, and the remedy."""


class ConfigError(CircletError):
    """A config breaks the schema or contradicts itself."""


class LogError(CircletError):
    """A log or table is missing, damaged, or was made from another config."""
