"""The stops of the tour about transformers: a clustering head, its two phases, a loss spike."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

TABLES = ("heads", "spikes")


def data(tables: Mapping[str, pd.DataFrame], trained: set[str]) -> dict[str, Any]:
    """Nothing, because its panels only draw logs."""
    return {}


def tour(tables: Mapping[str, pd.DataFrame], played: pd.DataFrame) -> list[dict[str, Any]]:
    """As far as runs show them."""
    own = played[played["system"] == "sparse_transformer"]
    return [*_head(tables.get("heads"), own), *_spike(tables.get("spikes"), own)]


def _head(heads: pd.DataFrame | None, played: pd.DataFrame) -> list[dict[str, Any]]:
    """The head that forms latest after the first drop of the loss, which shows both phases best."""
    if heads is None:
        return []
    columns = ["run_id", "head_present", "drop_step", "structure_step", "steps_per_epoch"]
    known = played[["run_id", "last_step", "frames"]].merge(heads[columns], on="run_id")
    known = known[(known["head_present"] == True) & known["structure_step"].notna()]  # noqa: E712
    if known.empty:
        return []
    known = known.assign(phase=(known["structure_step"] - known["drop_step"]).fillna(-1))
    order = ["frames", "phase", "run_id"]
    run = known.sort_values(order, ascending=[False, False, True]).iloc[0]
    forms, drops = run["structure_step"], run["drop_step"]
    epochs = float(run["steps_per_epoch"])
    stops = [_stop("A clustering head", run["run_id"], run["last_step"], (
        "A transformer gathers all sequences with the same sum of their first tokens in one tight "
        "cluster. Each cluster lies in the region of its answer, so no sequence is left in doubt."
    ))]  # fmt: skip
    if pd.notna(drops) and drops < forms:
        stops.append(_stop("Two phases", run["run_id"], forms, (
            f"The loss first drops at epoch {drops / epochs:.3g}, while the clusters are still "
            f"loose. The head forms here, at epoch {forms / epochs:.3g}: play on to see the "
            "clusters tighten."
        )))  # fmt: skip
    return stops


def _spike(spikes: pd.DataFrame | None, played: pd.DataFrame) -> list[dict[str, Any]]:
    """The spike that rises most above the loss before it."""
    if spikes is None:
        return []
    known = spikes[spikes["run_id"].isin(played["run_id"])]
    if known.empty:
        return []
    known = known.assign(rise=known["height"] / known["baseline"])
    spike = known.sort_values(["rise", "run_id"], ascending=[False, True]).iloc[0]
    return [_stop("A loss spike", spike["run_id"], spike["step"], (
        f"Long after the task is learned, the train loss jumps from {spike['baseline']:.2g} to "
        f"{spike['height']:.2g} nat at step {spike['step']}. Step on to see whether the clusters "
        "move, and how fast the network recovers."
    ))]  # fmt: skip


def _stop(title: str, run_id: str, step: int, text: str) -> dict[str, Any]:
    return {"title": title, "run": run_id, "step": int(step), "text": text}
