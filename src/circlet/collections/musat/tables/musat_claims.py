"""Table ``musat_claims``: what Mușat says in words, as numbers whose sign decides.

Every claim is turned into an effect that is positive if the claim holds, with a 95 % interval. Only
the paper's own values of weight decay and f_a count, whatever else the study sweeps.
"""

import math

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet.analysis import stats
from circlet.analysis.stats import Estimate
from circlet.storage import parquet
from circlet.storage.schema import column, estimate
from circlet.study.plan import Study

OPTIONAL_ROLES = ("table1", "table2", "weight_magnitudes")
TABLES = ("structures",)
OPTIONAL_TABLES = ("weight_magnitudes",)
COLUMNS = [
    column("claim", pa.string(), "identifier of the claim"),
    *estimate("effect", "positive if the claim holds; its unit is in musat_claims.py"),
    column("n_planned", pa.int32(), "runs planned at these points"),
]

_DECAYS = (0.0, 0.3, 0.6, 1.0)  # of table 1; figure 6 spans the same range
_ALIGNMENTS = (0.5, 1.0, 2.0)  # of table 2


def circles_beat_others(runs: pd.DataFrame) -> Estimate:
    """Accuracy of circles minus that of the others, in points, at equal weight decay."""
    strata = [
        tuple(
            100 * here.loc[kind, "validation_accuracy"].to_numpy(float)
            for kind in (here["is_circle"], ~here["is_circle"])
        )
        for _, here in runs.groupby("weight_decay")
    ]
    return stats.stratified_difference(strata)


def weakest_anticorrelation(runs: pd.DataFrame) -> Estimate:
    """Minus r of imperfections and accuracy, at the weight decay where the claim is weakest."""
    by_decay = [
        stats.correlation(
            here["imperfections"].to_numpy(float), here["validation_accuracy"].to_numpy(float)
        )
        for _, here in runs[~runs["is_circle"]].groupby("weight_decay")
    ]
    decided = [r for r in by_decay if not math.isnan(r.high)]
    if not decided or len(decided) < len(by_decay):
        return Estimate()
    weakest = max(decided, key=lambda r: r.high)
    return Estimate(-weakest.value, -weakest.high, -weakest.low, weakest.n)


def _ends(runs: pd.DataFrame, by: str, values: tuple[float, ...]) -> list[pd.DataFrame]:
    """The runs at the first and at the last of the paper's values."""
    return [runs[runs[by] == value] for value in (values[0], values[-1])]


def more_circles(runs: pd.DataFrame, by: str, values: tuple[float, ...]) -> Estimate:
    """Share of circles at the paper's largest value minus that at its least, in per cent."""
    few, many = _ends(runs, by, values)
    *difference, n = stats.share_difference(
        int(many["is_circle"].sum()), len(many), int(few["is_circle"].sum()), len(few)
    )
    return Estimate(*(100 * value for value in difference), n)


def fewer_imperfections(runs: pd.DataFrame) -> Estimate:
    """Mean imperfections of non-circles at weight decay 0 minus those at 1."""
    least, most = _ends(runs[~runs["is_circle"]], "weight_decay", _DECAYS)
    return stats.mean_difference(*(e["imperfections"].to_numpy(float) for e in (least, most)))


def shrinkage(magnitudes: pd.DataFrame, what: str) -> Estimate:
    """By how many per cent a magnitude of the hidden layer is smaller at weight decay 1 than at 0.

    The logarithm of the ratio is averaged over runs of the same seed, then turned into per cent.
    """
    hidden = magnitudes[magnitudes["layer"] == "hidden"].set_index("seed")
    least, most = (end[what] for end in _ends(hidden, "weight_decay", _DECAYS))
    logs = np.log(least / most).dropna()  # seeds at both ends
    *ends, n = stats.mean(logs.to_numpy())
    return Estimate(*(100 * (1 - math.exp(-value)) for value in ends), n)


def biases_shrink_more(magnitudes: pd.DataFrame) -> Estimate:
    """By how many per cent the ratio of mean |b_h| to mean |W_h| shrinks."""
    ratio = magnitudes["mean_abs_bias"] / magnitudes["mean_abs_weight"]
    return shrinkage(magnitudes.assign(ratio=ratio), "ratio")


def table(study: Study) -> pd.DataFrame:
    """A row per claim that the study can speak to."""

    def of(role: str, name: str, by: str, values: tuple[float, ...]) -> pd.DataFrame:
        frame = parquet.read_table(study, name, role)
        return frame[frame[by].isin(values)]

    def planned(role: str, by: str, values: tuple[float, ...]) -> int:
        points = study.experiment(study.reproduce[role])
        return sum(p.count for p in points if p.parameters[by] in values)

    rows: list[dict] = []

    def add(claim: str, effect: Estimate, n_planned: int) -> None:
        rows.append({"claim": claim, **effect.columns("effect"), "n_planned": n_planned})

    if "table1" in study.reproduce:
        runs = of("table1", "structures", "weight_decay", _DECAYS)
        every = planned("table1", "weight_decay", _DECAYS)
        ends = planned("table1", "weight_decay", (_DECAYS[0], _DECAYS[-1]))
        add("circles_beat_others", circles_beat_others(runs), every)
        add("imperfections_hurt", weakest_anticorrelation(runs), every)
        add("decay_makes_circles", more_circles(runs, "weight_decay", _DECAYS), ends)
        add("decay_mends_grids", fewer_imperfections(runs), ends)
    if "table2" in study.reproduce:
        runs = of("table2", "structures", "f_a", _ALIGNMENTS)
        ends = planned("table2", "f_a", (_ALIGNMENTS[0], _ALIGNMENTS[-1]))
        add("alignment_makes_circles", more_circles(runs, "f_a", _ALIGNMENTS), ends)
    if "weight_magnitudes" in study.reproduce:
        sizes = of("weight_magnitudes", "weight_magnitudes", "weight_decay", _DECAYS)
        pairs = planned("weight_magnitudes", "weight_decay", _DECAYS[-1:])
        add("decay_limits_weights", shrinkage(sizes, "mean_abs_weight"), pairs)
        add("decay_limits_biases", shrinkage(sizes, "mean_abs_bias"), pairs)
        add("biases_limited_more", biases_shrink_more(sizes), pairs)
    return pd.DataFrame(rows)
