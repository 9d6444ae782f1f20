"""Published claims, as the ``claims.csv`` of each collection has them.

A row is a claim: ``claim`` (its name), ``source`` (table, figure or section), ``statement``; the
``table`` and ``column`` that answer it, in the row whose keys are those of the columns
``where.KEY``; its ``kind`` and the ``published`` value, with ``published_low``, ``published_high``
and ``published_n``; the ``role`` whose experiment is asked, the ``conditions`` under which the
published value holds, and others that it ``accepts``; the ``figure`` that shows it. Tables, roles
and figures of the same collection go by their own names.

The table has ``column``, ``column_low``, ``column_high`` and ``column_n``, as
`circlet.storage.schema.estimate` declares them, and ``n_planned``.
"""

import csv
import io

from circlet.errors import ConfigError
from circlet.study.registry import Collection

NUMBERS = ("published", "published_low", "published_high", "published_n")
COLUMNS = (
    "claim", "source", "statement", "kind", "role", "table", "column", *NUMBERS, "conditions",
    "accepts", "figure",
)  # fmt: skip
KINDS = ("count", "absent", "mean", "correlation", "range", "sign")
WHERE = "where."

Claim = dict[str, str]


def claims(collection: Collection) -> list[Claim]:
    """The claims of a collection, with full names; none if it has no ``claims.csv``.

    Raises ConfigError if the file is not what is described above.
    """
    path = collection.folder / "claims.csv"
    if not path.exists():
        return []
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")), restval="")
        rows, has = list(reader), reader.fieldnames or ()
    except (OSError, ValueError, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    if lacking := [name for name in COLUMNS if name not in has]:
        raise ConfigError(f"{path}: has no column {lacking[0]!r}")
    if unknown := [n for n in has if n not in COLUMNS and not n.startswith(WHERE)]:
        raise ConfigError(f"{path}: unknown column {unknown[0]!r} (known: {', '.join(COLUMNS)})")
    names: set[str] = set()
    for row in rows:
        where = f"{path}: {row['claim']}"
        if row["claim"] in names:
            raise ConfigError(f"{where}: is there twice")
        names.add(row["claim"])
        if None in row:
            raise ConfigError(f"{where}: has more values than there are columns")
        if row["kind"] not in KINDS:
            raise ConfigError(f"{where}: no kind {row['kind']!r} (there are: {', '.join(KINDS)})")
        for name in NUMBERS:
            try:
                float(row[name] or "nan")
            except ValueError:
                raise ConfigError(f"{where}: {name} must be a number") from None
        row["claim"] = collection.qualified(row["claim"])
        for name, kind in (("table", "tables"), ("figure", "figures"), ("role", "roles")):
            row[name] = collection.resolved(kind, row[name])
    return rows
