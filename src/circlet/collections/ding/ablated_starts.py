"""Claims on runs that start from some of their circles alone (Ding et al., figure 12)."""

import math

import numpy as np
import pandas as pd

from circlet.analysis import stats
from circlet.analysis.stats import Estimate

LEVEL = 3e-7  # nat; agrees with the paper's test loss of two circles, 1e-7
CYCLE = 2.0  # factor by which the loss rises in a spike, and falls before and after it


def kept(rows: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return the rows of runs that start from only n circles, the strongest or random ones."""
    return rows[(rows.reindex(columns=["keep_strongest", "keep_random"]) == n).any(axis=1)]


def spikes(loss: np.ndarray) -> int:
    """Count how often a loss rises by the factor `CYCLE` between two falls by that factor."""
    count, is_falling, extreme = 0, False, -math.inf  # highest since a rise, lowest since a fall
    for value in loss:
        if is_falling and value >= CYCLE * extreme:
            is_falling, extreme, count = False, value, count + 1
        elif not is_falling and CYCLE * value <= extreme:
            is_falling, extreme = True, value
        else:
            extreme = min(extreme, value) if is_falling else max(extreme, value)
    return count - (count > 0 and not is_falling)  # the last spike has not decayed yet


def in_cycles(losses: pd.DataFrame) -> Estimate:
    """Return the share of runs whose test loss has at least three spikes."""
    by_run = losses.sort_values("step").groupby("run_id")["test_loss"]
    counts = by_run.apply(lambda loss: spikes(loss.to_numpy()))
    return stats.share(*stats.counted(counts >= 3), method="exact")


def ends_low(losses: pd.DataFrame) -> Estimate:
    """Return the share of runs whose last test loss is below `LEVEL`."""
    last = losses.sort_values("step").groupby("run_id")["test_loss"].last()
    return stats.share(*stats.counted(last < LEVEL), method="exact")


def sooner(losses: pd.DataFrame, level: float = LEVEL) -> Estimate:
    """Divide the steps to a test loss of ``level`` from two circles by those from all; over seeds.

    A run that does not reach this loss counts with its last step. A seed of which no run reaches it
    does not count.
    """
    steps = losses["step"].where(losses["test_loss"] <= level, math.inf)
    circles = losses["keep_strongest"].fillna(0)
    first = steps.groupby([losses["seed"], circles]).min().unstack().reindex(columns=[0, 2])
    both = first.dropna()
    reached = both[np.isfinite(both).any(axis=1)].clip(upper=losses["step"].max())
    return stats.geometric_mean(reached[2] / reached[0])
