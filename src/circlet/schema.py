"""The contract of all files: columns, types, units and meaning of every log and table.

A run is named by its keys: ``experiment, system, run_id`` and its parameters as typed columns.
Accuracies are shares in 0..1 in logs and per-run tables, and per cent where a published table
prints per cent. ``x_low`` and ``x_high`` are the ends of the 95 % interval of ``x``.
"""

from typing import Any

import pandas as pd
import pyarrow as pa

from circlet.errors import LogError

PARAMETER_TYPES = {
    "integer": pa.int32(),
    "number": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "array": pa.list_(pa.int32()),
}


def column(name: str, type: pa.DataType, meaning: str, unit: str = "") -> pa.Field:
    """A column with its meaning and unit, kept in the Parquet file."""
    return pa.field(name, type, metadata={"meaning": meaning, "unit": unit})


_SEED = column("seed", pa.int32(), "seed of the run")
_STEP = column("step", pa.int32(), "steps done; 0 is before the first")
_EMBEDDING = [
    column("token", pa.int16(), "number that the vector stands for, 0..p-1"),
    column("vector", pa.list_(pa.float32()), "embedding vector, d values"),
]

_OUTCOME = [
    column("embedding_seed", pa.int64(), "seed of the initial embedding"),
    column("network_seed", pa.int64(), "seed of the initial network"),
    column("data_seed", pa.int64(), "seed of the train/test split"),
    column("steps", pa.int32(), "steps done"),
    column(
        "status", pa.string(), "finished, diverged (not finite), or no_base (its base diverged)"
    ),
    column("train_loss", pa.float32(), "mean cross-entropy on the train set", "nat"),
    column("test_loss", pa.float32(), "mean cross-entropy on the test set", "nat"),
    column("train_accuracy", pa.float32(), "share of the train set that is right", "0..1"),
    column("test_accuracy", pa.float32(), "share of the test set that is right", "0..1"),
    column("seconds", pa.float32(), "share of its block's computing time", "s"),
    column("device", pa.string(), "cpu, or the name of the GPU"),
    column("dtype", pa.string(), "float32 or float64"),
]

LOGS: dict[str, pa.Schema] = {
    "runs": pa.schema([_SEED, *_OUTCOME]),
    "curves": pa.schema(
        [_SEED, _STEP, *(f for f in _OUTCOME if f.name.startswith(("train_", "test_")))]
    ),
    "signals": pa.schema(
        [
            _SEED,
            _STEP,
            column("frequency", pa.int16(), "k, 1..(p-1)//2"),
            column("signal", pa.float32(), "norm of the Fourier coefficient F_k"),
        ]
    ),
    "embeddings": pa.schema(
        [
            _SEED,
            _STEP,
            *_EMBEDDING,
        ]
    ),
    "gradients": pa.schema(
        [
            _SEED,
            _STEP,
            column("frequency", pa.int16(), "k, 1..(p-1)//2"),
            column("gradient", pa.float32(), "norm of the Fourier coefficient of dL/dE"),
        ]
    ),
    "parameters": pa.schema(
        [
            _SEED,
            _STEP,
            column("name", pa.string(), "name of the weight or bias"),
            column("shape", pa.list_(pa.int32()), "its shape"),
            column("values", pa.list_(pa.float32()), "its values, row by row"),
        ]
    ),
}

_COUNTS = [
    column("n_runs", pa.int32(), "finished runs behind the row"),
    column("n_planned", pa.int32(), "runs planned"),
]


def _estimate(name: str, meaning: str, unit: str = "") -> list[pa.Field]:
    return [
        column(name, pa.float64(), meaning, unit),
        column(f"{name}_low", pa.float64(), f"{name}: lower end of the 95 % interval", unit),
        column(f"{name}_high", pa.float64(), f"{name}: upper end of the 95 % interval", unit),
        column(f"{name}_n", pa.int32(), f"{name}: runs behind it"),
    ]


_SAMPLE = column("sample", pa.string(), "first_100 (as many as the paper has) or all seeds")

_STRUCTURE = [
    *_estimate("circles", "runs that end as circles"),
    *_estimate("circle_accuracy", "mean validation accuracy of circles", "%"),
    *_estimate("non_circles", "runs that do not"),
    *_estimate("non_circle_accuracy", "mean validation accuracy of non-circles", "%"),
    *_estimate("imperfections", "mean imperfections of non-circles"),
    *_estimate("correlation", "Pearson r of imperfections and accuracy of non-circles"),
    *_COUNTS,
]

