"""Published studies: a study as a data set, with a card, Croissant metadata and an RO-Crate.

The folder has the study's tables, byte by byte, so `circlet.load` reads it as it reads results. All
texts follow from the files: schemas have the meaning and unit of columns, footers the config, and
the table ``provenance`` what made the runs. The same study gives the same bytes everywhere.
"""

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import pyarrow as pa
import yaml

from circlet import __version__
from circlet.config import reading
from circlet.errors import ConfigError, LogError
from circlet.lazy_import import load
from circlet.pages import experiments
from circlet.storage import files, parquet
from circlet.study import planning, registry, targets
from circlet.study.plan import Study

CARD, CONFIG, SUMS = "README.md", "config.yaml", "sha256sums.txt"
CROISSANT, CRATE = "croissant.json", "ro-crate-metadata.json"
AUTHORS = "The circlet developers"
TAGS = ["modular-addition", "training-dynamics", "mechanistic-interpretability", "circlet"]
PARQUET = "application/vnd.apache.parquet"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"  # a crate that says which program made its files
SHARED = 3  # a column of so many tables is explained once
_SIZES = {1e3: "n<1K", 1e4: "1K<n<10K", 1e5: "10K<n<100K", 1e6: "100K<n<1M", 1e7: "1M<n<10M"}


class Table(NamedTuple):
    """A table: its path below the folder, meaning, columns and number of rows."""

    name: str
    meaning: str
    columns: pa.Schema
    rows: int

    @property
    def path(self) -> str:
        """Its path below the folder."""
        return f"tables/{self.name}.parquet"

    @property
    def explained(self) -> list[tuple[str, str, str, str]]:
        """Name, type, unit and meaning of each column."""
        return [_explained(column) for column in self.columns]


