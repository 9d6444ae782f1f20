"""Compare two results folders value by value: ``python -m circlet compare A B --values``.

The comparison reads Parquet files and no config, so studies and versions may differ.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from circlet.errors import ConfigError, LogError
from circlet.storage.parquet import reading

# Columns that say when, where and by which code a run was made, not what came out.
IGNORED = ("seconds", "hours", "device", "machine", "commit", "versions", "interruptions")


def folders(a: Path, b: Path, rtol: float = 0, ignore: Iterable[str] = ()) -> tuple[str, bool]:
    """Return a report on the logs and tables of two results folders, and whether they are equal.

    Floats may differ by ``rtol`` times the larger magnitude of the two.
    """
    if not 0 <= rtol < np.inf:
        raise ConfigError(f"--rtol: must be a finite number of at least 0, not {rtol:g}")
    in_a, in_b, left_out = _files(a), _files(b), [*IGNORED, *ignore]
    lines = {path: tables(a / path, b / path, rtol, left_out) for path in in_a & in_b}
    differ, single = sum(map(bool, lines.values())), len(in_a ^ in_b)
    lines |= _only("A", in_a, in_b) | _only("B", in_b, in_a)
    report = [f"{path}: {difference}" for path, difference in sorted(lines.items()) if difference]
    report.append(f"compared {len(in_a & in_b)} files: {differ} differ, {single} only in A or B")
    report.append(f"tolerance: --rtol {rtol:g}; columns left out: {', '.join(left_out)}")
    return "\n".join(report), not any(lines.values())


def _files(folder: Path) -> set[Path]:
    """Find the finished logs and tables of a folder; names of unfinished files begin with a dot."""
    patterns = ("logs/*/*/*/[!.]*.parquet", "tables/[!.]*.parquet")
    files = {path.relative_to(folder) for pattern in patterns for path in folder.glob(pattern)}
    if not files and not folder.is_dir():
        raise LogError(f"{folder}: there is no such folder; give the `results` of a study")
    if not files:
        problem = "has no logs/**/*.parquet and no tables/*.parquet"
        raise LogError(f"{folder}: {problem}; give the `results` of a study that has started")
    return files


def _only(side: str, files: set[Path], other: set[Path]) -> dict[Path, str]:
    """Count files that only one folder has: logs by experiment, and tables."""
    counts = Counter(Path(*path.parts[:2]) for path in files - other)
    return {path: f"only in {side} (files: {number})" for path, number in counts.items()}


def tables(a: Path, b: Path, rtol: float, left_out: Collection[str] = IGNORED) -> str:
    """Say how two files differ: in columns, rows or, if their numbers agree, values; else empty."""
    try:
        table_a, table_b = _read(a, left_out), _read(b, left_out)
    except LogError as error:
        return str(error)
    x, y = ({field.name: field.type for field in table.schema} for table in (table_a, table_b))
    unlike = [name for name in x | y if x.get(name) != y.get(name)]
    differences = [f"{n}: {x.get(n, 'missing')} in A, {y.get(n, 'missing')} in B" for n in unlike]
    if len(table_a) != len(table_b):
        return "; ".join([*differences, f"{len(table_a)} rows in A, {len(table_b)} in B"])
    one, other = (table.select([n for n in x if n not in unlike]) for table in (table_a, table_b))
    if gaps := _gaps(one, other, rtol):
        differences.append(_sentence(one, gaps))
    return "; ".join(differences)


def _read(path: Path, left_out: Collection[str]) -> pa.Table:
    with reading(path), pq.ParquetFile(path) as file:
        table = file.read()
        table.validate(full=True)
        return table.select([name for name in table.column_names if name not in left_out])


def _sentence(table: pa.Table, gaps: dict[str, pd.DataFrame]) -> str:
    """Return which columns differ, the most different first, and where that one does most."""
    column, *others = gaps
    absolute, relative = gaps[column].max()
    keys = [
        field.name
        for field in table.schema
        if not (pa.types.is_list(field.type) or pa.types.is_floating(field.type))
    ]
    by = "e.g." if np.isinf(relative) else f"by up to {absolute:.2g}, relative {relative:.2g}"
    keys = [key for key in keys if pc.count_distinct(table[key], mode="all").as_py() > 1][:3]
    keys = ["run_id"] if "run_id" in table.column_names else keys
    row = gaps[column]["relative"].idxmax()
    place = ", ".join([f"row {row}", *(f"{key}={table[key][row]}" for key in keys)])
    also = f"; also {', '.join(others[:3])}" * bool(others)
    return f"{column}: {len(gaps[column])} of {len(table)} rows differ, {by} at {place}{also}"


def _gaps(a: pa.Table, b: pa.Table, rtol: float) -> dict[str, pd.DataFrame]:
    """Measure the columns that differ; the most different comes first."""
    names = [name for name in a.column_names if not a[name].equals(b[name])]
    gaps = [(name, gap) for name in names if len(gap := _gap(a[name], b[name], rtol))]
    return dict(sorted(gaps, key=lambda item: -item[1]["relative"].max()))


def _gap(a: pa.ChunkedArray, b: pa.ChunkedArray, rtol: float) -> pd.DataFrame:
    """Measure absolute and relative gaps where rows differ; infinite unless both are numbers."""
    if pa.types.is_list(a.type):
        return _list_gap(a, b, rtol)
    unequal = pc.fill_null(pc.not_equal(a, b), False).to_numpy()
    absolute = relative = np.full(len(a), np.inf)
    if pa.types.is_floating(a.type):
        x, y = a.to_pandas().astype(float), b.to_pandas().astype(float)  # a null becomes NaN
        absolute = (x - y).abs()
        relative = absolute / np.maximum(x.abs(), y.abs())
        unequal = unequal & ~(relative <= rtol) & ~(x.isna() & y.isna())
    unequal = unequal | (a.is_null().to_numpy() != b.is_null().to_numpy())
    return pd.DataFrame({"absolute": absolute, "relative": relative})[unequal].fillna(np.inf)


def _list_gap(a: pa.ChunkedArray, b: pa.ChunkedArray, rtol: float) -> pd.DataFrame:
    """Find the largest gaps in each pair of lists, infinite if their lengths differ."""
    sizes = [pc.fill_null(pc.list_value_length(lists), -1).to_numpy() for lists in (a, b)]
    same = sizes[0] == sizes[1]
    x, y = (pc.list_flatten(lists.filter(pa.array(same))) for lists in (a, b))
    rows = np.repeat(np.flatnonzero(same), sizes[0][same].clip(0))
    gap = _gap(x, y, rtol).groupby(pd.Series(rows)).max()
    return gap.reindex(gap.index.union(np.flatnonzero(~same)), fill_value=np.inf)