TABLES: dict[str, list[pa.Field]] = {
    "runs": [*_OUTCOME, column("commit", pa.string(), "version of the code that made it")],
    "structures": [
        _SEED,
        column("norm_ratio", pa.float64(), "largest over smallest norm of an embedding vector"),
        column("is_circle", pa.bool_(), "norm_ratio < 1.2 (algorithm 1)"),
        column("imperfections", pa.int32(), "pairs whose nearest pair sum has another class"),
        column("validation_accuracy", pa.float64(), "null for particles", "0..1"),
    ],
    "structure_summary": [
        column("dtype", pa.string(), "float32 or float64"),
        _SAMPLE,
        *_STRUCTURE,
    ],
    "table1": [
        column("weight_decay", pa.float64(), "decoupled weight decay"),
        _SAMPLE,
        *_STRUCTURE,
    ],
    "table2": [
        column("f_a", pa.float64(), "strength of the alignment force"),
        _SAMPLE,
        *_estimate("circles", "runs that end as circles"),
        *_estimate("grids", "runs that do not"),
        *_estimate("imperfections", "mean imperfections of grids"),
        *_COUNTS,
    ],
    "embeddings": [
        _SEED,
        *_EMBEDDING,
    ],
    "weight_magnitudes": [
        _SEED,
        column("layer", pa.string(), "hidden or output"),
        column("mean_abs_weight", pa.float64(), "mean absolute weight of the layer"),
        column("mean_abs_bias", pa.float64(), "mean absolute bias of the layer"),
    ],
    "weight_magnitude_means": [
        column("weight_decay", pa.float64(), "decoupled weight decay"),
        column("layer", pa.string(), "hidden or output"),
        *_estimate("mean_abs_weight", "mean over runs"),
        *_estimate("mean_abs_bias", "mean over runs"),
        *_COUNTS,
    ],
    "exemplars": [
        column("role", pa.string(), "table1 or table2: which experiment it was chosen from"),
        column("structure", pa.string(), "circle, grid or imperfect_grid"),
        column("norm_ratio", pa.float64(), "as in structures"),
        column("imperfections", pa.int32(), "as in structures"),
        column("validation_accuracy", pa.float64(), "as in structures", "0..1"),
    ],
    "classifier_maps": [
        column("x", pa.float32(), "first coordinate in the plane of pair sums"),
        column("y", pa.float32(), "second coordinate"),
        column("predicted", pa.int16(), "class with the largest score there"),
        column("in_gallery", pa.bool_(), "whether the run is one of the gallery's"),
    ],
    "pair_sums": [
        column("a", pa.int16(), "smaller number of the pair"),
        column("b", pa.int16(), "larger number of the pair"),
        column("x", pa.float32(), "first coordinate of E_a + E_b"),
        column("y", pa.float32(), "second coordinate"),
        column("target", pa.int16(), "(a + b) mod p"),
        column("train", pa.bool_(), "whether the pair was trained on"),
    ],
    "musat_claims": [
        column("claim", pa.string(), "identifier of the claim"),
        *_estimate(
            "effect", "positive if the claim holds; its unit is in analysis/musat_claims.py"
        ),
        column("n_planned", pa.int32(), "runs planned at these points"),
    ],
    "scorecard": [
        column("claim", pa.string(), "identifier of the claim"),
        column("paper", pa.string(), "musat, ..."),
        column("source", pa.string(), "table, figure or section"),
        column("statement", pa.string(), "what is claimed"),
        column("published", pa.float64(), "published value; null if the claim is in words"),
        column("measured", pa.float64(), "our value"),
        column("low", pa.float64(), "lower end of its 95 % interval"),
        column("high", pa.float64(), "upper end of its 95 % interval"),
        column("n_runs", pa.int32(), "runs behind the value, as the circles behind their accuracy"),
        column("n_planned", pa.int32(), "runs planned at these points"),
        column("verdict", pa.string(), "reproduced, deviates or not_run"),
        *_estimate("difference", "measured - published, with the noise of both samples")[:3],
        column("note", pa.string(), "why a claim was not run"),
        column("table", pa.string(), "table that the measured value is in"),
        column("where", pa.string(), "its row"),
        column("column", pa.string(), "its column"),
    ],
}


def keys(parameters: dict[str, dict[str, Any]], unit: str) -> list[pa.Field]:
    """Key columns of a table: experiment, system, run_id or point, and the parameters."""
    names = {"run_id": "experiment/point/seed, unique in the study", "point": "folder of the point"}
    return [
        column("experiment", pa.string(), "name in the config"),
        column("system", pa.string(), "what was trained or simulated"),
        column(unit, pa.string(), names[unit]),
        *(
            column(name, PARAMETER_TYPES[p["type"]], p["description"])
            for name, p in parameters.items()
        ),
    ]


def conform(frame: pd.DataFrame, fields: list[pa.Field], name: str) -> pa.Table:
    """A frame as a table with exactly these columns, in this order and type.

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
