"""Read and write Parquet: files are written atomically, and record what made them."""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from circlet.errors import LogError
from circlet.storage import schema
from circlet.storage.files import atomic
from circlet.study.blocks import Block
from circlet.study.plan import Study

if TYPE_CHECKING:
    import pandas as pd

_FOOTER = "circlet"
_WORDS = {"version": "version of the code", "base": "parent"}  # keys of a log's spec, in words
_NO_DIGEST = 64 * "0"  # stands for the SHA-256 while it is computed


def write(table: pa.Table, path: Path, footer: dict[str, Any], **options: Any) -> None:
    """Write a Parquet file whole or not at all, with a JSON footer; raises LogError.

    The footer has the checksum of the whole file, computed with zeros in its place. Options are
    those of pyarrow's writer.
    """
    made = json.dumps(footer | {"sha256": _NO_DIGEST})
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, **{"compression": "zstd"} | options) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_FOOTER: made})
    content = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(content).hexdigest()
    with atomic(path) as temporary:
        temporary.write_bytes(content.replace(_NO_DIGEST.encode(), digest.encode()))


def _read(path: Path) -> tuple[dict[str, Any], pa.Table]:
    """Return footer and content of a Parquet file with a valid checksum; raises LogError.

    Parquet's own checksums cover pages, but not metadata, where a flipped bit can silently turn a
    column into another.
    """
    with reading(path):
        # Read into Arrow's memory: its threads would ask Python to free a bytes object, and thus
        # abort a process that is ending ("terminate called without an active exception").
        with pa.OSFile(str(path)) as file:
            content = file.read_buffer()
        made, _ = _footer(pa.BufferReader(content))
        digest = made["sha256"]
        bytes_read = memoryview(content)
        end = len(bytes_read) - int.from_bytes(bytes_read[-8:-4], "little") - 8  # after columns
        blank = hashlib.sha256(bytes_read[:end])
        blank.update(bytes(bytes_read[end:]).replace(digest.encode(), _NO_DIGEST.encode()))
        if blank.hexdigest() != digest:
            raise ValueError("its checksum is wrong")
        return made, pq.read_table(pa.BufferReader(content))


def footer(path: Path) -> dict[str, Any]:
    """Return the JSON footer of a file; raises LogError if the file is missing or damaged."""
    with reading(path):
        return _footer(path)[0]


