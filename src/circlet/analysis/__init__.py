"""East wing: logs and tables in, tables out. One module per table, of the table's name.

A table's module declares its inputs (see ``circlet.products``) and defines ``table(study)``, which
returns a frame with the columns that ``circlet.schema`` declares for it.
"""

import importlib

from circlet import io, schema, source
from circlet.plan import Study


def make(name: str, study: Study) -> None:
    """Compute a table of the study and write it."""
    module = importlib.import_module(f"circlet.analysis.{name}")
    frame = module.table(study)
    fields = schema.TABLES[name]
    if "run_id" in frame.columns:
        fields = schema.keys(study.parameters) + fields
    footer = io.provenance() | {"code": source.digest(module.__name__), "study": study.config}
    io.write(schema.conform(frame, fields, f"table {name}"), study.table(name), footer)
