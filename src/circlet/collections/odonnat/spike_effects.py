"""Quantities of loss spikes that claims are about, from the rows of the table ``spikes``."""

import numpy as np
import pandas as pd

from circlet.analysis import stats
from circlet.analysis.stats import Estimate

RISEN = 1.25  # the factor by which the loss has risen if a spike has perhaps begun


def per_run(spikes: pd.DataFrame, runs: pd.Series) -> Estimate:
    """Mean number of spikes of some runs, by their run_id."""
    counts = spikes.groupby("run_id").size()
    return stats.mean_count(counts.reindex(runs).fillna(0))


def by_representation(spikes: pd.DataFrame) -> Estimate:
    """Share of the spikes, in per cent, that the representation makes and the MLP does not."""
    caused = spikes.dropna(subset=["cause"])
    by_run = (caused["cause"] == "representation").groupby(caused["run_id"])
    share = stats.ratio(100 * by_run.sum().to_numpy(float), by_run.size().to_numpy(float))
    return share.within(0, 100)


def over_runs(spikes: pd.DataFrame, column: str) -> Estimate:
    """Geometric mean of a column over the spikes of a run, then over runs with spikes."""
    return _over_runs(spikes[column], spikes)


def rise(spikes: pd.DataFrame, column: str) -> Estimate:
    """Divide a gain of the sequences that carry a spike by that in a quiet pair of steps."""
    return _over_runs(spikes[column] / spikes[f"{column}_quiet"], spikes)


def unbegun(spikes: pd.DataFrame) -> pd.Series:
    """Whether the loss had not risen before a spike."""
    return spikes["loss_before"] < RISEN * spikes["baseline"]


def sharpening(spikes: pd.DataFrame) -> Estimate:
    """Divide the rise of sharpness in ten logged steps before a spike by that in ten quiet ones.

    This leaves out spikes before which the loss has already risen, and the sharpness with it.
    """
    before = spikes["sharpness"] / spikes["sharpness_earlier"]
    ratios = before / (spikes["sharpness_earlier"] / spikes["sharpness_quiet"])
    return _over_runs(ratios.where(unbegun(spikes)), spikes)


def _over_runs(ratios: pd.Series, spikes: pd.DataFrame) -> Estimate:
    logs = np.log(ratios.where(ratios > 0).astype(float))
    return stats.geometric_mean(np.exp(logs.groupby(spikes["run_id"]).mean()))
