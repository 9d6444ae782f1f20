"""Coefficients of the laws that all runs of a setting share, for the explorer's predictions."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

TABLES = ("shared_law_terms",)


def data(tables: Mapping[str, pd.DataFrame], trained: set[str]) -> dict[str, Any]:
    """Return laws by setting ("experiment/point") and name: a dictionary per window of steps."""
    laws: dict[str, Any] = {}
    rows = tables.get("shared_law_terms", pd.DataFrame())
    keys = ["experiment", "point", "law", "first_step", "last_step"]
    for (experiment, point, law, first, last), terms in rows.groupby(keys) if len(rows) else ():
        window = {
            "first": int(first),
            "last": int(last),
            "coefficients": dict(zip(terms["term"], terms["coefficient"], strict=True)),
        }
        laws.setdefault(f"{experiment}/{point}", {}).setdefault(law, []).append(window)
    return laws
