"""Compare two results folders value by value: ``python -m circlet compare A B``.

It reads Parquet files and no config, so it also compares folders of other studies and versions.
"""

import filecmp
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from circlet.errors import ConfigError, LogError

# Columns that say when, where and by which code a run was made, not what came out.
IGNORED = ("seconds", "hours", "device", "machine", "commit", "versions", "interruptions")

REORDERED = "rows in another order"

Columns = dict[str, pa.Array]


class Difference(NamedTuple):
    """How a column differs: in which rows (a mask), how far at most, and where that is.

    ``gap`` is absolute and ``relative`` a ratio to the larger magnitude. Both are infinite if the
    values are not numbers. A spot is a row and its two values as text: the first largest gap, then
    the first largest ratio if it is in another row.
    """

    column: str
    rows: np.ndarray
    gap: float
    relative: float
    spots: list[tuple[int, str]]


class LeftOut(NamedTuple):
    """In how many pairs of files an ignored column is, and in how many of them it differs."""

    files: int
    differ: int


def folders(a: Path, b: Path, rtol: float = 0, ignore: Iterable[str] = ()) -> tuple[str, bool]:
    """Compare ``logs/**/*.parquet`` and ``tables/*.parquet`` of two results folders.

    Returns a report for people, and whether everything is equal. Floats may differ by ``rtol``
    times the larger magnitude of the two; NaN equals NaN, and null equals null. The order of rows
    counts, the order of columns does not. Columns named in ``IGNORED`` or ``ignore`` do not count.

    Raises ConfigError if ``rtol`` is negative or not finite, and LogError if a folder does not
    exist, cannot be read, or has neither logs nor tables.
    """
    if not 0 <= rtol < np.inf:
        raise ConfigError(f"--rtol: must be a finite number of at least 0, not {rtol:g}")
    in_a, in_b = _files(a), _files(b)
    both = sorted(in_a & in_b)
    left_out = dict.fromkeys([*IGNORED, *ignore], LeftOut(0, 0))
    lines, counts, reordered = {}, [], 0
    for path in both:
        if said := _compare_files(a / path, b / path, rtol, left_out):
            lines[path] = "; ".join(said)
            reordered += said == [REORDERED]
    if lines:
        counts.append(
            f"{len(lines)} differ" + f" ({reordered} in row order only)" * bool(reordered)
        )
    for side, own, other in (("A", in_a, in_b), ("B", in_b, in_a)):
        for path, number in (missing := _missing(own, other)).items():
            files = f" ({number} files)" if path not in own else ""
            lines[path] = f"only in {side}{files}"
        if missing:
            counts.append(f"{missing.total()} only in {side}")
    width = max((len(str(path)) for path in lines), default=0)
    report = [f"{path!s:{width}}  {lines[path]}" for path in sorted(lines)]
    kinds = Counter(path.parts[0] for path in both)
    verdict = ", ".join(counts) or "all equal" + f" within --rtol {rtol:g}" * (rtol > 0)
    report.append(f"compared {kinds['logs']} logs and {kinds['tables']} tables: {verdict}")
    report += [*_about_columns(left_out, ignore), *_about_figures(a / "figures", b / "figures")]
    return "\n".join(report), not lines


def _files(folder: Path) -> set[Path]:
    """Logs and tables of a results folder, relative to it; links to folders are followed."""

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    found = set()
    try:
        if not folder.is_dir():
            raise LogError(f"{folder}: there is no such folder; give the `results` of a study")
        for kind in ("logs", "tables"):
            for root, inner, names in os.walk(folder / kind, onerror=fail, followlinks=True):
                if kind == "tables":
                    inner.clear()
                # A name with a dot in front is that of a file that is being written.
                names = [n for n in names if n.endswith(".parquet") and not n.startswith(".")]
                found |= {Path(root, name).relative_to(folder) for name in names}
    except OSError as error:
        raise LogError(f"{error.filename}: cannot be read: {error.strerror}") from error
    if not found:
        raise LogError(
            f"{folder}: has no logs/**/*.parquet and no tables/*.parquet; give the `results` of a "
            "study that has started"
        )
    return found


def _missing(own: set[Path], other: set[Path]) -> Counter[Path]:
    """Number of files that the other folder lacks, by the highest folder that it lacks."""
    known = {parent for path in other for parent in path.parents}
    return Counter(
        next((parent for parent in reversed(path.parents) if parent not in known), path)
        for path in own - other
    )


def _about_columns(left_out: dict[str, LeftOut], ignore: Iterable[str]) -> list[str]:
    said = []
    for name, (files, differ) in left_out.items():
        if differ:
            said.append(f"{name} (differs in {differ} of {files} files)")
        elif files:
            said.append(name)
        elif name in ignore:
            said.append(f"{name} (in no file)")
    return [f"left out: {', '.join(said)}"] if said else []


