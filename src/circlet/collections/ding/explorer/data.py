"""Coefficients of the linear differential equations that the panel shows."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

TABLES = ("ode_coefficients",)


def data(tables: Mapping[str, pd.DataFrame], trained: set[str]) -> dict[str, Any]:
    """Matrices by run and method: a row per target, a column per source, of which 0 is constant."""
    found: dict[str, Any] = {}
    if "ode_coefficients" in tables:
        rows = tables["ode_coefficients"]
        rows = rows[rows["run_id"].isin(trained)]
        for (run_id, method), own in rows.groupby(["run_id", "method"], sort=False):
            matrix = own.pivot(index="target", columns="source", values="coefficient")
            rounded = matrix.map("{:.5g}".format).astype(float)
            found.setdefault(run_id, {})[method] = rounded.to_numpy().tolist()
    return found
