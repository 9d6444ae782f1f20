"""Table ``survival``: initial signal, final signal and survival of each frequency of each run."""

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.analysis import log_frames, spectrum
from circlet.collections.ding import survivors
from circlet.storage.schema import FREQUENCY, RUN_SEEDS, Frames, column
from circlet.study.plan import Study

SYSTEMS = ("embedding_mlp",)
LOGS = ("runs", "signals", "embeddings")
COLUMNS = [
    *RUN_SEEDS,
    FREQUENCY,
    column("initial_signal", "float64", "signal at step 0"),
    column("initial_gradient", "float64", "change of the signal in step 4 / initial signal"),
    column("early_gradients", pa.list_(pa.float64()), "the same in steps 1, 2, 3, 4"),
    column("final_signal", "float64", "signal at the last step"),
    column("circularity", "float64", "at step 0 (equation 5)", "0..1"),
    column("survived", "bool", "rule A: final signal > 2 x mean over all p frequencies"),
    column("survived_absolute", "bool", "rule B: final signal > 10"),
]


def run_rows(embeddings: pd.DataFrame, early: np.ndarray, last: int) -> dict[str, np.ndarray]:
    """The columns of one run, from rows of its log ``embeddings`` at its first and last step.

    ``early`` are its signals at steps 0..4, (steps, frequencies); fewer if the run is shorter.
    """
    at = embeddings["step"]
    start, end = (log_frames.vectors(embeddings[at == s]).astype(float) for s in (0, last))
    relative, absolute = survivors.survivors(end)
    k = spectrum.frequencies(len(end))
    gradients = survivors.relative_gradients(early)
    has_last = len(gradients) == len(survivors.GRADIENT_STEPS)
    return {
        "frequency": k,
        "initial_signal": early[0],
        "initial_gradient": gradients[-1] if has_last else np.full(len(k), np.nan),
        "early_gradients": list(gradients.T),
        "final_signal": spectrum.signals(end)[k],
        "circularity": survivors.circularity(start),
        "survived": relative,
        "survived_absolute": absolute,
    }


def table(study: Study) -> Frames:
    """A row per finished run and frequency."""
    for block in study.blocks:
        last = block.point.steps
        embeddings = log_frames.finished(block, "embeddings", (0, last))
        early = log_frames.finished(block, "signals", (0, *survivors.GRADIENT_STEPS))
        by_run = dict(list(early.groupby("run_id", sort=False)))
        for run_id, rows in embeddings.groupby("run_id", sort=False):
            wide = by_run[run_id].pivot(index="step", columns="frequency", values="signal")
            columns = run_rows(rows, wide.to_numpy(np.float64), last)
            yield pd.DataFrame(columns).assign(run_id=run_id)
