"""Published claims, as the ``claims.csv`` of each collection has them.

A row is a claim: ``claim`` (its name), ``source`` (table, figure or section), ``statement``; the
``table`` and ``column`` that answer it, in the row whose keys are those of the columns
``where.KEY``; its ``kind`` and the ``published`` value, with ``published_low``, ``published_high``
and ``published_n``; the ``role`` whose experiment is asked, the ``conditions`` under which the
published value holds, and others that it ``accepts``; the ``figure`` that shows it.
"""

from typing import TYPE_CHECKING

import pandas as pd

from circlet.errors import ConfigError

if TYPE_CHECKING:
    from circlet.study.plan import Study

COLUMNS = (
    "claim", "source", "statement", "kind", "role", "table", "column", "published",
    "published_low", "published_high", "published_n", "conditions", "accepts", "figure",
)  # fmt: skip
KINDS = ("count", "absent", "mean", "correlation", "range", "sign")
TEXTS = ("source", "statement", "conditions", "accepts", "figure")
WHERE = "where."


def read(study: "Study") -> pd.DataFrame:
    """The claims of all collections with a system of the study, in their order.

    Columns are those of the files, ``collection``, and ``keys``: the keys of the row that answers a
    claim, as a dict of typed values. Raises ConfigError if a file lacks a column.
    """
    frames = []
    for collection in study.used_collections:
        path = collection.folder / "claims.csv"
        if path.exists():
            frame = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str))  # some have none at all
            if lacking := set(COLUMNS) - set(frame.columns):
                raise ConfigError(f"{path}: has no column {min(lacking)!r}")
            if unknown := set(frame["kind"]) - set(KINDS):
                known = ", ".join(KINDS)
                raise ConfigError(f"{path}: no kind {min(unknown)!r} (there are: {known})")
            keys = [name for name in frame.columns if name.startswith(WHERE)]
            frame["keys"] = [
                {name.removeprefix(WHERE): value for name, value in row.items() if pd.notna(value)}
                for row in frame[keys].to_dict("records")
            ]
            frames.append(frame.drop(columns=keys).assign(collection=collection.name))
    if not frames:
        return pd.DataFrame(columns=[*COLUMNS, "collection", "keys"])
    every = pd.concat(frames, ignore_index=True).fillna(dict.fromkeys(TEXTS, ""))
    if twice := every["claim"][every["claim"].duplicated()].tolist():
        raise ConfigError(f"claims.csv: two collections have a claim {twice[0]!r}")
    return every


def text_of(keys: dict) -> str:
    """Keys of a row for a reader: ``weight_decay=0.6;sample=all``."""
    return ";".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in keys.items()
    )
