"""Table ``contraction_rates``: whether one kappa serves all settings of a network.

kappa is that of ``delay_runs``. The law is calibrated at weight decay 1 and learning rate 0.001:
one kappa and one squared norm at which runs grok predict the delays of all other settings, from
the norm when each run memorises (Khanh et al. 2026, arXiv:2605.18845).
"""

import math

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from circlet.analysis import log_frames, stats
from circlet.analysis.stats import Estimate
from circlet.collections.delays import survival
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate, names
from circlet.study.plan import Study

OPTIONAL_ROLES = ("gelu_decays", "transformer_decays")
TABLES = ("delay_runs",)
COLUMNS = [
    EXPERIMENT,
    column("system", "string", "the network"),
    *estimate("kappa", "mean over seeds, of all settings; n: seeds"),
    *estimate("kappa_ratio", "largest mean of a setting divided by the smallest; n: seeds"),
    *estimate("error", "mean of |predicted / delay - 1| in settings not calibrated on; n: seeds"),
    *COUNTS,
]
_CALIBRATED = {"learning_rate": 0.001, "weight_decay": 1.0}


def largest_ratio(runs: pd.DataFrame) -> Estimate:
    """Return the largest mean kappa of a setting divided by the smallest; n: seeds.

    From intervals of all settings that hold together (Bonferroni), so the choice of the extremes
    makes the interval wide, not wrong. Unknown if the smallest mean is not positive.
    """
    kappas = runs["kappa"].groupby([runs[name] for name in survival.NAMES])
    means = kappas.agg(["mean", "sem", "count"]).query("count > 2")
    n = runs["seed"].nunique()
    if len(means) < 2 or means["mean"].min() <= 0:
        return Estimate(n=n)
    half = means["sem"] * stdtrit(means["count"] - 1, 1 - 0.025 / len(means))
    low, high = means["mean"] - half, means["mean"] + half
    lowest = low.min()
    highest = high.max() / lowest if lowest > 0 else math.inf
    ratio = means["mean"].max() / means["mean"].min()
    return Estimate(ratio, max(low.max() / high.min(), 1.0), highest, n)


def errors(runs: pd.DataFrame) -> pd.Series:
    """Return the relative error of the predicted delay of each run that was not calibrated on."""
    is_calibrated = np.logical_and.reduce([runs[k] == v for k, v in _CALIBRATED.items()])
    kappa, norm = runs.loc[is_calibrated, ["kappa", "norm_grokked"]].mean()
    others = runs[~is_calibrated]
    rate = 2 * kappa * others["learning_rate"] * others["weight_decay"]
    delay = others["generalised_step"] - others["memorised_step"]
    predicted = 2 * np.log(others["norm_memorised"] / norm) / rate
    return (predicted / delay.where(delay > 0) - 1).abs()


def table(study: Study) -> Rows:
    """Yield a row per network."""
    for row, runs in log_frames.groups(study, "delay_runs", names(COLUMNS), OPTIONAL_ROLES):
        yield row | {
            **stats.mean(runs["kappa"].groupby(runs["seed"]).mean()).columns("kappa"),
            **largest_ratio(runs).columns("kappa_ratio"),
            **stats.mean(errors(runs).groupby(runs["seed"]).mean()).columns("error"),
        }
