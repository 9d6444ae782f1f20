"""Import a module when it is needed, because it may import torch, pandas or matplotlib."""

import gc
import importlib
from types import ModuleType


def load(module: str) -> ModuleType:
    """Import a module with the garbage collector off, which would only cost time."""
    gc.disable()
    try:
        return importlib.import_module(module)
    finally:
        gc.enable()
