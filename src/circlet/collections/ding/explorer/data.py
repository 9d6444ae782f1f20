"""Explorer data of Ding et al.: coefficients of linear ODEs, and the stop "Survivors"."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from circlet.study.interventions import INTERVENTIONS

TABLES = ("ode_coefficients", "survival", "forecast")


def data(tables: Mapping[str, pd.DataFrame], trained: set[str]) -> dict[str, Any]:
    """Return matrices by run and method: a row per target, a column per source (0: constant)."""
    matrices: dict[str, Any] = {}
    if "ode_coefficients" in tables:
        rows = tables["ode_coefficients"]
        rows = rows[rows["run_id"].isin(trained)]
        for (run_id, method), group in rows.groupby(["run_id", "method"], sort=False):
            matrix = group.pivot(index="target", columns="source", values="coefficient")
            rounded = matrix.map("{:.5g}".format).astype(float)
            matrices.setdefault(run_id, {})[method] = rounded.to_numpy().tolist()
    return matrices


def tour(tables: Mapping[str, pd.DataFrame], played: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the stop "Survivors": the run with most frames; among equals, with fewest survivors.

    Runs with interventions, which may start with few circles, are left out.
    """
    networks = played[played["system"] == "embedding_mlp"]
    acts = [name for name in networks if "." in name or name.partition("_")[0] in INTERVENTIONS]
    networks = networks[networks[acts].isna().all(axis=1)]
    networks = networks.assign(count=[0 if ks is None else len(ks) for ks in networks["survivors"]])
    networks = networks[networks["count"] > 0].sort_values(
        ["frames", "count", "run_id"], ascending=[False, True, True]
    )
    if networks.empty:
        return []
    run = networks.iloc[0]
    ks = [str(k) for k in run["survivors"]]
    n_circles = (int(run["p"]) - 1) // 2
    named = f"frequency {ks[0]}" if len(ks) == 1 else f"frequencies {', '.join(ks)}"
    survive, coloured = f"{len(ks)} of them survive", "Their signals are"
    if len(ks) == 1:
        survive, coloured = "one of them survives", "Its signal is"
    decided = _decided(tables.get("forecast"), run["weight_decay"])
    text = (
        f"A network with more dimensions starts with {n_circles} circles, one for each frequency, "
        f"all of similar size. At the end {survive} ({named}). {coloured} "
        f"coloured below; the others are grey.{decided}"
    )
    stop = {"title": "Survivors", "run": run["run_id"], "step": int(run["last_step"]), "text": text}
    return [stop]


def _decided(forecast: pd.DataFrame | None, weight_decay: float) -> str:
    """Return a sentence on how well signals up to step 10 predict survival; empty if unknown."""
    if forecast is None:
        return ""
    scores = forecast[forecast["weight_decay"] == weight_decay].dropna(subset=["auc"])
    right = scores.drop_duplicates("step").set_index("step")["auc"]
    if not {0, 10} <= set(right.index):
        return ""
    first, later = (f"{100 * right[step]:.0f} % of the time" for step in (0, 10))
    return (
        " Survival is decided early. Given a survivor and another frequency, a forecast from the "
        f"signals of step 0 identifies the survivor {first}; a forecast from the signals up to "
        f"step 10, {later}."
    )