def _about_figures(a: Path, b: Path) -> list[str]:
    names = {path.name for folder in (a, b) for path in folder.glob("*.png")}
    same, *_ = filecmp.cmpfiles(a, b, names, shallow=False)  # a missing file is not the same
    return [f"figures: {len(same)} of {len(names)} have the same bytes"] if names else []


def _read(path: Path) -> Columns:
    """Columns of a Parquet file, without its footer; raises OSError or ValueError if damaged."""
    with pq.ParquetFile(path) as file:
        table = file.read()
    table.validate(full=True)
    if len(set(table.column_names)) < table.num_columns:
        raise ValueError("two columns have the same name")
    return {name: table[name].combine_chunks() for name in table.column_names}


def _compare_files(a: Path, b: Path, rtol: float, left_out: dict[str, LeftOut]) -> list[str]:
    """What differs between two files, most important first; counts the columns left out."""
    read, damaged = [], []
    for side, path in (("A", a), ("B", b)):
        try:
            read.append(_read(path))
        except (pa.ArrowException, OSError, ValueError) as error:
            number = getattr(error, "errno", None)
            reason = " ".join((error.strerror if number else str(error)).split())[:100]
            damaged.append(f"{'cannot be read' if number else 'damaged'} in {side} ({reason})")
    return damaged or _compare_tables(*read, rtol, left_out)


def _compare_tables(a: Columns, b: Columns, rtol: float, left_out: dict[str, LeftOut]) -> list[str]:
    """The same for two files that were read: columns, then rows, then values."""
    said = []
    for side, own, other in (("A", a, b), ("B", b, a)):
        if only := [name for name in own if name not in other and name not in left_out]:
            said.append(f"column{'s' * (len(only) > 1)} {', '.join(only)} only in {side}")
    shared = [name for name in a if name in b]
    alike = [name for name in shared if a[name].type == b[name].type]
    for name in shared:
        if name not in alike and name not in left_out:
            said.append(f"{name}: {a[name].type} in A, {b[name].type} in B")
    names = [name for name in alike if name not in left_out]
    about_rows, orders, differences = _compare_rows(a, b, names, rtol)
    said += about_rows
    for name in left_out:
        if name in a or name in b:
            files, differ = left_out[name]
            columns = [
                t[name].take(o) for t, o in zip((a, b), orders, strict=True) if name in alike
            ]
            other = not columns or _difference(name, *columns, rtol) is not None
            left_out[name] = LeftOut(files + 1, differ + other)
    if differences:
        first, *others = sorted(differences, key=lambda d: -d.relative)
        telling = [name for name in names if name != first.column]
        rows = orders[0].to_numpy()
        said.append(_sentence(first, len(rows), lambda row: _place(a, telling, rows[row])))
        if others:
            more = f" and {len(others) - 3} more" * (len(others) > 3)
            said.append(f"also {', '.join(d.column for d in others[:3])}{more}")
    return said


def _compare_rows(
    a: Columns, b: Columns, names: list[str], rtol: float
) -> tuple[list[str], tuple[pa.Array, pa.Array], list[Difference]]:
    """What to say of the rows of two tables, which rows were paired, and how their values differ.

    Rows are paired in file order; those that differ are then paired by their keys, if fewer values
    differ then. If one table has more rows, all are paired by their keys, and those without a
    partner are left out.
    """
    sizes = [len(next(iter(table.values()), ())) for table in (a, b)]
    orders, said = [np.arange(size) for size in sizes], []
    if sizes[0] != sizes[1]:
        *orders, paired = _align(a, b, names, sizes)
        longer = int(sizes[1] > sizes[0])
        place = _place((a, b)[longer], names, orders[longer][paired:].min())
        said = [f"{sizes[0]} rows in A, {sizes[1]} in B (only in {'AB'[longer]}: {place})"]
        orders = [order[:paired] for order in orders]
        differences = _differences(*_take(a, b, orders), names, rtol)
    elif differences := _differences(a, b, names, rtol):
        rows = np.flatnonzero(np.logical_or.reduce([d.rows for d in differences]))
        *by_keys, _ = _align(*_take(a, b, [rows, rows]), names, [len(rows), len(rows)])
        if not np.array_equal(*by_keys):
            for order, by_key in zip(orders, by_keys, strict=True):
                order[rows] = rows[by_key]
            again = _differences(*_take(a, b, orders), names, rtol)
            if sum(d.rows.sum() for d in again) < sum(d.rows.sum() for d in differences):
                said, differences = [REORDERED], again
            else:
                orders = [np.arange(size) for size in sizes]
    return said, tuple(pa.array(order) for order in orders), differences