def _footer(file: Path | pa.NativeFile) -> tuple[dict[str, Any], list[str]]:
    """Return the JSON footer of a file, and the names of its columns."""
    file_metadata = pq.read_metadata(file)
    made = json.loads((file_metadata.metadata or {})[_FOOTER.encode()])
    return made, file_metadata.schema.to_arrow_schema().names


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn a missing, unreadable or damaged file into a LogError that names it and the remedy."""
    try:
        yield
    except FileNotFoundError:
        raise LogError(f"{path}: is missing; run snakemake to make it") from None
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        if isinstance(error, OSError) and error.errno:
            raise LogError(f"{path}: cannot be read: {error.strerror}") from error
        reason = " ".join(str(error).split())[:100]
        raise LogError(f"{path}: is damaged ({reason}); delete it and run again") from error


def read_table(
    study: Study, name: str, role: str = "", columns: list[str] | None = None
) -> "pd.DataFrame":
    """Return rows of a table for the study's experiments, or that of ``role``; all columns or some.

    Raises LogError if the table is missing or damaged, or was made from another config, code or
    tables than planned now, if the study knows the planned key (``Study.keys``).
    """
    table = read(study.table(name), study.keys.get(name))
    if "experiment" in table.column_names:
        all_experiments = (*study.config.experiments, *study.config.parents, None)
        experiments = pa.array([study.reproduce[role]] if role else all_experiments, pa.string())
        table = table.filter(pc.is_in(table["experiment"], experiments))
    return (table.select(columns) if columns else table).to_pandas()


def read(path: Path, key: str | None = None) -> pa.Table:
    """Return a whole log or table; raises LogError if it is missing or damaged.

    Also raises LogError if the file is a table whose ``key`` is not the given one.
    """
    made, table = _read(path)
    if key not in (None, made.get("key")):
        raise LogError(
            f"{path}: was made from another config, other code or other tables than the current "
            "ones; delete it "
            "and run snakemake"
        )
    return table


def differing(block: Block) -> list[str]:
    """Return names of the planned settings that differ from those of a finished block's logs.

    Only footers are read. Raises LogError if one is damaged or belongs to another log.
    """
    names: dict[str, None] = {}
    for kind in block.point.logs:
        with reading(block.log(kind)):
            made, columns = _footer(block.log(kind))
        _check_log(block, kind, made, columns)
        names |= dict.fromkeys(_differing(block, made))
    return [*names]


def _differing(block: Block, made: dict[str, Any]) -> list[str]:
    planned, recorded = block.point.spec, made.get("spec") or {}
    names = [_WORDS.get(k) or k for k in planned | recorded if recorded.get(k) != planned.get(k)]
    # A spec has no defaults, which may have changed since, and later parameters are not recorded.
    used, given = made.get("parameters") or {}, block.point.parameters
    if any(used[name] != given[name] for name in used.keys() & given.keys()):
        names.append("parameters")
    return [*dict.fromkeys(names)]


def statuses(block: Block) -> list[str]:
    """Return the status of each run of a finished block; other columns are not read."""
    with reading(block.log("runs")):
        return pq.ParquetFile(block.log("runs")).read(columns=["status"])["status"].to_pylist()


def read_log(block: Block, kind: str, steps: Iterable[int] | None = None) -> "pd.DataFrame":
    """Return a log of a block, with the columns of its schema; all steps or some.

    Raises LogError if the file is missing or damaged, or was made with settings or seeds other than
    planned, or by another version of the system: such numbers never enter an average.
    """
    return _log(block, kind, steps).to_pandas()


def read_weights(block: Block, steps: Iterable[int] | None = None) -> dict[str, np.ndarray]:
    """Return logged parameters of a block by name, (steps, runs, *shape), by step and seed.

    All logged steps or some. Raises LogError as ``read_log``.
    """
    table = _log(block, "parameters", steps)
    names = table["name"].combine_chunks()
    weights = {}
    for name in pc.unique(names).to_pylist():
        rows = table.filter(pc.equal(names, name)).combine_chunks()
        shape = rows["shape"][0].as_py()
        # Rows of logs are sorted by group of the block, then by step, then by seed.
        order = np.lexsort([rows["seed"].to_numpy(), rows["step"].to_numpy()])
        values = rows["values"].combine_chunks().values.to_numpy(zero_copy_only=False)
        weights[name] = values.reshape(len(rows), -1)[order].reshape(-1, block.count, *shape)
    return weights


def _log(block: Block, kind: str, steps: Iterable[int] | None) -> pa.Table:
    path = block.log(kind)
    made, table = _read(path)
    _check_log(block, kind, made, table.column_names)
    if others := _differing(block, made):
        raise LogError(
            f"{path}: was made with another {', '.join(others)} than the config has now; "
            f"delete {path.parent} and run again"
        )
    if steps is not None:
        table = table.filter(pc.is_in(table["step"], pa.array(list(steps), pa.int32())))
    return table


def _check_log(block: Block, kind: str, made: dict[str, Any], columns: list[str]) -> None:
    """Raise LogError if a file is not the log of this kind and these seeds, by its footer."""
    path, declared = block.log(kind), schema.logs(block.point.system)[kind].names
    if made.get("seeds") != block.ends:
        raise LogError(f"{path}: holds other seeds than {block.name}; delete it and run again")
    if (other := made.get("kind")) != kind:
        raise LogError(f"{path}: holds the log {other!r}; delete it and run again")
    if set(declared) != set(columns):
        raise LogError(f"{path}: has other columns than the log {kind!r}; delete it and run again")
