"""Compute a table and write it."""

from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.errors import LogError
from circlet.lazy_import import load
from circlet.storage import parquet, provenance, schema
from circlet.study.plan import Study
from circlet.study.registry import path_of

if TYPE_CHECKING:
    from circlet.study.targets import Target


def make(target: "Target") -> None:
    """Make a table, with exactly the columns that its module declares."""
    footer = provenance.made_by() | target.footer  # of the code as it is before it runs
    table = computed(load(target.module), target.study, target.name)
    parquet.write(table, target.outputs[0], footer)


def computed(module: ModuleType, study: Study, name: str) -> pa.Table:
    """Return the result of a module's ``table(study)``, with the keys of its runs."""
    fields = columns(module, study)
    of_runs = schema.RUN in fields
    frame = _frame(module.table(study), name)
    if frame.empty:
        frame = pd.DataFrame(columns=schema.names(fields))
    if of_runs and "run_id" in frame:
        keys = log_frames.planned(study)
        without_keys = frame.drop(columns=keys.columns, errors="ignore")
        frame = without_keys.join(keys.filter(schema.names(fields)), on="run_id")
    return schema.conform(frame, fields, f"table {name}")


def columns(module: ModuleType, study: Study) -> list[pa.Field]:
    """Return the columns of a module's table, with the keys of its runs or points.

    A module whose columns depend on the study defines ``columns(study)``. Raises LogError if two
    columns have one name, or if a derived metric has no column.
    """
    declared = module.columns(study) if hasattr(module, "columns") else module.COLUMNS
    fields = schema.with_keys(declared, study.parameters)
    names, where = schema.names(fields), f"{path_of(module.__name__)}: COLUMNS"
    if twice := [name for name in names if names.count(name) > 1]:
        raise LogError(
            f"{where}: {twice[0]!r} is there twice; circlet adds keys and parameters of runs itself"
        )
    measured = getattr(module, "DERIVED_METRICS", ())
    needed = ("run_id", "step", *measured) if measured else ()
    if missing := [name for name in needed if name not in names]:
        raise LogError(f"{where}: DERIVED_METRICS need a column {missing[0]!r}")
    return fields


def _frame(
    result: pd.DataFrame | Iterable[pd.DataFrame] | Iterable[dict], name: str
) -> pd.DataFrame:
    rows = [result] if isinstance(result, pd.DataFrame) else list(result)
    if rows and isinstance(rows[0], dict):
        return pd.DataFrame(rows)
    if not all(isinstance(row, pd.DataFrame) for row in rows):
        raise LogError(
            f"table {name}: table(study) must return a frame, or frames or dicts one by one"
        )
    return log_frames.concatenate(rows)
