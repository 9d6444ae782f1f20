"""Compute a table and write it."""

from typing import TYPE_CHECKING

import pandas as pd

from circlet.lazy_import import load
from circlet.storage import parquet, provenance, schema

if TYPE_CHECKING:
    from circlet.study.targets import Target


def make(target: "Target") -> None:
    """Make a table, with exactly the columns that its module declares.

    If columns depend on the study, the module defines ``columns(study)``.
    """
    module = load(target.module)
    frame = module.table(target.study)
    fields = module.columns(target.study) if hasattr(module, "columns") else list(module.COLUMNS)
    if not len(frame.columns):  # no rows at all
        frame = pd.DataFrame(columns=schema.names(fields))
    for unit in ("run_id", "point"):
        if unit in frame.columns:
            fields = schema.keys(target.study.parameters, unit) + fields
    table = schema.conform(frame, fields, f"table {target.name}")
    parquet.write(table, target.outputs[0], provenance.made_by() | target.footer)
