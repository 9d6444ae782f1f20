"""Table ``musat_claims``: what Mușat says in words, as numbers whose sign decides.

Every claim is turned into an effect that is positive if the claim holds, with a 95 % interval.
"""

import math

import numpy as np
import pandas as pd

from circlet import io
from circlet.analysis import stats
from circlet.plan import Study

OPTIONAL_ROLES = ("table1", "table2", "weight_magnitudes")
TABLES = ("structures",)
OPTIONAL_TABLES = ("weight_magnitudes",)


def circles_beat_others(runs: pd.DataFrame) -> stats.Estimate:
    """Accuracy of circles minus others, in points, at equal weight decay.

    Differences within a weight decay are averaged with the weights of the least variance.
    """
    parts = []
    for _, here in runs.groupby("weight_decay"):
        circle = 100 * here.loc[here["is_circle"], "validation_accuracy"]
        other = 100 * here.loc[~here["is_circle"], "validation_accuracy"]
        if len(circle) > 1 and len(other) > 1:
            variance = circle.var() / len(circle) + other.var() / len(other)
            parts.append((circle.mean() - other.mean(), variance))
    if not parts or not all(variance > 0 for _, variance in parts):
        return stats.NONE
    weights = np.array([1 / variance for _, variance in parts])
    center = float(np.average([difference for difference, _ in parts], weights=weights))
    half = stats.Z / math.sqrt(weights.sum())
    return center, center - half, center + half


def weakest_anticorrelation(runs: pd.DataFrame) -> stats.Estimate:
    """Minus r of imperfections and accuracy of non-circles, where it is weakest."""
    by_decay = [
        stats.correlation(here["imperfections"].to_numpy(), here["validation_accuracy"].to_numpy())
        for _, here in runs[~runs["is_circle"]].groupby("weight_decay")
    ]
    r, low, high = max(
        by_decay, key=lambda e: math.inf if math.isnan(e[0]) else e[0], default=stats.NONE
    )
    return -r, -high, -low


def _ends(runs: pd.DataFrame, by: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    return runs[runs[by] == runs[by].min()], runs[runs[by] == runs[by].max()]


def more_circles(runs: pd.DataFrame, by: str) -> stats.Estimate:
    """Share of circles at the largest value of a parameter minus that at the smallest, in %."""
    few, many = _ends(runs, by)
    if few.empty or many.empty:
        return stats.NONE
    difference = stats.share_difference(
        int(many["is_circle"].sum()), len(many), int(few["is_circle"].sum()), len(few)
    )
    return tuple(100 * value for value in difference)


def fewer_imperfections(runs: pd.DataFrame) -> stats.Estimate:
    """Mean imperfections of non-circles at the least weight decay minus those at the largest."""
    least, most = _ends(runs[~runs["is_circle"]], "weight_decay")
    return stats.mean_difference(
        least["imperfections"].to_numpy(float), most["imperfections"].to_numpy(float)
    )


def shrinkage(magnitudes: pd.DataFrame, what: str) -> stats.Estimate:
    """By how many per cent a magnitude is smaller at the largest decay than at the least.

    The logarithm of the ratio is averaged over runs of the same seed, then turned into per cent.
    """
    hidden = magnitudes[magnitudes["layer"] == "hidden"].set_index("seed")
    least, most = _ends(hidden, "weight_decay")
    logs = np.log(least[what] / most[what].reindex(least.index)).dropna()
    return tuple(100 * (1 - math.exp(-value)) for value in stats.mean(logs.to_numpy()))


def biases_shrink_more(magnitudes: pd.DataFrame) -> stats.Estimate:
    """By how many per cent the ratio of mean |b_h| to mean |W_h| shrinks."""
    ratio = magnitudes["mean_abs_bias"] / magnitudes["mean_abs_weight"]
    return shrinkage(magnitudes.assign(ratio=ratio), "ratio")


def _row(claim: str, runs: pd.DataFrame, planned: int, effect: stats.Estimate) -> dict:
    n = runs["run_id"].nunique()
    return {"claim": claim, **stats.columns("effect", effect), "n_runs": n, "n_planned": planned}


def table(study: Study) -> pd.DataFrame:
    """A row per claim that the study can speak to."""

    def of(role: str, table: str) -> tuple[pd.DataFrame, int]:
        experiment = study.reproduce[role]
        frame = io.read_table(study, table)
        planned = sum(block.count for p in study.experiment(experiment) for block in p.blocks)
        return frame[frame["experiment"] == experiment], planned

    rows = []
    if "table1" in study.reproduce:
        runs, planned = of("table1", "structures")
        rows += [
            _row("circles_beat_others", runs, planned, circles_beat_others(runs)),
            _row("imperfections_hurt", runs, planned, weakest_anticorrelation(runs)),
            _row("decay_makes_circles", runs, planned, more_circles(runs, "weight_decay")),
            _row("decay_mends_grids", runs, planned, fewer_imperfections(runs)),
        ]
    if "table2" in study.reproduce:
        runs, planned = of("table2", "structures")
        rows.append(_row("alignment_makes_circles", runs, planned, more_circles(runs, "f_a")))
    if "weight_magnitudes" in study.reproduce:
        sizes, planned = of("weight_magnitudes", "weight_magnitudes")
        rows += [
            _row("decay_limits_weights", sizes, planned, shrinkage(sizes, "mean_abs_weight")),
            _row("decay_limits_biases", sizes, planned, shrinkage(sizes, "mean_abs_bias")),
            _row("biases_limited_more", sizes, planned, biases_shrink_more(sizes)),
        ]
    columns = ["claim", "effect", "effect_low", "effect_high", "n_runs", "n_planned"]
    return pd.DataFrame(rows, columns=columns)