def _take(a: Columns, b: Columns, orders: list[np.ndarray]) -> list[Columns]:
    return [
        {name: column.take(pa.array(order)) for name, column in table.items()}
        for table, order in zip((a, b), orders, strict=True)
    ]


def _is_key(type: pa.DataType) -> bool:
    is_string = pa.types.is_string(type) or pa.types.is_large_string(type)
    return is_string or pa.types.is_integer(type) or pa.types.is_boolean(type)


def _labels(a: pa.Array, b: pa.Array) -> np.ndarray:
    """Numbers from 0 for the values of two columns, one after the other; equal for equal values."""
    both = [x.cast(pa.large_string()) if pa.types.is_string(x.type) else x for x in (a, b)]
    joint = pa.concat_arrays(both)
    if pa.types.is_integer(joint.type) and not joint.null_count and len(joint):
        low, high = pc.min_max(joint).as_py().values()
        if -(2**31) <= low <= high < 2**31:
            return joint.to_numpy().astype(np.int64) - low
    try:
        encoded = joint.dictionary_encode(null_encoding="encode")
    except pa.ArrowNotImplementedError:  # lists of lists, say
        encoded = pa.array([repr(value) for value in joint.to_pylist()]).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _align(
    a: Columns, b: Columns, names: list[str], sizes: list[int]
) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows of both tables in an order in which those with equal keys stand side by side.

    ``sizes`` are the numbers of rows of both. Keys are as many of the columns that are neither
    floats nor lists as it takes to tell all rows apart; rows that they leave equal are sorted by
    the floats. The first rows of both orders are pairs, as many as the number returned; rows whose
    keys the other table lacks come last.
    """
    joint, size = np.zeros(sum(sizes), np.int64), 1
    unique = max(sizes) <= 1
    for name in names:
        if not unique and _is_key(a[name].type):
            values = _labels(a[name], b[name])
            if size * (spread := int(values.max()) + 1) >= 2**63:
                joint = pa.array(joint).dictionary_encode().indices.to_numpy().astype(np.int64)
                size = int(joint.max()) + 1
            joint, size = joint * spread + values, size * spread
            ordered = [np.sort(part) for part in np.split(joint, sizes[:1])]
            unique = all((part[1:] != part[:-1]).all() for part in ordered)
    labels = np.split(joint, sizes[:1])
    if unique and np.array_equal(*labels):
        return np.arange(sizes[0]), np.arange(sizes[1]), sizes[0]
    joint = pa.array(joint).dictionary_encode().indices.to_numpy()
    labels = np.split(joint, sizes[:1])
    counts = [np.bincount(label, minlength=joint.max() + 1) for label in labels]
    lone = counts[0] != counts[1]
    floats = [name for name in names if pa.types.is_floating(a[name].type) and not unique]
    orders = []
    for table, label in zip((a, b), labels, strict=True):
        values = [table[name].to_numpy(zero_copy_only=False) for name in reversed(floats)]
        orders.append(np.lexsort([*values, label, lone[label]]))
    return *orders, int(np.sum(~lone[labels[0]]))


def _differences(a: Columns, b: Columns, names: list[str], rtol: float) -> list[Difference]:
    found = (_difference(name, a[name], b[name], rtol) for name in names)
    return [difference for difference in found if difference]


def _difference(column: str, a: pa.Array, b: pa.Array, rtol: float) -> Difference | None:
    """How two columns of one type and length differ, row by row; None if they are equal."""
    if a.equals(b):
        return None
    if pa.types.is_list(a.type) or pa.types.is_large_list(a.type):
        return _list_difference(column, a, b, rtol)
    where, gaps, ratios = _unequal(a, b, rtol)
    if not len(where):
        return None
    rows = np.zeros(len(a), bool)
    rows[where] = True
    spots = {int(where[i]): _pair(a, b, where[i]) for i in (gaps.argmax(), ratios.argmax())}
    return Difference(column, rows, gaps.max(), ratios.max(), list(spots.items()))


def _list_difference(column: str, a: pa.Array, b: pa.Array, rtol: float) -> Difference | None:
    """The same for lists: their lengths, and the elements of those that are of one length."""
    sizes = [pc.fill_null(pc.list_value_length(x), -1).to_numpy() for x in (a, b)]
    rows = sizes[0] != sizes[1]
    kept = np.flatnonzero(~rows)
    inside = [x.take(pa.array(kept)).flatten() for x in (a, b)]
    where, gaps, ratios = _unequal(*inside, rtol)
    if not (rows.any() or len(where)):
        return None
    starts = np.cumsum(sizes[0][kept].clip(0)) - sizes[0][kept].clip(0)
    first = rows.argmax()
    own = np.repeat(np.arange(len(kept)), sizes[0][kept].clip(0))[where]  # place in `kept`
    rows[kept[own]] = True
    if sizes[0][first] != sizes[1][first]:
        lengths = ["null" if size[first] < 0 else str(size[first]) for size in sizes]
        spot = int(first), f"lengths {' and '.join(lengths)}"
        return Difference(column, rows, np.inf, np.inf, [spot])
    spots = {}
    for i in (gaps.argmax(), ratios.argmax()):
        element = f" in element {where[i] - starts[own[i]]}"
        spots.setdefault(int(kept[own[i]]), _pair(*inside, where[i]) + element)
    return Difference(column, rows, gaps.max(), ratios.max(), list(spots.items()))


def _unequal(a: pa.Array, b: pa.Array, rtol: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions at which two flat arrays differ; absolute and relative differences there.

    Differences are infinite for what is no float, and where a float is NaN, null or infinite.
    """
    if not pa.types.is_floating(a.type):
        labels = _labels(a, b)
        where = np.flatnonzero(labels[: len(a)] != labels[len(a) :])
        return where, np.full(len(where), np.inf), np.full(len(where), np.inf)
    x, y = (values.to_numpy(zero_copy_only=False) for values in (a, b))  # a null is NaN there
    null_x, null_y = (values.is_null().to_numpy(zero_copy_only=False) for values in (a, b))
    where = np.flatnonzero(((x != y) & ~(np.isnan(x) & np.isnan(y))) | (null_x != null_y))
    with np.errstate(invalid="ignore", over="ignore"):
        x, y = x[where].astype(np.float64), y[where].astype(np.float64)
        gaps = np.abs(x - y)
        ratios = gaps / np.maximum(np.abs(x), np.abs(y))
    gaps[np.isnan(gaps)] = np.inf
    ratios[np.isinf(gaps)] = np.inf
    beyond = ratios > rtol
    return where[beyond], gaps[beyond], ratios[beyond]


