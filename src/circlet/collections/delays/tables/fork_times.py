"""Table ``fork_times``: time from a fork to grokking against the weight decay after the fork.

Runs continue from the same state with different weight decays (intervention ``change``). Runs that
had grokked before the fork are left out; R2 is that of constant / decay, over decays at which nine
tenths of the runs grok. Intervals of R2 are bootstrap percentiles over seeds.
"""

import numpy as np
import pandas as pd

from circlet.analysis import log_frames
from circlet.analysis.stats import Estimate
from circlet.collections.delays import survival
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate, names
from circlet.study.plan import Study

OPTIONAL_ROLES = ("mlp_forks", "transformer_forks")
TABLES = ("milestones",)
COLUMNS = [
    EXPERIMENT,
    column("system", "string", "the network"),
    column("p", "int32", "modulus"),
    column("change_step", "int32", "step of the fork"),
    *estimate("exponent", "b of remaining time ~ (weight decay)^-b; n: seeds"),
    *estimate("r2_means", "R2 of constant / decay, of the means over seeds"),
    *estimate("r2_runs", "R2 of constant / decay, of single runs"),
    column("n_grokked", "int32", "runs that have grokked after the fork"),
    *COUNTS,
]
_SAMPLES = 1000


def remaining(rows: pd.DataFrame) -> pd.DataFrame:
    """Return seed, later weight decay as x, and ends of the time from the fork to grokking."""
    times = survival.ends(rows, "grok", "change_weight_decay")
    left = times[["after", "by"]].sub(rows["change_step"].astype(float), axis=0)
    return survival.usable(times.assign(**left)).assign(after=lambda t: t["after"].clip(lower=0))


def r2(x: np.ndarray, y: np.ndarray) -> float:
    """Return R2 of y = constant / x."""
    if len(y) < 3 or not np.ptp(y):
        return np.nan
    constant = (y / x).sum() / (1 / x**2).sum()
    return 1 - float(((y - constant / x) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def r2s(times: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """Return R2 of means over seeds, and of runs, each with its bootstrap interval."""
    seen = times["by"].notna().groupby(times["x"]).mean()
    wide = times[times["x"].map(seen) >= 0.9].pivot(index="seed", columns="x", values="by")
    x, y = wide.columns.to_numpy(float), wide.to_numpy(float)
    n, stream = len(y), np.random.default_rng(0)
    if n < 3 or len(x) < 3:
        return Estimate(n=n), Estimate(n=n)

    def both(rows: np.ndarray) -> tuple[float, float]:
        valid = ~np.isnan(rows)
        return r2(x, np.nanmean(rows, 0)), r2(np.broadcast_to(x, rows.shape)[valid], rows[valid])

    drawn = np.array([both(y[stream.integers(0, n, n)]) for _ in range(_SAMPLES)])
    ends = np.nanpercentile(drawn, [2.5, 97.5], axis=0).T
    of_means, of_runs = (
        Estimate(value, float(low), float(high), n)
        for value, (low, high) in zip(both(y), ends, strict=True)
    )
    return of_means, of_runs


def table(study: Study) -> Rows:
    """Yield a row per role, modulus and step of the fork."""
    for row, runs in log_frames.groups(study, "milestones", names(COLUMNS), OPTIONAL_ROLES):
        times = remaining(runs)
        of_means, of_runs = r2s(times)
        yield row | {
            **survival.exponent(times).columns("exponent"),
            **of_means.columns("r2_means"),
            **of_runs.columns("r2_runs"),
            "n_grokked": int(times["by"].notna().sum()),
        }
