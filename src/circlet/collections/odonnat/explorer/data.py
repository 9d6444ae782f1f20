"""The stops of the tour about transformers: a clustering head, its two phases, a loss spike."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from circlet.collections.odonnat.tables import snapshots
from circlet.formatting import number

TABLES = ("heads", "spikes")


def data(tables: Mapping[str, pd.DataFrame], trained: set[str]) -> dict[str, Any]:
    """Return nothing, because the panels only draw logs."""
    return {}


def tour(tables: Mapping[str, pd.DataFrame], played: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the stops that the played runs can show."""
    transformers = played[played["system"] == "sparse_transformer"]
    return [*_head(tables.get("heads"), transformers), *_spike(tables.get("spikes"), transformers)]


def _head(heads: pd.DataFrame | None, played: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the stops of a run whose head forms before the fit: at the end, and where it forms.

    Heads of plain sums come first, because their clusters are those of the numbers in the picture.
    """
    if heads is None:
        return []
    candidates = heads[heads["run_id"].isin(played["run_id"]) & heads["head_present"].eq(True)]
    run = snapshots.exemplar(candidates[candidates["kind"] == "uniform"])
    run = snapshots.exemplar(candidates) if run is None else run
    if run is None:
        return []
    forms, fits, epochs = run["structure_step"], run["fit_step"], float(run["steps_per_epoch"])
    last = played.set_index("run_id").loc[run["run_id"], "last_step"]
    if run["kind"] == "uniform":
        what = "with the same sum of their first tokens (the numbers in the picture)"
    else:
        what = "with the same weighted sum of their first tokens (the numbers are plain sums)"
    return [
        _stop("Clusters", run["run_id"], last, ["sequences", "attention"], (
            f"Another task: a transformer adds the first {run['k']} of {run['length']} tokens, "
            f"modulo {run['p']}. It gathers all sequences {what} in one tight cluster. Each "
            "cluster lies in the region of its answer (colours)."
        )),
        _stop("Two phases", run["run_id"], forms, ["sequences", "losses"], (
            f"First the clusters form: at epoch {number(forms / epochs)}, there is one for each "
            "sum. Then the regions move. Press Play to see this, up to epoch "
            f"{number(fits / epochs)}: each cluster lies in the region of its answer."
        ), int(fits)),
    ]  # fmt: skip


def _spike(spikes: pd.DataFrame | None, played: pd.DataFrame) -> list[dict[str, Any]]:
    if spikes is None:
        return []
    played_spikes = spikes[spikes["run_id"].isin(played["run_id"])]
    if played_spikes.empty:
        return []
    spike = played_spikes.sort_values(["height", "run_id"], ascending=[False, True]).iloc[0]
    until = spike["step"] + 10 * (spike["step"] - spike["before"])
    return [_stop("A loss spike", spike["run_id"], spike["step"], ["sequences", "losses"], (
        f"Long after the task is learned, the train loss jumps from {spike['baseline']:.2g} to "
        f"{spike['height']:.2g} nat (its unit) at step {spike['step']}. Press Play to see "
        "the network recover."
    ), until)]  # fmt: skip


def _stop(
    title: str, run_id: str, step: int, panels: list[str], text: str, until: int | None = None
) -> dict[str, Any]:
    stop = {"title": title, "run": run_id, "step": int(step), "panels": panels, "text": text}
    return stop if until is None else stop | {"until": int(until)}
