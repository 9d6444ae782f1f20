"""The contract of all files: columns, types, units and meaning of every log; keys of tables.

A run is identified by its keys: ``experiment, system, run_id`` and its parameters as typed columns.
The columns of a table are declared in its module. Accuracies are shares (0..1) in rows of runs, and
per cent where a published table prints per cent. ``x_low`` and ``x_high`` are the ends of the 95 %
interval of ``x``.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from circlet.errors import LogError
from circlet.systems.spec import SystemSpec

if TYPE_CHECKING:  # jobs that train need no pandas, whose import takes 0.2 s
    import pandas as pd

Rows = Iterator[dict]
"""What the ``table(study)`` of a module may yield: rows."""
Frames = Iterator["pd.DataFrame"]
"""What it may yield instead: frames of rows."""

PARAMETER_TYPES = {
    "integer": pa.int32(),
    "number": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "array": pa.list_(pa.int32()),
}


def column(name: str, type: pa.DataType | str, meaning: str, unit: str = "") -> pa.Field:
    """Return a column with its meaning and unit, kept in the Parquet file; types may be names."""
    return pa.field(name, type, metadata={"meaning": meaning, "unit": unit})


SEED = column("seed", "int32", "seed of the run")
SEEDS = [
    SEED,
    column("embedding_seed", "int64", "seed of the initial embedding"),
    column("network_seed", "int64", "seed of the initial network"),
    column("data_seed", "int64", "seed of the train and test set"),
    column("order_seed", "int64", "seed of the order of batches, where there are any"),
]
FREQUENCY = column("frequency", "int16", "k, 1..(p-1)//2")
STEP = column("step", "int32", "steps done; 0 is before the first")
EMBEDDING = [
    column("token", "int16", "number that the vector stands for, 0..p-1"),
    column("vector", pa.list_(pa.float32()), "embedding vector, d values"),
]

EXPERIMENT = column("experiment", "string", "name in the config")
RUN = column("run_id", "string", "experiment/point/seed, unique in the study")
RUN_SEEDS = [RUN, *SEEDS]
POINT = column("point", "string", "folder of the point")
COUNTS = [
    column("n_runs", "int32", "finished runs behind the row"),
    column("n_planned", "int32", "runs planned"),
]


def estimate(name: str, meaning: str, unit: str = "") -> list[pa.Field]:
    """Return columns of an estimate: value, ends of its 95 % interval and number of runs."""
    return [
        column(name, "float64", meaning, unit),
        column(f"{name}_low", "float64", f"{name}: lower end of the 95 % interval", unit),
        column(f"{name}_high", "float64", f"{name}: upper end of the 95 % interval", unit),
        column(f"{name}_n", "int32", f"{name}: runs behind it"),
    ]


EFFECTS = [
    column("claim", "string", "identifier of the claim"),
    *estimate("effect", "the quantity that the claim is about; its unit is in claims.csv"),
    *COUNTS,
]
"""Columns of tables with the effects that claims are about."""


def interval(meaning: str) -> list[pa.Field]:
    """Return the columns of a table whose rows are estimates; unbounded ends are null."""
    return [
        column("estimate", "float64", meaning),
        column("low", "float64", "lower end of its 95 % interval"),
        column("high", "float64", "upper end of its 95 % interval"),
    ]


def names(fields: Iterable[pa.Field]) -> list[str]:
    """Return the names of some columns."""
    return [field.name for field in fields]


_BEFORE = [
    *SEEDS[1:],
    column("steps", "int32", "steps done"),
    column(
        "status", "string", "finished, diverged (not finite), or no_parent (its parent diverged)"
    ),
]
_AFTER = [
    column(
        "seconds",
        "float32",
        "its share of the CPU time of the runs that are trained together; on a GPU, of their time "
        "by the clock",
        "s",
    ),
    column("device", "string", "cpu, or the name of the GPU"),
    column("dtype", "string", "float32 or float64"),
    column("products", "string", "type that factors of products are rounded to; float32: none"),
]


def metrics(systems: Iterable[SystemSpec]) -> list[pa.Field]:
    """Return the columns of the metrics of some systems, each name once."""
    by_name: dict[str, dict[tuple[str, str], None]] = {}
    for system in systems:
        for name, metric in system.metrics.items():
            by_name.setdefault(name, {})[metric.meaning, metric.unit] = None
    return [
        column(
            name,
            "float32",
            *("; ".join(dict.fromkeys(texts)) for texts in zip(*descriptions, strict=True)),
        )
        for name, descriptions in by_name.items()
    ]


def outcome(systems: Iterable[SystemSpec]) -> list[pa.Field]:
    """Return the columns of the log ``runs`` of some systems, without the seed."""
    return [*_BEFORE, *metrics(systems), *_AFTER]


PART = column("name", "string", "name of the weight or bias")
GRADIENT_NORM = [
    PART,
    column("norm", "float32", "norm of the gradient of the loss on the train set"),
]
ARRAY = [
    column("shape", pa.list_(pa.int32()), "its shape"),
    column("values", pa.list_(pa.float32()), "its values, row by row"),
]
_BY_STEP = {
    "signals": [FREQUENCY, column("signal", "float32", "norm of the Fourier coefficient F_k")],
    "embeddings": EMBEDDING,
    "gradients": [
        FREQUENCY,
        column("gradient", "float32", "norm of the Fourier coefficient of dL/dE"),
    ],
    "gradient_norms": GRADIENT_NORM,
    "parameters": [PART, *ARRAY],
}


def logs(system: SystemSpec) -> dict[str, pa.Schema]:
    """Return the columns of all kinds of logs of a system."""
    by_step = {"curves": metrics([system]), **_BY_STEP}
    schemas = {kind: pa.schema([SEED, STEP, *fields]) for kind, fields in by_step.items()}
    return {"runs": pa.schema([SEED, *outcome([system])])} | schemas


def with_keys(declared: list[pa.Field], parameters: dict[str, dict[str, Any]]) -> list[pa.Field]:
    """Return a table's columns, with all other keys if the first one is ``RUN`` or ``POINT``."""
    unit, *others = declared
    if unit not in (RUN, POINT):
        return declared
    system = column("system", "string", "what was trained or simulated")
    keys = [
        column(name, PARAMETER_TYPES[p["type"]], p["description"]) for name, p in parameters.items()
    ]
    return [EXPERIMENT, system, unit, *keys, *others]


