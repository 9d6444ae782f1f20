"""The work of one job: imported only when it is done, as it takes torch, pandas or matplotlib."""

import gc
import importlib
from types import ModuleType

from circlet.products import Product


def load(module: str) -> ModuleType:
    """Import a module that imports much, without the garbage collector: it would find nothing."""
    gc.disable()
    try:
        return importlib.import_module(module)
    finally:
        gc.enable()


def make(product: Product) -> None:
    """Make a table, a figure or the report, by the package that it belongs to."""
    package = product.module.split(".")[1]
    load(product.module if package == "pages" else f"circlet.{package}").make(product)
