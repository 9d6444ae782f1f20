"""Table ``musat_claims``: our values for the claims that Mușat makes in words.

``claims.csv`` has the thresholds between which they must lie. Intervals are at 95 %. Only the
paper's own values of weight decay and f_a count, whatever else the study sweeps.
"""

import math
from collections.abc import Callable

import pandas as pd

from circlet.analysis import association, contrasts, stats
from circlet.analysis.stats import Estimate
from circlet.storage import parquet
from circlet.storage.schema import EFFECTS, Rows
from circlet.study.plan import Study

OPTIONAL_ROLES = ("table1", "table2", "weight_magnitudes")
TABLES = ("structures",)
OPTIONAL_TABLES = ("weight_magnitudes",)
COLUMNS = EFFECTS

_DECAYS = (0.0, 0.3, 0.6, 1.0)  # of table 1; figure 6 spans the same range
_ALIGNMENTS = (0.5, 1.0, 2.0)  # of table 2


def circles_beat_others(runs: pd.DataFrame) -> Estimate:
    """Accuracy of circles minus that of the others, in points, at equal weight decay."""
    strata = [
        tuple(
            100 * group.loc[kind, "test_accuracy"].to_numpy(float)
            for kind in (group["is_circle"], ~group["is_circle"])
        )
        for _, group in runs.groupby("weight_decay")
    ]
    n_circles = int(runs["is_circle"].sum())
    rarer = min(n_circles, len(runs) - n_circles)
    return contrasts.stratified_difference(strata)._replace(n=rarer)


def weakest_correlation(runs: pd.DataFrame) -> Estimate:
    """R of imperfections and accuracy, at the weight decay where it is least negative."""
    by_decay = [
        association.correlation(group["imperfections"], group["test_accuracy"])
        for _, group in runs[~runs["is_circle"]].groupby("weight_decay")
    ]
    decided = [r for r in by_decay if not math.isnan(r.high)]
    if not decided or len(decided) < len(by_decay):
        return Estimate(n=min((r.n for r in by_decay), default=0))
    return max(decided, key=lambda r: r.high)


def _ends(runs: pd.DataFrame, by: str, values: tuple[float, ...]) -> list[pd.DataFrame]:
    return [runs[runs[by] == value] for value in (values[0], values[-1])]


def more_circles(runs: pd.DataFrame, by: str, values: tuple[float, ...]) -> Estimate:
    """Return the share of circles at the largest minus that at the smallest value, in per cent."""
    few, many = _ends(runs, by, values)
    shares = (*stats.counted(many["is_circle"]), *stats.counted(few["is_circle"]))
    difference = contrasts.share_difference(*shares).times(100)
    return difference._replace(n=min(len(few), len(many)))


def fewer_imperfections(runs: pd.DataFrame) -> Estimate:
    """Mean imperfections of non-circles at weight decay 0 divided by those at 1."""
    lowest, highest = _ends(runs[~runs["is_circle"]], "weight_decay", _DECAYS)
    return contrasts.quotient(*(stats.mean(some["imperfections"]) for some in (lowest, highest)))


def shrinkage(magnitudes: pd.DataFrame, what: str, layer: str = "hidden") -> Estimate:
    """Magnitude of a layer at weight decay 0 divided by that at 1; geometric mean over seeds."""
    runs = magnitudes[magnitudes["layer"] == layer].set_index("seed")
    lowest, highest = (end[what] for end in _ends(runs, "weight_decay", _DECAYS))
    return stats.geometric_mean(lowest / highest)  # NaN for seeds that are not at both ends


def biases_shrink_more(magnitudes: pd.DataFrame) -> Estimate:
    """How many times larger mean |b_h| / mean |W_h| is at weight decay 0 than at 1."""
    ratio = magnitudes["mean_abs_bias"] / magnitudes["mean_abs_weight"]
    return shrinkage(magnitudes.assign(ratio=ratio), "ratio")


# Identifier, role, values of the swept parameter that select the runs, effect.
_CLAIMS: list[tuple[str, str, tuple[float, ...], Callable[[pd.DataFrame], Estimate]]] = [
    ("circles_beat_others", "table1", _DECAYS, circles_beat_others),
    ("imperfections_hurt", "table1", _DECAYS, weakest_correlation),
    ("decay_makes_circles", "table1", (0.0, 1.0),
     lambda t: more_circles(t, "weight_decay", _DECAYS)),
    ("decay_mends_grids", "table1", (0.0, 1.0), fewer_imperfections),
    ("alignment_makes_circles", "table2", (0.5, 2.0),
     lambda t: more_circles(t, "f_a", _ALIGNMENTS)),
    # Runs are paired by seed, so only those at one end are counted.
    ("decay_limits_weights", "weight_magnitudes", (1.0,),
     lambda t: shrinkage(t, "mean_abs_weight")),
    ("decay_limits_biases", "weight_magnitudes", (1.0,), lambda t: shrinkage(t, "mean_abs_bias")),
    ("biases_limited_more", "weight_magnitudes", (1.0,), biases_shrink_more),
]  # fmt: skip


def table(study: Study) -> Rows:
    """Yield a row per claim whose role the study has."""
    for claim, role, values, effect in _CLAIMS:
        if role not in study.reproduce:
            continue
        by, published = ("f_a", _ALIGNMENTS) if role == "table2" else ("weight_decay", _DECAYS)
        name = "weight_magnitudes" if role == "weight_magnitudes" else "structures"
        runs = parquet.read_table(study, name, role)
        points = study.experiment(study.reproduce[role])
        yield {
            "claim": claim,
            **effect(runs[runs[by].isin(published)]).columns("effect"),
            "n_runs": runs.loc[runs[by].isin(values), "run_id"].nunique(),
            "n_planned": sum(p.count for p in points if p.parameters[by] in values),
        }
