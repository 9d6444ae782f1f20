"""Published claims, from the ``claims.csv`` of each collection.

Each row is a claim; lines that begin with ``#`` are comments. Columns that are not in `REQUIRED`
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
import io
import math

from circlet.errors import ConfigError, check_known
from circlet.study.registry import Collection

NUMBERS = (
    "published", "published_low", "published_high", "published_n", "margin", "least", "most",
)  # fmt: skip
COLUMNS = (
    "claim", "reference", "source", "statement", "unit", "kind", *NUMBERS, "tally", "role",
    "conditions", "shorter", "accepts", "table", "column", "rival", "figure", "reason",
)  # fmt: skip
REQUIRED = ("claim", "source", "statement", "kind", "role", "table", "column")
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

Claim = dict[str, str]


def claims(collection: Collection) -> list[Claim]:
    """Return a collection's claims, if any, with full names; raises ConfigError if invalid."""
    path = collection.folder / "claims.csv"
    if not path.exists():
        return []
    try:
        lines = io.StringIO(path.read_text(encoding="utf-8"))
        reader = csv.DictReader((x for x in lines if not x.startswith("#")), restval="")
        rows, columns = list(reader), reader.fieldnames or ()
    except (OSError, ValueError, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    if missing := [name for name in REQUIRED if name not in columns]:
        raise ConfigError(f"{path}: has no column {missing[0]!r}")
    if unknown := [n for n in columns if n not in COLUMNS and not n.startswith(WHERE)]:
        raise ConfigError(f"{path}: unknown column {unknown[0]!r} (known: {', '.join(COLUMNS)})")
    names: set[str] = set()
    tallies = [name for name in TALLIES if name != OTHER]  # OTHER depends on the study
    references = (PAPER, *collection.metadata.references)
    usual = dict.fromkeys(COLUMNS, "") | {"reference": PAPER, "tally": TEST}
    for row in rows:
        row.update(usual | {name: value for name, value in row.items() if value})
        where = f"{path}: {row['claim']}"
        if row["claim"] in names:
            raise ConfigError(f"{where}: is listed twice")
        names.add(row["claim"])
        if None in row:
            raise ConfigError(f"{where}: has more values than the file has columns")
        for name, allowed in (("kind", NEEDS), ("tally", tallies), ("reference", references)):
            check_known(where, name, allowed, [row[name]])
        _check_numbers(where, row)
        row["claim"] = collection.qualified(row["claim"])
        for name, kind in (("table", "tables"), ("figure", "figures"), ("role", "roles")):
            row[name] = collection.resolved(kind, row[name])
    return rows


def _check_numbers(where: str, row: Claim) -> None:
    """Raise ConfigError unless the numbers of a claim are those that its kind needs."""
    kind, values = row["kind"], dict[str, float]()  # NaN where it has none
    for name in NUMBERS:
        try:
            values[name] = float(row[name] or "nan")
        except ValueError:
            raise ConfigError(f"{where}: {name} must be a number") from None
        if math.isinf(values[name]):
            raise ConfigError(f"{where}: {name} must be finite")
    published, low, high, n = (
        values[name] for name in ("published", "published_low", "published_high", "published_n")
    )
    for names in NEEDS[kind]:
        if all(math.isnan(values[name]) for name in names.split()):
            raise ConfigError(f"{where}: {' or '.join(names.split())}: a {kind} needs it")
    is_factor = kind in ("ratio", "words_ratio")
    smallest = 1.0 if is_factor else 0.0
    is_too_small = values["margin"] < smallest or (values["margin"] == smallest and kind != "exact")
    numbers = (published, low, values["least"], values["most"])
    # NaN is neither larger nor smaller than anything.
    for is_wrong, rule in (
        (math.isnan(low) != math.isnan(high),
         "published_low and published_high must both be given, or neither"),
        (low > published or high < published,
         "published must lie between published_low and published_high"),
        (values["least"] > values["most"], "least must not be above most"),
        (kind == "share" and not 0 <= published <= n,
         "published must be a count among published_n runs"),
        (kind == "correlation" and (abs(published) >= 1 or n < 4),
         "published must lie between -1 and 1, with published_n of at least 4"),
        (is_too_small, f"margin must be {'a factor above 1' if is_factor else 'above 0'}"),
        (is_factor and any(number <= 0 for number in numbers), f"a {kind} needs numbers above 0"),
    ):  # fmt: skip
        if is_wrong:
            raise ConfigError(f"{where}: {rule}")