@dataclass(frozen=True)
class Published:
    """A study, and all that is said about it."""

    study: Study
    folder: Path  # with its tables
    config: str  # YAML
    tables: list[Table]
    logs: list[str]  # their paths below the folder
    made: list[dict[str, Any]]  # rows of the table ``provenance``
    licence: str  # SPDX identifier
    date: str

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.folder.resolve().name

    @property
    def title(self) -> str:
        """Its name in words."""
        return f"{self.name.replace('_', ' ').capitalize()} (circlet)"

    @property
    def about(self) -> str:
        """What it is, in a sentence."""
        planned = sum(point.count for point in self.study.points)
        return (
            f"{len(self.tables)} tables of {planned} runs in {len(self.study.config.experiments)} "
            f"experiments with tiny networks and particles, made with circlet {__version__}."
        )

    @property
    def licence_url(self) -> str:
        """Address of the text of its licence."""
        return f"https://spdx.org/licenses/{self.licence}"

    @property
    def sources(self) -> list[registry.Collection]:
        """Collections of its systems that are about a paper or a subject."""
        return [c for c in self.study.used_collections if c.metadata.title]

    @cached_property
    def sums(self) -> dict[str, tuple[str, int]]:
        """SHA-256 and size (bytes) of each copied file."""
        paths = [*(table.path for table in self.tables), *self.logs]
        return {path: _sum((self.folder / path).read_bytes()) for path in paths}

    def texts(self) -> dict[str, str]:
        """Return the files that are written beside the tables, by name."""
        texts = {CONFIG: self.config, CARD: self.card(), CROISSANT: self.croissant()}
        sums = self.sums | {name: _sum(text.encode()) for name, text in texts.items()}
        texts[CRATE] = self.crate(sums)
        sums[CRATE] = _sum(texts[CRATE].encode())
        return texts | {SUMS: "".join(f"{sums[name][0]}  {name}\n" for name in sorted(sums))}

    def card(self) -> str:
        """Return the card, with the front matter of the Hugging Face Hub."""
        rows = sum(table.rows for table in self.tables)
        head = {
            "license": self.licence.lower(),
            "pretty_name": self.title,
            "tags": TAGS,
            "size_categories": [next((k for n, k in _SIZES.items() if rows < n), "n>10M")],
            "configs": [{"config_name": t.name, "data_files": t.path} for t in self.tables],
        }
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            autoescape=False,
        )
        used = Counter(column for table in self.tables for column in table.explained)
        return environment.get_template("card.md").render(
            data=self,
            head=yaml.safe_dump(head, sort_keys=False, allow_unicode=True),
            shared=[column for column, tables in used.items() if tables >= SHARED],
            systems=[experiments.system(self.study.known[name]) for name in self.study.systems],
            setting=lambda name: experiments.setting(self.study.experiment(name))["setting"],
            count=lambda name: sum(point.count for point in self.study.experiment(name)),
        )

    def croissant(self) -> str:
        """Return the Croissant metadata: files with checksums, and the columns of each table."""
        mlc = load("mlcroissant")
        objects = [
            mlc.FileObject(
                id=path,
                name=path,
                content_url=path,
                content_size=f"{size} B",
                encoding_formats=[PARQUET],
                sha256=digest,
            )
            for path, (digest, size) in self.sums.items()
        ]
        sets = [
            mlc.RecordSet(
                id=table.name,
                name=table.name,
                description=table.meaning,
                fields=[_field(mlc, table, column) for column in table.columns],
            )
            for table in self.tables
        ]
        described = mlc.Metadata(
            name=self.name,
            description=self.about,
            license=[self.licence_url],
            creators=[mlc.Organization(name=AUTHORS)],
            cite_as=self.citation,
            date_published=self.date,
            keywords=TAGS,
            version=__version__,
            distribution=objects,
            record_sets=sets,
        )
        return json.dumps(described.to_json(), indent=1, ensure_ascii=False) + "\n"

    @property
    def citation(self) -> str:
        """A BibTeX entry for the data set."""
        return (
            f"@misc{{circlet_{self.name}, author = {{{{{AUTHORS}}}}}, title = {{{self.title}}}, "
            f"year = {{{self.date[:4]}}}, note = {{circlet {__version__}}}}}"
        )

    def crate(self, sums: dict[str, tuple[str, int]]) -> str:
        """Return the metadata of an RO-Crate: the files, and the program and config behind them."""
        module = load("rocrate.rocrate")
        entity = load("rocrate.model").ContextEntity
        crate = module.ROCrate(version="1.1")
        add = lambda id, **properties: crate.add(entity(crate, id, properties=properties))  # noqa: E731
        crate.name, crate.description, crate.datePublished = self.title, self.about, self.date
        crate.keywords = TAGS
        name = f"{self.licence} licence"
        crate.license = add(self.licence_url, **{"@type": "CreativeWork", "name": name})
        crate.creator = author = add("#authors", **{"@type": "Organization", "name": AUTHORS})
        crate.root_dataset["conformsTo"] = add(
            PROFILE, **{"@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}
        )
        crate.root_dataset["citation"] = [
            add(
                f"#{source.name}",
                **{"@type": "ScholarlyArticle", "name": source.metadata.title},
                author=source.metadata.authors,
                identifier=source.metadata.identifier or source.name,
            )
            for source in self.sources
        ]
        meanings = {table.path: table.meaning for table in self.tables}
        kinds = {".md": "text/markdown", ".yaml": "application/yaml", ".json": "application/json"}
        entities = {
            path: crate.add_file(
                dest_path=path,
                properties={
                    "name": path,
                    "description": meanings.get(path, path),
                    "contentSize": str(size),
                    "encodingFormat": kinds.get(Path(path).suffix, PARQUET),
                    "sha256": digest,
                },
            )
            for path, (digest, size) in sums.items()
        }
        program = add("#circlet", **{"@type": "SoftwareApplication", "name": "circlet"}, version=__version__)
        add(
            "#study",
            **{"@type": "CreateAction", "name": "Run of the study", "endTime": self.date},
            agent=author,
            instrument=program,
            object=entities[CONFIG],
            result=[entities[path] for path in self.sums],
        )
        crate.root_dataset["mentions"] = crate.get("#study")
        return json.dumps(crate.metadata.generate(), indent=1, sort_keys=True) + "\n"


def read(
    folder: Path,
    *,
    with_logs: bool = False,
    licence: str = "MIT",
    date: str = "",
    collections: Sequence[str] = (),
) -> Published:
    """Read a frozen study, or the results of a study, to publish it.

    ``date``: of publication; by default the day on which the newest table was written. Raises
    LogError if there is no study, a table is missing or damaged, or tables are of different configs.
    """
    if not folder.is_dir():
        raise LogError(f"{folder}: there is no such folder; give the `results` of a study")
    paths = sorted(folder.glob("tables/[!.]*.parquet"))
    if not paths:
        raise LogError(f"{folder}: has no tables; finish the study with snakemake")
    footers = {path.stem: parquet.footer(path) for path in paths}
    config = _config(folder, footers) | {"results": f"results/{folder.resolve().name}"}
    try:
        study = planning.plan(config | {"collections": [*collections]}).staged(folder)
    except ConfigError as error:
        hint = "" if collections else "; --collections names your own collections"
        raise ConfigError(f"{folder}: {error}{hint}") from None
    is_whole = not (folder / CONFIG).exists()
    if is_whole and not any(made.get("missing_blocks") for made in footers.values()):
        names = [table.name for table in targets.tables(study)]
        if missing := [name for name in names if name not in footers]:
            raise LogError(
                f"{folder}: lacks the tables {', '.join(missing)}; finish the study with snakemake, "
                f"or make tables of the finished runs with circlet partial, and publish {folder}/partial"
            )
    modules, tables, made = targets.modules(study, "tables"), [], []
    for path in paths:
        content = parquet.read(path)
        meaning = described(modules[path.stem]) if path.stem in modules else path.stem
        tables.append(Table(path.stem, meaning, content.schema, len(content)))
        if path.stem == "provenance":
            made = content.to_pylist()
    newest = max(path.stat().st_mtime for path in paths)
    logs = sorted(folder.glob("logs/*/*/seeds_*/*.parquet")) if with_logs else []
    return Published(
        study,
        folder,
        yaml.safe_dump(config, sort_keys=False, width=100, allow_unicode=True),
        tables,
        [path.relative_to(folder).as_posix() for path in logs],
        made,
        licence,
        date or datetime.fromtimestamp(newest, UTC).date().isoformat(),
    )


def write(data: Published, to: Path) -> None:
    """Write a data set into a folder, replacing an earlier one in it.

    Raises LogError if the folder has other files.
    """
    texts = data.texts()
    paths = {name: to / name for name in (*data.sums, *texts)}
    with files.own_folder(to, paths.values()) as made:
        for name in data.sums:
            with files.atomic(paths[name]) as temporary:
                shutil.copyfile(data.folder / name, temporary)
        for name, text in texts.items():
            files.write_text(paths[name], text)
        made += paths.values()


def described(module: str) -> str:
    """Return what a table has, by the start of the docstring of its module."""
    text = (load(module).__doc__ or "").split("\n\n")[0].partition(": ")[2]
    meaning = " ".join(text.split()).removesuffix(".").replace("``", "`").replace("R^2", "R²")
    return meaning


def _config(folder: Path, footers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the config of a frozen study, or that which the footers of tables have together."""
    if (folder / CONFIG).exists():
        return reading.read(folder / CONFIG)
    whole: dict[str, Any] = {}
    for name, made in footers.items():
        for key, part in made.get("study", {}).items():
            known = whole.setdefault(key, part)
            if isinstance(part, dict):
                whole[key] = part | known
                known = {k: v for k, v in whole[key].items() if k in part}
            if known != part:
                raise LogError(
                    f"{folder}: table {name} was made with another `{key}` than other tables; run "
                    "snakemake"
                )
    others = {k: v for k, v in whole.get("parents", {}).items() if k not in whole["experiments"]}
    return whole | {"parents": others}


def _sum(content: bytes) -> tuple[str, int]:
    return hashlib.sha256(content).hexdigest(), len(content)


def _explained(column: pa.Field) -> tuple[str, str, str, str]:
    """Return the name, type, unit and meaning of a column."""
    about = {k.decode(): v.decode() for k, v in (column.metadata or {}).items()}
    return column.name, str(column.type), about.get("unit", ""), about.get("meaning", "")


def _field(mlc: Any, table: Table, column: pa.Field) -> Any:
    """Return a column in Croissant's words."""
    name, _, unit, meaning = _explained(column)
    inner, depth = column.type, 0
    while pa.types.is_list(inner):
        inner, depth = inner.value_type, depth + 1
    kinds = {
        pa.types.is_boolean: mlc.DataType.BOOL,
        pa.types.is_integer: mlc.DataType.INTEGER,
        pa.types.is_floating: mlc.DataType.FLOAT,
    }
    return mlc.Field(
        id=f"{table.name}/{name}",
        name=name,
        description=f"{meaning} ({unit})" if unit else meaning,
        data_types=[next((kind for fits, kind in kinds.items() if fits(inner)), mlc.DataType.TEXT)],
        source=mlc.Source(file_object=table.path, extract=mlc.Extract(column=name)),
        **({"is_array": True, "array_shape": ",".join(["-1"] * depth)} if depth else {}),
    )
