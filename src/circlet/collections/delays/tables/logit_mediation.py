"""Table ``logit_mediation``: how much of the norm's effect on grokking the logit scale carries.

The norm is clamped at some multiples, and a temperature divides the logits (Khanh 2026,
arXiv:2606.18465). Runs with the largest norm take longer to grok. Their time is interpolated, over
temperatures, to the logit scale of the smallest norm at the lowest temperature: the share of the
added time that vanishes is carried by the logit scale; it is unknown if no temperature reaches that
scale. The scale is that at grokking; times are medians over seeds, and intervals are bootstrap
percentiles over seeds, of six at least: five values miss their median in 6 % of cases.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from circlet.analysis import association, log_frames, stats
from circlet.analysis.stats import Estimate
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate, names
from circlet.study.plan import Study

OPTIONAL_ROLES = ("clamped_norms", "clamped_norms_97")
TABLES = ("delay_runs",)
COLUMNS = [
    EXPERIMENT,
    column("system", "string", "the network"),
    column("loss", "string", "cross_entropy or squared_error"),
    column("residual", "string", "exact: gradient of the cross-entropy without rounding errors"),
    column("p", "int32", "modulus"),
    *estimate("norm_effect", "time with the largest norm divided by that with the smallest"),
    *estimate("recovered", "share of the added time that vanishes at the same logit scale"),
    *estimate("correlation", "r of logit scale and ln time over norms and temperatures; n: cells"),
    *estimate("norm_adds", "R2 of ln time by scale and norm, minus that by scale alone"),
    *estimate("scale_ratio", "logit scale at the lowest temperature divided by at the highest"),
    *COUNTS,
]
_SAMPLES, _FEWEST = 1000, 6
_PIVOTED = ["generalised_step", "logit_scale_grokked"]


def by_seed(runs: pd.DataFrame) -> pd.DataFrame:
    """Return times and logit scales: a row per seed, columns by quantity, norm and temperature."""
    return runs.pivot(index="seed", columns=["clamp_factor", "temperature"], values=_PIVOTED)


class Cells(NamedTuple):
    """Norms and temperatures at which most runs grok, with medians over seeds; 1-D arrays."""

    norm: np.ndarray
    temperature: np.ndarray
    time: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, wide: pd.DataFrame, rows: np.ndarray | slice = slice(None)) -> "Cells":
        """Return the cells of all seeds, rows of `by_seed`, or of some, perhaps repeated."""
        times, scales = (wide[name].to_numpy(float)[rows] for name in _PIVOTED)
        time = np.median(np.nan_to_num(times, nan=np.inf), axis=0)
        grokked = np.isfinite(time) & (time > 0)
        norm, temperature = np.array(wide[_PIVOTED[0]].columns.to_list(), dtype=float)[grokked].T
        return cls(norm, temperature, time[grokked], np.nanmedian(scales[:, grokked], axis=0))

    def raised(self) -> tuple[int, np.ndarray] | None:
        """Return the cell of least norm and temperature, and those of the largest norm; or None."""
        if not len(self.norm) or not np.ptp(self.norm):
            return None
        order = np.argsort(self.temperature, kind="stable")
        first, last = (order[self.norm[order] == end] for end in (self.norm.min(), self.norm.max()))
        lowest = self.temperature.min()
        is_whole = self.temperature[first[0]] == self.temperature[last[0]] == lowest
        return (int(first[0]), last) if is_whole else None


def norm_effect(cells: Cells) -> float:
    """Return the time with the largest norm divided by that with the smallest."""
    ends = cells.raised()
    return np.nan if ends is None else float(cells.time[ends[1][0]] / cells.time[ends[0]])


def recovered(cells: Cells) -> float:
    """Return the share of the norm's effect that vanishes at the logit scale of the smallest."""
    ends = cells.raised()
    if ends is None:
        return np.nan
    base, last = ends
    by_scale = last[np.argsort(cells.scale[last])]
    scales, times = cells.scale[by_scale], cells.time[by_scale]
    matched = np.interp(cells.scale[base], scales, times, left=np.nan, right=np.nan)
    added = cells.time[last[0]] - cells.time[base]
    return float((cells.time[last[0]] - matched) / added) if added else np.nan


def norm_adds(cells: Cells) -> float:
    """Return the share of the variance of ln time that the norm explains beyond the scale."""
    y = np.log(cells.time)
    if len(y) < 5 or not np.ptp(y):
        return np.nan

    def r2(*columns: np.ndarray) -> float:
        x = np.column_stack([np.ones(len(y)), *columns])
        return 1 - float((y - x @ np.linalg.lstsq(x, y)[0]).var() / y.var())

    return r2(cells.scale, cells.norm) - r2(cells.scale)


_VALUES = {"norm_effect": norm_effect, "recovered": recovered, "norm_adds": norm_adds}


def over_seeds(runs: pd.DataFrame) -> dict[str, Estimate]:
    """Return values of the cells, with percentiles of bootstrap samples of seeds."""
    wide, stream = by_seed(runs), np.random.default_rng(0)
    n = len(wide)
    samples = [Cells.of(wide, stream.integers(0, n, n)) for _ in range(_SAMPLES)]
    estimates = {}
    for name, value in _VALUES.items():
        drawn = np.array([value(cells) for cells in samples])
        finite = drawn[np.isfinite(drawn)]
        is_enough = len(finite) and n >= _FEWEST
        low, high = np.percentile(finite, [2.5, 97.5]) if is_enough else (np.nan, np.nan)
        estimates[name] = Estimate(value(Cells.of(wide)), float(low), float(high), n)
    return estimates


def scale_ratio(runs: pd.DataFrame) -> Estimate:
    """Return the ratio of logit scales at the lowest and highest temperature, at equal norm."""
    raised = runs[runs["clamp_factor"] == runs["clamp_factor"].max()]
    wide = raised.pivot(index="seed", columns="temperature", values="logit_scale_grokked")
    return stats.geometric_mean(wide.iloc[:, 0] / wide.iloc[:, -1])


def table(study: Study) -> Rows:
    """Yield a row per loss, kind of gradient and modulus."""
    for row, runs in log_frames.groups(study, "delay_runs", names(COLUMNS), OPTIONAL_ROLES):
        if runs["generalised_step"].notna().sum() < 2:
            continue
        cells = Cells.of(by_seed(runs))
        yield row | {
            **stats.columns(over_seeds(runs)),
            **association.correlation(cells.scale, np.log(cells.time)).columns("correlation"),
            **scale_ratio(runs).columns("scale_ratio"),
        }
