"""Croissant metadata of a published study: its files, and the columns of each table."""

import json
from typing import Any

import pyarrow as pa

from circlet.errors import ConfigError
from circlet.lazy_import import load
from circlet.publish.data import AUTHORS, TAGS, Column, Published, Table

PARQUET = "application/x-parquet"  # as `mlcroissant` calls it


def text(data: Published) -> str:
    """Return the metadata as JSON; raises mlcroissant's ValidationError if they are not valid.

    Raises ConfigError if that library, which is not installed with circlet, is missing.
    """
    try:
        mlc = load("mlcroissant")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"publish needs {error.name}: pip install 'circlet[publish]', or in a clone: make "
            ".venv/with-publish"
        ) from None
    files = [
        mlc.FileObject(
            id=path,
            name=path,
            content_url=path,
            content_size=f"{size} B",
            encoding_formats=[PARQUET],
            sha256=digest,
        )
        for path, (digest, size) in data.sums.items()
        if path not in data.logs
    ]
    files += [
        mlc.FileSet(id=name, name=name, includes=[f"logs/*/*/*/{name}"], encoding_formats=[PARQUET])
        for name in sorted({path.rpartition("/")[2] for path in data.logs})
    ]
    records = [
        mlc.RecordSet(
            id=table.name,
            name=table.name,
            description=table.meaning,
            fields=[_field(mlc, table, field) for field in table.columns],
        )
        for table in data.tables
    ]
    described = mlc.Metadata(
        name=data.name,
        description=data.description,
        license=[data.licence_url],
        creators=[mlc.Organization(name=AUTHORS)],
        cite_as=f"{AUTHORS}: {data.title}, {data.date[:4]}, made with circlet {data.version}",
        date_published=data.date,
        keywords=TAGS,
        version=data.version,
        distribution=files,
        record_sets=records,
    )
    return json.dumps(described.to_json(), indent=1, ensure_ascii=False) + "\n"


def _field(mlc: Any, table: Table, field: pa.Field) -> Any:
    """Return a column in Croissant's words; the parts of a struct become fields below it."""
    column, options = Column.of(field), dict[str, Any]()
    name, unit = f"{table.name}/{field.name}", f" ({column.unit})" if column.unit else ""
    source = {"file_object": table.path, "extract": mlc.Extract(column=field.name)}
    inner = field.type
    if pa.types.is_list(inner):
        inner, options["repeated"] = inner.value_type, True
    if pa.types.is_struct(inner):
        options["sub_fields"] = [
            mlc.Field(
                id=f"{name}/{part.name}",
                name=part.name,
                data_types=[_kind(mlc, part.type)],
                source=mlc.Source(**source, transforms=[mlc.Transform(json_path=part.name)]),
            )
            for part in inner
        ]
    else:
        options |= {"data_types": [_kind(mlc, inner)], "source": mlc.Source(**source)}
    return mlc.Field(id=name, name=field.name, description=column.meaning + unit, **options)


def _kind(mlc: Any, type: pa.DataType) -> Any:
    if pa.types.is_boolean(type):
        return mlc.DataType.BOOL
    if pa.types.is_integer(type):
        return mlc.DataType.INTEGER
    return mlc.DataType.FLOAT if pa.types.is_floating(type) else mlc.DataType.TEXT
