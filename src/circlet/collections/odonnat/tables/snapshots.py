"""Table ``snapshots``: arrays of the networks in the figures, layer by layer.

two_phases
    of the successful runs whose head forms before the fit, the one with the median number of steps
    in between: ``before`` the head (25 epochs), ``structured``, halfway to the fit
    (``classifying``), and ``fitted``; ``initial`` and ``last`` are its ends;
feed_forward, normalisation
    the highest spike with that amplifier, its logged steps ``before`` and ``after`` it began.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from circlet.analysis import log_frames
from circlet.collections.odonnat import layer_projections
from circlet.storage import parquet
from circlet.storage.schema import ARRAY, RUN_SEEDS, STEP, column
from circlet.study.plan import Study

ROLES = ("heads",)
LOGS = ("parameters",)
TABLES = ("heads", "spikes")
COLUMNS = [
    *RUN_SEEDS,
    STEP,
    column("role", "string", "what it stands for"),
    column("moment", "string", "which of its steps it is"),
    column("name", "string", "name of the array, as in layer_projections.py"),
    *ARRAY,
]


def exemplar(heads: pd.DataFrame) -> pd.Series | None:
    """Return the run that shows the two phases; None if no run has them."""
    runs = heads[heads["success"].astype(bool)].dropna(subset=["structure_step", "fit_step"])
    gap = runs["fit_step"] - runs["structure_step"]
    ranked = runs.assign(gap=gap)[gap > 0].sort_values(["gap", "run_id"])
    return ranked.iloc[(len(ranked) - 1) // 2] if len(ranked) else None


def moments(run: pd.Series, last: int) -> dict[str, int]:
    """Return the steps shown of the run of the two phases, by moment."""
    structured, fitted = int(run["structure_step"]), int(run["fit_step"])
    return {
        "initial": 0,
        "before": max(0, structured - 25 * int(run["steps_per_epoch"])),
        "structured": structured,
        "classifying": (structured + fitted) // 2,
        "fitted": fitted,
        "last": last,
    }


def chosen(
    heads: pd.DataFrame, spikes: pd.DataFrame, last: int
) -> Iterator[tuple[str, str, str, int]]:
    """Yield run, role, moment and step of every snapshot."""
    run = exemplar(heads)
    if run is not None:
        for moment, step in moments(run, last).items():
            yield run["run_id"], "two_phases", moment, step
    for amplifier in ("feed_forward", "normalisation"):
        amplified = spikes[spikes["amplifier"] == amplifier]
        if len(amplified):
            spike = amplified.sort_values(["height", "run_id"], ascending=[False, True]).iloc[0]
            yield spike["run_id"], amplifier, "before", int(spike["before"])
            yield spike["run_id"], amplifier, "after", int(spike["step"])


def table(study: Study) -> Iterator[dict]:
    """A row per snapshot and array."""
    heads, spikes = (parquet.read_table(study, name, "heads") for name in ("heads", "spikes"))
    runs = log_frames.runs(study)
    for run_id, role, moment, step in chosen(heads, spikes, study.points[0].steps):
        block, seed = runs[run_id]
        logged_steps = np.array(block.point.steps_logged("parameters"))
        logged = int(logged_steps[np.abs(logged_steps - step).argmin()])
        weights = parquet.read_weights(block, [logged])
        weights = {name: array[0, seed - block.first] for name, array in weights.items()}
        drawn = layer_projections.view(weights, block.point.parameters)
        shown = {"run_id": run_id, "role": role, "moment": moment, "step": logged}
        yield from (row | shown for row in layer_projections.rows(drawn))
