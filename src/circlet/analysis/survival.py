"""Table ``survival``: which circles of a run survive, and what they were at initialisation."""

import numpy as np
import pandas as pd

from circlet import tables
from circlet.analysis import gather, spectrum
from circlet.plan import Study

SYSTEMS = ("embedding_mlp",)
LOGS = ("runs", "signals", "embeddings")
TABLES = ()

GRADIENT_STEPS = (1, 2, 3, 4)  # the last is the initial gradient, as in Ding et al., figure 7


def relative_gradients(signals: np.ndarray) -> np.ndarray:
    """(signal(s) - signal(s - 1)) / signal(0) at steps s = 1, 2, ... (Ding et al., 3.2.2).

    NaN for a frequency that an intervention has removed.

    Parameters
    ----------
    signals
        Shape (steps, frequencies), of steps 0, 1, 2, ...
    """
    start = np.where(signals[0] > 1e-3 * signals[0].max(), signals[0], np.nan)
    return np.diff(signals, axis=0) / start


def run_rows(embeddings: pd.DataFrame, early: np.ndarray, last: int) -> dict[str, np.ndarray]:
    """The columns of one run.

    Parameters
    ----------
    embeddings
        Rows of the log ``embeddings`` of the run at the first and the last step.
    early
        Signals at steps 0..4, (steps, frequencies); fewer if the run is shorter.
    last
        Its last step.
    """
    start, end = (
        np.stack(embeddings[embeddings["step"] == step].sort_values("token")["vector"]).astype(
            np.float64
        )
        for step in (0, last)
    )
    relative, absolute = spectrum.survivors(end)
    k = spectrum.frequencies(len(end))
    gradients = relative_gradients(early)
    has_last = len(gradients) == len(GRADIENT_STEPS)
    return {
        "frequency": k,
        "initial_signal": early[0],
        "initial_gradient": gradients[-1] if has_last else np.full(len(k), np.nan),
        "early_gradients": list(gradients.T),
        "final_signal": np.linalg.norm(spectrum.coefficients(end)[k], axis=1),
        "circularity": spectrum.circularity(start),
        "survived": relative,
        "survived_absolute": absolute,
    }


def table(study: Study) -> pd.DataFrame:
    """A row per finished run and frequency."""
    columns = tables.names("survival")
    frames = []
    for block in study.blocks:
        last = block.point.steps
        embeddings = gather.finished(block, "embeddings", study, (0, last))
        early = gather.finished(block, "signals", study, (0, *GRADIENT_STEPS))
        by_run = dict(list(early.groupby("run_id", sort=False)))
        for run_id, rows in embeddings.groupby("run_id", sort=False):
            wide = by_run[run_id].pivot(index="step", columns="frequency", values="signal")
            found = run_rows(rows, wide.to_numpy(np.float64), last)
            frames.append(pd.DataFrame(found).assign(run_id=run_id))
    return gather.keyed(frames, study, columns)
