"""East wing: logs and tables in, tables out. One module per table, of the table's name.

A table's module declares its inputs (see ``circlet.products``) and defines ``table(study)``, which
returns a frame with the columns that ``circlet.tables`` declares for it.
"""

import importlib

import pandas as pd

from circlet import io, schema, tables
from circlet.products import Product


def make(product: Product) -> None:
    """Compute a table and write it."""
    frame = importlib.import_module(product.module).table(product.study)
    fields = tables.TABLES[product.name]
    if not len(frame.columns):  # no rows at all
        frame = pd.DataFrame(columns=[field.name for field in fields])
    for unit in ("run_id", "point"):
        if unit in frame.columns:
            fields = schema.keys(product.study.parameters, unit) + fields
    table = schema.conform(frame, fields, f"table {product.name}")
    io.write(table, product.outputs[0], io.provenance() | product.footer)