def _pair(a: pa.Array, b: pa.Array, i: int) -> str:
    """Two values as text; of long strings the part where they begin to differ."""
    x, y = a[i].as_py(), b[i].as_py()
    start = 0
    if isinstance(x, str) and isinstance(y, str):
        pairs = enumerate(zip(x, y, strict=False))
        start = max(0, next((n for n, (p, q) in pairs if p != q), min(len(x), len(y))) - 20)
    return f"{_shown(a, i, start)} and {_shown(b, i, start)}"


def _shown(values: pa.Array, i: int, start: int = 0) -> str:
    """A value as text; at most 60 characters of a string, from ``start`` on."""
    value = values[i].as_py()
    if value is None:
        return "null"
    if isinstance(value, str):
        part = repr(value[start : start + 60])
        return "..." * (start > 0) + part + "..." * (len(value) > start + 60)
    # Floats in as few digits as tell values of their precision apart.
    is_float = pa.types.is_floating(values.type)
    return str(values.slice(i, 1).to_numpy(zero_copy_only=False)[0] if is_float else value)


def _place(table: Columns, names: list[str], row: int) -> str:
    """The keys that tell a row from all others; also its number in the file if they do not."""
    same = np.ones(len(table[names[0]]) if names else 0, bool)
    keys = [name for name in names if _is_key(table[name].type)]
    said = []
    for name in sorted(keys, key=lambda name: name != "run_id"):
        value = table[name][row]
        matches = pc.equal(table[name], value) if value.is_valid else table[name].is_null()
        matches = pc.fill_null(matches, False).to_numpy(zero_copy_only=False)
        if not matches[same].all():
            same &= matches
            said.append(f"{name}={'null' if value.as_py() is None else value}")
        if same.sum() == 1:
            break
    if same.sum() > 1 or not said:
        said.append(f"row {row}")
    return " ".join(said)


def _sentence(difference: Difference, rows: int, place: Callable[[int], str]) -> str:
    spots = [f"{pair} at {place(row)}" for row, pair in difference.spots]
    said = f"{difference.column}: {difference.rows.sum()} of {rows} rows differ, "
    if np.isinf(difference.gap):
        return f"{said}first {spots[0]}"
    relative = f"{difference.relative:.2g} relative"
    if len(spots) == 1:
        return f"{said}by up to {difference.gap:.2g}, {relative} ({spots[0]})"
    return f"{said}by up to {difference.gap:.2g} ({spots[0]}), {relative} ({spots[1]})"
