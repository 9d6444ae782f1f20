"""circlet: sweeps of tiny networks that learn modular addition, from training to a scorecard."""

import importlib
from typing import Any

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import ``circlet.load`` on first use, because no command needs it."""
    if name == "load":
        return importlib.import_module("circlet.storage.results").load
    raise AttributeError(f"module 'circlet' has no attribute {name!r}")
