"""Tables and logs of a study by name: ``circlet.load("results")``.

This needs only the folder, no config: the footer of each log has the keys of its runs. Frames are
pandas, or polars or Arrow on request.
"""

import operator
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from circlet.errors import ConfigError, LogError, unknown
from circlet.storage import parquet, remote

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Engine = Literal["pandas", "polars", "arrow"]
_ENGINES = ("pandas", "polars", "arrow")


class _File(NamedTuple):
    """A log of a block, and the keys of its runs."""

    path: Path
    keys: dict[str, Any]  # experiment, system, point, dtype, products, and parameters


class Results:
    """Tables and logs that a study has written into a folder so far."""

    def __init__(self, folder: str | Path, engine: Engine = "pandas"):
        self.engine = _checked(engine)
        self.place = str(folder)
        self._block_keys: dict[Path, dict[str, Any]] = {}  # keys of the runs of each block
        self._listing: dict[str, dict[str, Any]] = {}  # files that are not on this machine
        if remote.is_remote(folder):
            self.folder = Path(tempfile.mkdtemp(prefix="circlet-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
            self._remote = remote.Remote(str(folder))
            self._listing = self._remote.listing()
            folders = {name.partition("/")[0] for name in self._listing}
        else:
            self.folder = Path(folder)
            if not self.folder.is_dir():
                raise LogError(f"{folder}: there is no such folder; give the `results` of a study")
            folders = {path.name for path in self.folder.iterdir() if path.is_dir()}
        if folders.isdisjoint(("logs", "tables")):
            raise LogError(f"{folder}: has no logs and no tables; give the `results` of a study")

    def __repr__(self) -> str:
        return f"<circlet results in {self.place}: {len(self.tables)} tables, logs {self.logs}>"

    @property
    def tables(self) -> list[str]:
        """Names of the existing tables."""
        return sorted(path.stem for path in self._glob("tables/[!.]*.parquet"))

    @property
    def logs(self) -> list[str]:
        """Kinds of the existing logs."""
        return sorted({path.stem for path in self._paths("*")})

    @property
    def experiments(self) -> list[str]:
        """Names of the experiments that have logs."""
        return sorted({path.parents[2].name for path in self._paths("runs")})

    def table(
        self, name: str, engine: Engine | None = None
    ) -> "pd.DataFrame | pl.DataFrame | pa.Table":
        """Return a table; raises LogError if there is none with this name."""
        if name not in (names := self.tables):
            if name in self.logs:
                raise LogError(f"{self.place}: {name!r} is a log: write log({name!r})")
            raise LogError(f"{self.place}: {unknown('table', name, names)}")
        path = self._local(self.folder / "tables" / f"{name}.parquet")
        return self._frame(parquet.read(path), engine)

    def log(
        self,
        kind: str,
        experiment: str | Iterable[str] | None = None,
        steps: int | Iterable[int] | None = None,
        seeds: int | Iterable[int] | None = None,
        engine: Engine | None = None,
        **parameters: Any,
    ) -> "pd.DataFrame | pl.DataFrame | pa.Table":
        """Return one kind of log of all runs, or of some, with keys and parameters as columns.

        Args:
            kind: runs, curves, signals, embeddings, gradients, gradient_norms or parameters.
            experiment: one, or several; all if not given.
            steps: only these; all that are logged if not given.
            seeds: only these.
            engine: pandas, polars or arrow; that of ``load`` if not given.
            **parameters: values that runs must have: ``p=59``, or ``weight_decay=[0.1, 1]``.

        Logs of settings that are no longer in the config are included until they are deleted.

        Raises LogError if there is no such log, a file is damaged, or no run matches.
        """
        if kind not in (available := self.logs):
            if kind in self.tables:
                raise LogError(f"{self.place}: {kind!r} is a table: write table({kind!r})")
            raise LogError(f"{self.place}: {unknown('log', kind, available)}")
        experiments = None if experiment is None else _listed(experiment)
        for name in experiments or ():
            if name not in (available := self.experiments):
                raise LogError(f"{self.place}: {unknown('experiment', name, available)}")
        conditions = {name: _listed(value) for name, value in parameters.items()}
        files = self._files(kind, experiments)
        columns = {name for _, keys in files for name in keys}
        if unknown_parameters := sorted(conditions.keys() - columns):
            if (plural := f"{unknown_parameters[0]}s") in ("steps", "seeds"):
                raise LogError(f"there is no parameter {unknown_parameters[0]!r}: write {plural}=")
            raise LogError(unknown("parameter", unknown_parameters[0], sorted(columns)))
        chosen = [
            file
            for file in files
            if all(file.keys.get(name) in values for name, values in conditions.items())
        ]
        if not chosen:
            values_there = "".join(f"; {name} is {_values(files, name)}" for name in conditions)
            asked = ({"experiment": experiment} if experiment is not None else {}) | parameters
            text = ", ".join(f"{name}={value!r}" for name, value in asked.items()) or "any run"
            raise LogError(f"{self.place}: no log {kind!r} is of {text}{values_there}")
        filters = {"step": steps, "seed": seeds}
        kept = {name: _whole(name, v) for name, v in filters.items() if v is not None}
        key_names = dict.fromkeys(name for _, keys in chosen for name in keys)
        names = [name for name in key_names if name not in _FIRST]
        for file in chosen:
            self._local(file.path)
        parts = [_read(file, names, kept) for file in chosen]
        whole = pa.concat_tables(parts, promote_options="permissive")
        if kept and not len(whole):
            requested = ", ".join(f"{name} {list(values)}"[:80] for name, values in kept.items())
            raise LogError(f"{self.place}: no row of the log {kind!r} has {requested}")
        return self._frame(whole, engine)

    def _paths(self, kind: str) -> list[Path]:
        """Return the logs of a kind, in the order of their names."""
        return sorted(self._glob(f"logs/*/*/seeds_*/{kind}.parquet"))

    def _glob(self, pattern: str) -> Iterable[Path]:
        if not self._listing:
            return self.folder.glob(pattern)
        names = (PurePosixPath(name) for name in self._listing)
        depth = pattern.count("/") + 1
        return [self.folder / n for n in names if len(n.parts) == depth and n.match(pattern)]

    def _local(self, path: Path) -> Path:
        """Return a path after its file was copied to this machine."""
        if self._listing and not path.exists():
            self._remote.fetch(path.relative_to(self.folder).as_posix(), path)
        return path

    def _footer(self, path: Path) -> dict[str, Any]:
        """Return the footer of a log; of a remote log only the footer is copied."""
        if not self._listing or path.exists():
            return parquet.footer(path)
        alone = path.with_suffix(".footer")
        alone.parent.mkdir(parents=True, exist_ok=True)
        alone.write_bytes(self._remote.footer(path.relative_to(self.folder).as_posix()))
        return parquet.footer(alone)

    def _written(self, path: Path) -> float:
        """Return when a file was written (ns); 0 if its store does not say."""
        if not self._listing:
            return path.stat().st_mtime_ns
        name = path.relative_to(self.folder).as_posix()
        return 1e9 * (remote.modified(self._listing[name]) or 0.0)

    def _files(self, kind: str, experiments: list[str] | None = None) -> list[_File]:
        """Return the logs of a kind with their keys.

        If blocks overlap, as after an edit of ``block``, those that were written last count.
        """
        files: list[_File] = []
        taken: dict[Path, list[range]] = {}
        newest = sorted(self._paths(kind), key=self._written, reverse=True)
        for path in newest:
            if experiments is not None and path.parents[2].name not in experiments:
                continue
            first, last = map(int, path.parent.name.removeprefix("seeds_").split("-"))
            others = taken.setdefault(path.parents[1], [])
            if any(first < block.stop and block.start <= last for block in others):
                if not self._written(path):
                    raise LogError(
                        f"{self.place}: blocks overlap in {path.parents[1].name}, and the store "
                        "does not say which was written last; copy it to a folder, and delete one"
                    )
                continue
            others.append(range(first, last + 1))
            files.append(_File(path, self._keys(path)))
        return sorted(files)

    def _keys(self, path: Path) -> dict[str, Any]:
        """Return the keys of a log's runs, read from the first requested log of each block."""
        block = path.parent
        if block not in self._block_keys:
            keys = self._footer(path).get("keys")
            if keys is None:
                raise LogError(
                    f"{path}: was made by an early version, which did not record its runs"
                )
            self._block_keys[block] = keys
        return self._block_keys[block]

    def _frame(self, table: pa.Table, engine: Engine | None) -> Any:
        match _checked(engine or self.engine):
            case "polars":
                import polars as pl

                return pl.from_arrow(table)
            case "pandas":
                return table.to_pandas()
        return table


_FIRST = ("experiment", "system", "point")


def load(folder: str | Path, engine: Engine = "pandas") -> Results:
    """Return the results of a study by its folder: ``circlet.load("results").table("outcomes")``.

    The folder may be a ``.zip`` file, or an address such as ``s3://bucket/results`` or
    ``hf://datasets/group/study``: then each file is copied when it is first read. Frames are those
    of ``engine``: pandas, polars or arrow. Raises LogError if there is no such folder.
    """
    return Results(folder, engine)


def _checked(engine: str) -> Any:
    if engine not in _ENGINES:
        raise ConfigError(f"engine: must be one of {', '.join(_ENGINES)}, not {engine!r}")
    return engine


def _listed(values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [values]
    return list(values)


def _whole(name: str, values: Any) -> list[int]:
    """Return the requested steps or seeds; raises LogError if they are no whole numbers."""
    try:
        numbers = [operator.index(value) for value in _listed(values)]
    except TypeError:
        raise LogError(f"{name}s: must be whole numbers, not {values!r}") from None
    return [value for value in numbers if abs(value) < 2**31]


def _values(files: Iterable[_File], name: str) -> str:
    """Return the values of a key in some logs, as text."""
    texts = [*dict.fromkeys(str(file.keys.get(name)) for file in files)]
    return ", ".join(texts[:8] + ["..."] * (len(texts) > 8))


def _read(file: _File, names: list[str], kept: dict[str, list[Any]]) -> pa.Table:
    """Return a log with the keys of its runs as columns, and only the rows with ``kept`` values."""
    table = parquet.read(file.path)
    for name, values in kept.items():
        if name in table.column_names:
            chosen = pa.array(values, table.schema.field(name).type)
            table = table.filter(pc.is_in(table[name], chosen))
    n, keys = len(table), file.keys
    seeds = pc.cast(table["seed"], pa.string())
    prefix = f"{keys['experiment']}/{keys['point']}/s"
    columns = {name: pa.repeat(keys[name], n) for name in _FIRST}
    columns["run_id"] = pc.binary_join_element_wise(prefix, pc.utf8_lpad(seeds, 5, "0"), "")
    columns |= {name: table[name] for name in table.column_names}
    for name in names:
        value = keys.get(name)
        if name not in columns:
            columns[name] = pa.nulls(n) if value is None else pa.repeat(value, n)
    return pa.table(columns)
