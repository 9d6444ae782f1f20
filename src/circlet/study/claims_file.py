"""Published claims, from the ``claims.csv`` of each collection.

Each row is a claim; lines that begin with ``#`` are comments. Columns that have defaults in `Claim`
may be left out, and columns that a kind does not need may be empty:

``claim, reference, source, statement, unit``
    its name; the origin of the value, ``paper`` or a key of ``references`` in collection.yaml; the
    table, figure or section in this source; a sentence, in which ``{}`` stands for the published
    value; the unit of the value;
``kind, published, published_low, published_high, published_n, margin, least, most``
    how it is judged (`circlet.analysis.verdicts`): the published value, its 95 % interval, and its
    number of runs; the largest difference that counts as agreement, if the kind has no rule for
    it; the thresholds of a claim in words;
``tally``
    ``test``, or why it does not count as a test: ``repeat`` (it overlaps with tests on the
    same runs), ``arithmetic`` (not random), ``fitted`` (constants were fitted to this table),
    ``beyond`` (no paper makes this claim for these networks);
``role, conditions, shorter, accepts``
    the role whose experiment is used, the conditions under which the published value holds,
    shorter runs that have been shown to decide the same (docs/scorecard.md), and other conditions
    under which the claim can still be judged, but does not count as a test;
``table, column, where.KEY, rival, figure``
    the table and column with our value, in the row with these keys; a column with the value of a
    trivial answer, which our value must beat; the figure that shows it;
``reason``
    why the claim deviates, in sentences, if the reason is known. Claims with the same reason have
    the same text. Pages show it next to claims that deviate.

Tables, roles and figures of the same collection have their short names. The table has ``column``,
``column_low``, ``column_high`` and ``column_n``, as `circlet.storage.schema.estimate` declares
them, and `circlet.storage.schema.COUNTS`: finished runs behind the row, and planned ones.
"""

import csv
import functools
import io
import math
from collections import Counter
from typing import Any

import msgspec
from msgspec import structs

from circlet.errors import ConfigError, check_exist
from circlet.study.registry import Collection

