"""Table ``logit_mediation``: how much of the norm's effect on grokking the logit scale carries.

The norm is clamped at some multiples, and a temperature divides the logits (Khanh 2026,
arXiv:2606.18465). Runs with the largest norm take longer to grok. Their time is interpolated, over
temperatures, to the logit scale of the smallest norm at the lowest temperature: the share of the
added time that vanishes is carried by the logit scale. The scale is that at grokking; times are
medians over seeds, and intervals are bootstrap percentiles over seeds.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.analysis import association, stats
from circlet.analysis.stats import Estimate
from circlet.collections.delays import settings
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, column, estimate
from circlet.study.plan import Study

ROLES = ("clamped_norms",)
TABLES = ("delay_runs",)
COLUMNS = [
    EXPERIMENT,
    column("system", pa.string(), "the network"),
    column("loss", pa.string(), "cross_entropy or squared_error"),
    column("residual", pa.string(), "exact: gradient of the cross-entropy without rounding errors"),
    column("p", pa.int32(), "modulus"),
    *estimate("norm_effect", "time with the largest norm divided by that with the smallest"),
    *estimate("recovered", "share of the added time that vanishes at the same logit scale"),
    *estimate("correlation", "r of logit scale and ln time over norms and temperatures; n: cells"),
    *estimate("norm_adds", "R2 of ln time by scale and norm, minus that by scale alone"),
    *estimate("scale_ratio", "logit scale at the lowest temperature divided by at the highest"),
    *COUNTS,
]
_CELL = ["clamp_factor", "temperature"]


def cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Return median time and logit scale of each norm and temperature where most runs grok."""
    time = runs["generalised_step"].fillna(np.inf)
    medians = runs.assign(time=time).groupby(_CELL)[["time", "logit_scale_grokked"]].median()
    return medians[np.isfinite(medians["time"])].reset_index()


def _ends(table: pd.DataFrame) -> tuple[pd.Series, pd.DataFrame] | None:
    """Return the cell of least norm and temperature, and those of the largest norm; or None."""
    (least, most), lowest = np.quantile(table["clamp_factor"], [0, 1]), table["temperature"].min()
    base = table[(table["clamp_factor"] == least) & (table["temperature"] == lowest)]
    raised = table[table["clamp_factor"] == most].sort_values("temperature")
    is_whole = len(base) and raised["temperature"].min() == lowest and most > least
    return (base.iloc[0], raised) if is_whole else None


def norm_effect(table: pd.DataFrame) -> float:
    """Return the time with the largest norm divided by that with the smallest."""
    ends = _ends(table)
    return np.nan if ends is None else ends[1]["time"].iloc[0] / ends[0]["time"]


def recovered(table: pd.DataFrame) -> float:
    """Return the share of the norm's effect that vanishes at the logit scale of the smallest."""
    ends = _ends(table)
    if ends is None:
        return np.nan
    base, raised = ends
    by_scale = raised.sort_values("logit_scale_grokked")
    scale, time = by_scale["logit_scale_grokked"], by_scale["time"]
    matched = np.interp(base["logit_scale_grokked"], scale, time)
    added = raised["time"].iloc[0] - base["time"]
    return (raised["time"].iloc[0] - matched) / added if added else np.nan


def norm_adds(table: pd.DataFrame) -> float:
    """Return the share of the variance of ln time that the norm explains beyond the scale."""
    if len(table) < 5:
        return np.nan
    y = np.log(table["time"].to_numpy())

    def r2(*names: str) -> float:
        x = np.column_stack([np.ones(len(y)), *(table[name] for name in names)])
        return 1 - float((y - x @ np.linalg.lstsq(x, y)[0]).var() / y.var())

    return r2("logit_scale_grokked", "clamp_factor") - r2("logit_scale_grokked")


def over_seeds(runs: pd.DataFrame, value: Callable[[pd.DataFrame], float]) -> Estimate:
    """Return a value of the cells, with percentiles of 1000 bootstrap samples of seeds."""
    by_seed = {seed: rows for seed, rows in runs.groupby("seed")}
    seeds, stream = np.array(list(by_seed)), np.random.default_rng(0)
    drawn = [
        value(cells(pd.concat([by_seed[seed] for seed in stream.choice(seeds, len(seeds))])))
        for _ in range(1000)
    ]
    ends = np.nanpercentile(drawn, [2.5, 97.5]) if np.isfinite(drawn).any() else [np.nan] * 2
    return Estimate(value(cells(runs)), *map(float, ends), len(seeds))


def scale_ratio(runs: pd.DataFrame) -> Estimate:
    """Return the ratio of logit scales at the lowest and highest temperature, at equal norm."""
    raised = runs[runs["clamp_factor"] == runs["clamp_factor"].max()]
    wide = raised.pivot(index="seed", columns="temperature", values="logit_scale_grokked")
    return stats.geometric_mean(wide.iloc[:, 0] / wide.iloc[:, -1])


def table(study: Study) -> Iterator[dict]:
    """Yield a row per loss, kind of gradient and modulus."""
    every = parquet.read_table(study, "delay_runs")
    names = ["loss", "residual", "p"]
    for keys, runs, planned in settings.by(study, "clamped_norms", every, names):
        if runs["generalised_step"].notna().sum() < 2:
            continue
        of_cells = cells(runs)
        scale, time = of_cells["logit_scale_grokked"], np.log(of_cells["time"])
        yield {
            "experiment": study.reproduce["clamped_norms"],
            **keys,
            **over_seeds(runs, norm_effect).columns("norm_effect"),
            **over_seeds(runs, recovered).columns("recovered"),
            **association.correlation(scale, time).columns("correlation"),
            **over_seeds(runs, norm_adds).columns("norm_adds"),
            **scale_ratio(runs).columns("scale_ratio"),
            "n_runs": len(runs),
            "n_planned": planned,
        }
