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
    """Make a table, a figure or a page, by the package that it belongs to.

    Raises LogError if one of its tables is not the planned one, or if its code was edited before
    all of it was imported.
    """
    own = load(product.module)
    product.check_code()
    product.study.keys = product.table_keys
    maker = own if product.kind == "pages" else load(f"circlet.{product.kind}")
    maker.make(product)
