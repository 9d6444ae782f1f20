"""Explorer data of Ding et al.: coefficients of linear ODEs, and the stop "Survivors"."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from circlet.study import interventions

TABLES = ("ode_coefficients",)


def data(tables: Mapping[str, pd.DataFrame], trained: set[str]) -> dict[str, Any]:
    """Return Lasso's matrix of each run: a row per target, a column per source (0: constant)."""
    matrices: dict[str, Any] = {}
    if "ode_coefficients" in tables:
        rows = tables["ode_coefficients"]
        rows = rows[rows["run_id"].isin(trained) & (rows["method"] == "lasso")]
        for run_id, group in rows.groupby("run_id", sort=False):
            matrix = group.pivot(index="target", columns="source", values="coefficient")
            rounded = matrix.map("{:.5g}".format).astype(float)
            matrices[run_id] = rounded.to_numpy().tolist()
    return matrices


def tour(tables: Mapping[str, pd.DataFrame], played: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the stop "Survivors": the run with most frames; among equals, with fewest survivors.

    Runs with interventions, which may start with few circles, are left out.
    """
    networks = played[played["system"] == "embedding_mlp"]
    acts = [n for n in networks if "." in n or n.partition("_")[0] in interventions.names()]
    networks = networks[networks[acts].isna().all(axis=1)]
    networks = networks.assign(count=[0 if ks is None else len(ks) for ks in networks["survivors"]])
    networks = networks[networks["count"] > 0].sort_values(
        ["frames", "count", "run_id"], ascending=[False, True, True]
    )
    if networks.empty:
        return []
    run = networks.iloc[0]
    text = (
        f"A network in {run['d']:.0f} dimensions, for addition modulo {run['p']:.0f}, starts with "
        f"{(int(run['p']) - 1) // 2} circles, one for each frequency, all of similar size. What "
        f"survives is coloured (frequency {', '.join(map(str, run['survivors']))}); the others are "
        "grey."
    )
    place = {"run": run["run_id"], "step": int(run["last_step"])}
    return [{"title": "Survivors", "text": text, "panels": ["signals", "embedding"]} | place]
