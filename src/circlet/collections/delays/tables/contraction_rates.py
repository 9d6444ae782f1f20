"""Table ``contraction_rates``: whether one kappa serves all settings of a network.

kappa is that of ``delay_runs``. The law is calibrated at weight decay 1 and learning rate 0.001:
one kappa and one squared norm at which runs grok predict the delays of all other settings, from
the norm when each run memorises (Khanh et al. 2026, arXiv:2605.18845).
"""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.special import stdtrit

from circlet.analysis import stats
from circlet.analysis.stats import Estimate
from circlet.collections.delays import settings
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("gelu_decays", "transformer_decays")
TABLES = ("delay_runs",)
COLUMNS = [
    EXPERIMENT,
    column("system", pa.string(), "the network"),
    *estimate("kappa", "geometric mean over seeds of all settings; n: seeds"),
    *estimate("kappa_ratio", "largest mean of a setting divided by the smallest; n: seeds"),
    *estimate("error", "mean of |predicted / delay - 1| in settings not calibrated on; n: seeds"),
    *COUNTS,
]
_SETTING = ["p", "learning_rate", "weight_decay"]
_CALIBRATED = {"learning_rate": 0.001, "weight_decay": 1.0}


def largest_ratio(runs: pd.DataFrame) -> Estimate:
    """Return the largest geometric mean of kappa of a setting divided by the smallest; n: seeds.

    From intervals of all settings that hold together (Bonferroni), so the choice of the extremes
    makes the interval wide, not wrong.
    """
    logs = np.log(runs["kappa"].where(runs["kappa"] > 0)).groupby([runs[n] for n in _SETTING])
    means = logs.agg(["mean", "sem", "count"]).query("count > 2")
    n = runs["seed"].nunique()
    if len(means) < 2:
        return Estimate(n=n)
    half = means["sem"] * stdtrit(means["count"] - 1, 1 - 0.025 / len(means))
    low, high = means["mean"] - half, means["mean"] + half
    ends = (np.ptp(means["mean"]), max(low.max() - high.min(), 0.0), high.max() - low.min())
    return Estimate(*(math.exp(end) for end in ends), n)


def errors(runs: pd.DataFrame) -> pd.Series:
    """Return the relative error of the predicted delay of each run that was not calibrated on."""
    is_calibrated = np.logical_and.reduce([runs[k] == v for k, v in _CALIBRATED.items()])
    known = runs[is_calibrated & (runs["kappa"] > 0)]
    kappa, norm = (math.exp(np.log(known[k]).mean()) for k in ("kappa", "norm_grokked"))
    others = runs[~is_calibrated]
    rate = 2 * kappa * others["learning_rate"] * others["weight_decay"]
    delay = others["generalised_step"] - others["memorised_step"]
    predicted = 2 * np.log(others["norm_memorised"] / norm) / rate
    return (predicted / delay.where(delay > 0) - 1).abs()


def table(study: Study) -> Iterator[dict]:
    """Yield a row per network."""
    every = parquet.read_table(study, "delay_runs")
    for role in OPTIONAL_ROLES:
        for keys, runs, planned in settings.by(study, role, every, []):
            of_seeds = np.log(runs["kappa"].where(runs["kappa"] > 0)).groupby(runs["seed"])
            yield {
                "experiment": study.reproduce[role],
                **keys,
                **stats.mean(of_seeds.mean()).mapped(math.exp).columns("kappa"),
                **largest_ratio(runs).columns("kappa_ratio"),
                **stats.mean(errors(runs).groupby(runs["seed"]).mean()).columns("error"),
                "n_runs": len(runs),
                "n_planned": planned,
            }