class Lists(NamedTuple):
    """A column of lists of different lengths, concatenated, without an object for each list."""

    values: np.ndarray
    sizes: Sequence[int] | np.ndarray

    @classmethod
    def of(cls, rows: Sequence[Sequence]) -> "Lists":
        """Return the column whose lists are these rows."""
        return cls(np.concatenate(rows) if len(rows) else np.empty(0), [len(row) for row in rows])


def _array(values: Any, type: pa.DataType) -> pa.Array:
    """Return a column as an Arrow array, NaN as null; ``pa.array`` would import pandas."""
    if pa.types.is_list(type):
        lists = values if isinstance(values, Lists) else Lists.of(values)
        parts = [None, _offsets(lists.sizes)]
        inner = [_array(lists.values, type.value_type)]
        return pa.Array.from_buffers(type, len(lists.sizes), parts, children=inner)
    if pa.types.is_string(type):
        texts = [str(value).encode() for value in values]
        parts = [None, _offsets([len(text) for text in texts]), pa.py_buffer(b"".join(texts))]
        return pa.Array.from_buffers(type, len(texts), parts)
    numbers = np.ascontiguousarray(values, type.to_pandas_dtype())
    if numbers.dtype.kind == "i" and not np.array_equal(numbers, values):
        raise LogError(f"a value does not fit its type, {type}")
    valid = None
    if numbers.dtype.kind == "f" and np.isnan(numbers).any():
        valid = pa.py_buffer(np.packbits(~np.isnan(numbers), bitorder="little"))
    return pa.Array.from_buffers(type, len(numbers), [valid, pa.py_buffer(numbers)])


def _offsets(sizes: Sequence[int] | np.ndarray) -> pa.Buffer:
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise LogError("too many values for one log: set a smaller `block`, or log fewer steps")
    return pa.py_buffer(offsets.astype(np.int32))


def table(columns: dict[str, Any], declared: pa.Schema) -> pa.Table:
    """Return columns of a log as a table with exactly the declared columns, NaN as null."""
    arrays = [_array(columns[field.name], field.type) for field in declared]
    return pa.Table.from_arrays(arrays, schema=declared)


def conform(frame: "pd.DataFrame", fields: list[pa.Field], name: str) -> pa.Table:
    """Return a frame as a table with exactly these columns, in this order and type.

    Raises LogError if a column is missing or undeclared, or a value does not fit its type.
    """
    declared = [field.name for field in fields]
    missing, extra = set(declared) - set(frame.columns), set(frame.columns) - set(declared)
    if missing or extra:
        raise LogError(f"{name}: missing columns {sorted(missing)}, undeclared {sorted(extra)}")
    try:
        return pa.Table.from_pandas(frame[declared], pa.schema(fields), preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise LogError(f"{name}: {error}") from error
