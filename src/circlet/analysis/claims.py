"""The published claims of a study (`circlet.study.claims_file`), as a frame."""

from typing import TYPE_CHECKING

import pandas as pd

from circlet.study.claims_file import COLUMNS, WHERE, claims

if TYPE_CHECKING:
    from circlet.study.plan import Study

TEXTS = ("source", "statement", "conditions", "accepts", "figure")
NAMES = ["claim", "table", "role", "figure"]


def read(study: "Study") -> pd.DataFrame:
    """The claims of all collections with a system of the study, in their order.

    Columns are those of the files, ``collection``, and ``keys``: the keys of the row that answers a
    claim, as a dict of typed values. Raises ConfigError if a file is not one of claims.
    """
    frames = []
    for collection in study.used_collections:
        if found := claims(collection):
            file = collection.folder / "claims.csv"
            frame = pd.read_csv(file, dtype=dict.fromkeys(TEXTS, str))  # some have none at all
            frame[NAMES] = pd.DataFrame(found)[NAMES]
            keys = [name for name in frame.columns if name.startswith(WHERE)]
            frame["keys"] = [
                {name.removeprefix(WHERE): value for name, value in row.items() if pd.notna(value)}
                for row in frame[keys].to_dict("records")
            ]
            frames.append(frame.drop(columns=keys).assign(collection=collection.name))
    if not frames:
        return pd.DataFrame(columns=[*COLUMNS, "collection", "keys"])
    return pd.concat(frames, ignore_index=True).fillna(dict.fromkeys(TEXTS, ""))


def text_of(keys: dict) -> str:
    """Keys of a row for a reader: ``weight_decay=0.6;sample=all``."""
    return ";".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in keys.items()
    )