# Columns that each kind needs; of several names in one string, one is enough.
NEEDS = {
    "share": ("published", "published_n"),
    "correlation": ("published", "published_n"),
    "mean": ("published", "published_n", "published_low margin"),
    "ratio": ("published", "published_n", "margin"),
    "exact": ("published", "margin"),
    "words": ("least most", "margin"),
    "words_ratio": ("least most", "margin"),
}
TEST, OTHER = "test", "other"
TALLIES = {  # how a claim is counted, in words for readers
    TEST: "tests",
    OTHER: "judged on runs with other settings than the paper's",
    "repeat": "overlapping with tests on the same runs",
    "arithmetic": "not about training",
    "fitted": "about results to which we fitted constants",
    "beyond": "beyond the papers",
}
PAPER = "paper"
WHERE = "where."


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, with full names of tables, roles and figures."""

    collection: str
    claim: str
    reference: str = PAPER
    source: str
    statement: str
    unit: str = ""
    kind: str
    published: float = math.nan
    published_low: float = math.nan
    published_high: float = math.nan
    published_n: float = math.nan
    margin: float = math.nan
    least: float = math.nan
    most: float = math.nan
    tally: str = TEST
    role: str
    conditions: str = ""
    shorter: str = ""
    accepts: str = ""
    table: str
    column: str
    keys: dict[str, str] = {}  # of the row in the table
    rival: str = ""
    figure: str = ""
    reason: str = ""


_FIELDS = structs.fields(Claim)
NUMBERS = tuple(field.name for field in _FIELDS if field.type is float)
COLUMNS = tuple(field.name for field in _FIELDS if field.name not in ("collection", "keys"))
REQUIRED = tuple(field.name for field in _FIELDS if field.required and field.name in COLUMNS)


def claims(collection: Collection) -> list[Claim]:
    """Return a collection's claims, if any; raises ConfigError if one is not valid."""
    path = collection.folder / "claims.csv"
    if not path.exists():
        return []
    try:
        return _claims(collection, path.read_text(encoding="utf-8"))
    except (OSError, ValueError, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None


@functools.cache
def _claims(collection: Collection, text: str) -> list[Claim]:
    path = collection.folder / "claims.csv"
    lines = (line for line in io.StringIO(text) if not line.startswith("#"))
    reader = csv.DictReader(lines, restval="")
    rows, columns = list(reader), reader.fieldnames or ()
    if missing := [name for name in REQUIRED if name not in columns]:
        raise ConfigError(f"{path}: has no column {missing[0]!r}")
    if unknown := [n for n in columns if n not in COLUMNS and not n.startswith(WHERE)]:
        raise ConfigError(f"{path}: unknown column {unknown[0]!r} (known: {', '.join(COLUMNS)})")
    for name, n in Counter(row["claim"] for row in rows).items():
        if n > 1:
            raise ConfigError(f"{path}: {name}: is listed twice")
    return [_claim(collection, f"{path}: {row['claim']}", row) for row in rows]


def _claim(collection: Collection, where: str, row: dict[str, str]) -> Claim:
    """Return a claim from its row; raises ConfigError."""
    if None in row:
        raise ConfigError(f"{where}: has more values than the file has columns")
    values: dict[str, Any] = {k: v for k, v in row.items() if v and not k.startswith(WHERE)}
    for name in NUMBERS:
        if name in values:
            values[name] = _number(f"{where}: {name}", values[name])
    for name, kind in (("table", "tables"), ("figure", "figures"), ("role", "roles")):
        values[name] = collection.resolved(kind, row.get(name, ""))
    keys = {k.removeprefix(WHERE): v for k, v in row.items() if v and k.startswith(WHERE)}
    texts = dict.fromkeys(REQUIRED, "") | values
    claim = Claim(**texts, keys=keys, collection=collection.name)
    tallies = [name for name in TALLIES if name != OTHER]  # OTHER depends on the study
    references = (PAPER, *collection.metadata.references)
    for name, allowed in (("kind", NEEDS), ("tally", tallies), ("reference", references)):
        check_exist(where, name, allowed, [getattr(claim, name)])
    _check_numbers(where, claim)
    statement = claim.statement.replace("{}", f"{claim.published:g}")
    name = collection.qualified(claim.claim)
    return structs.replace(claim, claim=name, statement=statement)


def _number(where: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ConfigError(f"{where} must be a number") from None
    if math.isinf(number):
        raise ConfigError(f"{where} must be finite")
    return number


def _check_numbers(where: str, claim: Claim) -> None:
    """Raise ConfigError unless the numbers of a claim are those that its kind needs."""
    published, low, high, n = (getattr(claim, name) for name in NUMBERS[:4])
    for names in NEEDS[claim.kind]:
        if all(math.isnan(getattr(claim, name)) for name in names.split()):
            needed = " or ".join(names.split())
            raise ConfigError(f"{where}: {needed}: a {claim.kind} needs it")
    is_factor = claim.kind in ("ratio", "words_ratio")
    smallest = 1.0 if is_factor else 0.0
    is_too_small = claim.margin < smallest or (claim.margin == smallest and claim.kind != "exact")
    numbers = (published, low, claim.least, claim.most)
    # NaN is neither larger nor smaller than anything.
    for is_wrong, rule in (
        (math.isnan(low) != math.isnan(high),
         "published_low and published_high must both be given, or neither"),
        (low > published or high < published,
         "published must lie between published_low and published_high"),
        (claim.least > claim.most, "least must not be above most"),
        (claim.kind == "share" and not 0 <= published <= n,
         "published must be a count among published_n runs"),
        (claim.kind == "correlation" and (abs(published) >= 1 or n < 4),
         "published must lie between -1 and 1, with published_n of at least 4"),
        (is_too_small, f"margin must be {'a factor above 1' if is_factor else 'above 0'}"),
        (is_factor and any(number <= 0 for number in numbers),
         f"a {claim.kind} needs numbers above 0"),
    ):  # fmt: skip
        if is_wrong:
            raise ConfigError(f"{where}: {rule}")
