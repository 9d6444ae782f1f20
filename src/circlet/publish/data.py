"""What is published of a study, read from its tables.

Schemas have the meaning and unit of columns, footers the config, and the table ``provenance`` what
made the runs. Everything that a data set says follows from these, so the same study gives the same
bytes on every machine.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import yaml

from circlet.config import reading
from circlet.errors import ConfigError, LogError
from circlet.lazy_import import load
from circlet.storage import parquet
from circlet.study import planning, registry, targets
from circlet.study.plan import Study

CONFIG = "config.yaml"
AUTHORS = "The circlet developers"
TAGS = ["modular-addition", "training-dynamics", "mechanistic-interpretability", "circlet"]


class Column(NamedTuple):
    """A column of a table, as its file explains it."""

    name: str
    type: str
    unit: str
    meaning: str

    @classmethod
    def of(cls, field: pa.Field) -> "Column":
        """Return the explanation of an Arrow column."""
        texts = {key.decode(): text.decode() for key, text in (field.metadata or {}).items()}
        return cls(field.name, str(field.type), texts.get("unit", ""), texts.get("meaning", ""))


class Table(NamedTuple):
    """A table: its name, meaning, columns and number of rows."""

    name: str
    meaning: str
    columns: pa.Schema
    rows: int

    @property
    def path(self) -> str:
        """Its path below the folder."""
        return f"tables/{self.name}.parquet"

    @property
    def explained(self) -> list[Column]:
        """Its columns in words."""
        return [Column.of(field) for field in self.columns]


@dataclass(frozen=True)
class Published:
    """A study, and what is said about it."""

    study: Study
    folder: Path  # with its tables
    config: str  # YAML
    tables: list[Table]
    logs: list[str]  # their paths below the folder
    footers: list[dict[str, Any]]  # of its tables
    made: pd.DataFrame  # the table ``provenance``
    licence: str  # SPDX identifier
    date: str  # when the newest table was written

    @property
    def name(self) -> str:
        """Name of its folder; of a partial study, also of the whole one."""
        return Path(self.study.config.results).name

    @property
    def title(self) -> str:
        """Its name in words."""
        return f"{self.name.replace('_', ' ').capitalize()} (circlet)"

    @property
    def description(self) -> str:
        """What it is, in a sentence."""
        runs = sum(point.count for point in self.study.points)
        return (
            f"{len(self.tables)} tables about {runs} runs in {len(self.study.config.experiments)} "
            f"experiments: trainings and simulations of tiny models by circlet {self.version}."
        )

    @property
    def version(self) -> str:
        """Version of circlet that made its tables."""
        versions = [made["versions"]["circlet"] for made in self.footers]
        return max(versions, key=lambda text: [int(number) for number in re.findall(r"\d+", text)])

    @property
    def is_frozen(self) -> bool:
        """Whether its tables are those of a frozen study."""
        return not any("study" in made for made in self.footers)

    @property
    def licence_url(self) -> str:
        """Address of the text of its licence."""
        return f"https://spdx.org/licenses/{self.licence}"

    @property
    def sources(self) -> list[registry.Collection]:
        """Collections of its systems that are about the work of others."""
        used = (c for c in self.study.used_collections if c.metadata.title)
        return [c for c in used if c.metadata.authors != AUTHORS]

    @property
    def origin(self) -> pd.DataFrame:
        """What made the runs of each system."""
        names = ("device", "machine", "commit", "versions")
        texts = dict.fromkeys(names, lambda values: "; ".join(dict.fromkeys(values)))
        by_system = self.made.groupby("system", sort=False)
        return by_system.agg({"runs": "sum", "hours": "sum"} | texts).reset_index()

    @cached_property
    def sums(self) -> dict[str, tuple[str, int]]:
        """SHA-256 and size (bytes) of each table and log, by its path below the folder."""
        sums = {}
        for path in (*(table.path for table in self.tables), *self.logs):
            content = (self.folder / path).read_bytes()
            sums[path] = hashlib.sha256(content).hexdigest(), len(content)
        return sums


def read(
    folder: Path,
    *,
    with_logs: bool = False,
    licence: str = "MIT",
    collections: Sequence[str] = (),
) -> Published:
    """Read a frozen study, or the results of a study, to publish it.

    Raises LogError if there is no finished study, or a file is damaged; ConfigError if an option is
    wrong.
    """
    if not re.fullmatch(r"[A-Za-z0-9.+-]+", licence):
        raise ConfigError(f"--licence: must be an SPDX identifier such as CC-BY-4.0: {licence!r}")
    paths = _tables(folder)
    footers = {path.stem: parquet.footer(path) for path in paths}
    whole, name = folder.resolve().parts[-2:]
    config = _config(folder, footers)
    config["results"] = f"results/{whole}_{name}" if name == "partial" else f"results/{name}"
    try:
        study = planning.plan(config | {"collections": [*collections]}).staged(folder)
    except ConfigError as error:
        dotted = any("." in e["system"] for e in config["experiments"].values()) and not collections
        hint = "; name your own collections after --collections" if dotted else ""
        raise ConfigError(f"{folder}: {error}{hint}") from None
    if not (folder / CONFIG).exists():
        _check_complete(study, footers)
    modules, tables, made = registry.modules(study.collections, "tables"), [], pd.DataFrame()
    for path in paths:
        content = parquet.read(path)
        meaning = described(modules[path.stem]) if path.stem in modules else path.stem
        tables.append(Table(path.stem, meaning, content.schema, len(content)))
        if path.stem == "provenance":
            made = content.to_pandas()
    logs = sorted(folder.glob("logs/*/*/seeds_*/*.parquet")) if with_logs else []
    for path in logs:
        parquet.read(path)  # raises LogError if it is damaged
    newest = max(path.stat().st_mtime for path in paths)
    return Published(
        study,
        folder,
        yaml.safe_dump(config, sort_keys=False, width=100, allow_unicode=True),
        tables,
        [path.relative_to(folder).as_posix() for path in logs],
        list(footers.values()),
        made,
        licence,
        datetime.fromtimestamp(newest, UTC).date().isoformat(),
    )


def described(module: str) -> str:
    """Return what a table has, from the docstring of its module."""
    text = (load(module).__doc__ or "").split("\n\n")[0].partition(": ")[2]
    return " ".join(text.split()).removesuffix(".").replace("``", "`").replace("R^2", "R²")


def _tables(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise LogError(
            f"{folder}: there is no such folder; give a frozen study, or the `results` of a study"
        )
    paths = sorted(folder.glob("tables/[!.]*.parquet"))
    if not paths:
        raise LogError(f"{folder}: has no tables; run snakemake to make them")
    return paths


def _config(folder: Path, footers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the config in the folder, or else the one whose parts the footers of tables have."""
    if (folder / CONFIG).exists():
        return reading.read(folder / CONFIG)
    whole = dict(footers["runs"]["study"]) if "runs" in footers else {}
    for name, made in footers.items():
        foreign = made["study"]["experiments"].keys() - whole.get("experiments", {}).keys()
        if "runs" in footers and foreign:
            raise LogError(
                f"{folder}: table {name} is of an earlier study, which had the experiment "
                f"{min(foreign)}: delete it"
            )
        for key, part in made["study"].items():
            earlier = whole.setdefault(key, part)
            if isinstance(part, dict):
                whole[key] = earlier | part
                earlier = {inner: (part | earlier)[inner] for inner in part}
            if earlier != part:
                raise LogError(
                    f"{folder}: table {name} was made with another `{key}` than other tables; run "
                    "snakemake"
                )
    parents = whole.pop("parents", {})  # an experiment of the study may be a parent of its part
    others = {name: e for name, e in parents.items() if name not in whole["experiments"]}
    return whole | ({"parents": others} if others else {})


def _check_complete(study: Study, footers: dict[str, dict[str, Any]]) -> None:
    """Raise LogError if a study lacks tables; of a partial study, which says so, some may lack."""
    if any(made.get("missing_blocks") for made in footers.values()):
        return
    if missing := [t.name for t in targets.tables(study) if t.name not in footers]:
        raise LogError(
            f"{study.results}: is not finished: the tables {', '.join(missing)} are missing; run "
            "snakemake, or run circlet partial and publish its folder"
        )
