"""Estimates of the seeds needed for each point and outcome, and for each undecided claim.

The half-width of a 95 % interval is about inverse to the square root of the number of runs, or to
the number of runs if all agree. From six runs the estimate may be wrong by a factor of two.
Intervals of times also include the distance of logged steps, which only a denser log makes smaller.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from circlet.analysis import claims, stats, verdicts
from circlet.storage import parquet
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.swept import Swept, is_written, swept, value
from circlet.sweeps.tables import outcome_summary

MIN_RUNS, MAX_RUNS = 6, 1_000_000  # runs to propose; fewer than six do not bound a median
_MEANS = ("mean", "count")  # kinds of outcomes
# Distance of a value from zero, in half-widths of its interval, at which four in five
# repetitions of the study would exclude zero.
_POWER = (stats.Z + 0.8416) / stats.Z


@dataclass(frozen=True)
class Need:
    """Present and target precision of an outcome at a point, or of a claim at its points."""

    points: tuple[Point, ...]
    what: str  # the outcome, or the claim
    n: int  # runs now, at each point
    half: float  # half-width now; infinite if unbounded
    target: float  # half-width
    needed: int | None  # runs to plan at each point; None if no number would do
    why: str = ""  # reason, if `needed` is None


def runs_needed(n: int, half: float, width: float, sd: float = math.nan) -> tuple[int | None, str]:
    """Return how many runs give a half-width; None and the reason if no number does.

    n runs give ``half``. ``sd`` is the standard deviation of their values, if known.
    """
    if math.isinf(half) and n < MIN_RUNS:
        return MIN_RUNS, ""
    if math.isinf(half):
        return None, "too few runs have it (more steps may help), or their values are all equal"
    if not width > 0:
        return None, "all estimates are 0: say how narrow it should be with --half-width"
    needed = n * min(half / width, MAX_RUNS) ** (1 if sd == 0 else 2)
    if needed > MAX_RUNS:
        return None, "it needs more than a million runs"
    return max(MIN_RUNS, math.ceil(needed)), ""


def usual_half_width(rows: pd.DataFrame) -> float:
    """Return the default half-width: 0.05 for shares, else a tenth of the largest estimate.

    For counts it is at least 0.1: one more in ten runs.
    """
    outcome = outcome_summary.described(rows.iloc[0])
    if math.isfinite(outcome.reach):
        return 0.05
    return max(0.1 * float(rows["estimate"].abs().max()), 0.1 if outcome.kind == "count" else 0.0)


def of_outcomes(
    study: Study, widths: Mapping[str, float], asked: Collection[tuple[str, str]]
) -> list[Need]:
    """Return the needs at all points, for the pairs (experiment, outcome) in ``asked``.

    ``widths`` are half-widths by outcome, where they differ from `usual_half_width`.
    """
    summary = parquet.read_table(study, "outcome_summary")
    runs = parquet.read_table(study, "runs", columns=["run_id"])["run_id"]
    ended = runs.str.split("/").str[:2].map(tuple).value_counts().to_dict()  # with any status
    points = {point.key: point for point in study.points}
    needs = []
    for (experiment, name), rows in summary.groupby(["experiment", "outcome"], sort=False):
        if (experiment, name) not in asked:
            continue
        width = widths.get(name, usual_half_width(rows))
        for row in rows.itertuples():
            half = max(row.high - row.estimate, row.estimate - row.low)  # the longer half
            half = now = math.inf if math.isnan(half) else half
            if row.kind in _MEANS and row.sd > 0:  # without Student's factor, large for few runs
                now = stats.Z * row.sd / math.sqrt(row.n_runs)
            # The same share of runs will lack a value, such as runs that diverge.
            n = ended.get((experiment, row.point), 0)
            needed, why = runs_needed(n, now, width, row.sd)
            point = points[row.experiment, row.point]
            needs.append(Need((point,), name, int(row.n_runs), half, width, needed, why))
    return needs


def of_claims(study: Study) -> list[Need]:
    """Return the needs of claims of the study's roles that are neither reproduced nor deviating."""
    by_name = claims.read(study).set_index("claim")
    card = parquet.read_table(study, "scorecard").set_index("claim")
    needs = []
    for name, row in card[
        ~card["verdict"].isin([verdicts.REPRODUCED, verdicts.DEVIATES])
    ].iterrows():
        claim = by_name.loc[name]
        if claim["role"] not in study.reproduce:
            continue
        in_experiment = study.experiment(study.reproduce[claim["role"]])
        of = {k: v for k, v in claim["keys"].items() if k in in_experiment[0].keys}
        points = tuple(
            p for p in in_experiment if all(is_written(value(p, k), v) for k, v in of.items())
        )
        planned = max((point.count for point in points), default=0)
        done = min(1.0, row["n_runs"] / row["n_planned"]) if row["n_planned"] else 1.0
        n = round(planned * done)  # runs at each point
        half, width, fewer = _widths(claim, row)
        needed, why = None, row["note"]
        if not points:
            why = f"no point has {claims.text_of(of)}"
        elif row["verdict"] == verdicts.NOT_RUN:
            why = why or "the study does not have its runs"
        elif fewer > 0 and math.isfinite(half):
            needed = math.ceil(n / fewer**2)
        elif 0 < row["measured_n"] < verdicts.MIN_UNITS:
            needed = math.ceil(planned * verdicts.MIN_UNITS / row["measured_n"])  # at the same rate
        elif row["verdict"] in (verdicts.COMPATIBLE, verdicts.DIFFERS):
            why = "the published sample alone is too small to tell, however many runs are made"
        else:
            why = why or "its interval cannot be worked out from these runs"
        if needed and needed > MAX_RUNS:
            needed, why = None, "it needs more than a million runs: it lies at the bar"
        needs.append(Need(points, f"claim {name}", n, half, width, needed, why))
    return needs


def _widths(claim: Any, row: Any) -> tuple[float, float, float]:
    """Return the judged half-width, the target, and the factor by which our interval must shrink.

    For a claim with a value, the interval must not cross the end of the margin (the width of the
    published interval stays). For a claim in words, it must exclude the threshold in four of five
    repetitions.
    """
    low, high = row["measured_low"], row["measured_high"]
    if row["verdict"] in (verdicts.COMPATIBLE, verdicts.DIFFERS):
        ours = verdicts.on_scale(claim, _measured(claim, row))
        published = verdicts.published(claim, ours)
        half, other = ((estimate.high - estimate.low) / 2 for estimate in (ours, published))
        room = abs(verdicts.margin(claim) - abs(ours.value - published.value))
        width = math.sqrt(room**2 - other**2) if room > other else 0.0
        return half, width, min(width / half, 1.0)
    bars = [x for x in (row["same_low"], row["same_high"]) if not math.isnan(x)]
    if not (claim["kind"].startswith("words") and bars and math.isfinite(high - low)):
        return math.inf if math.isnan(high) else (high - low) / 2, math.nan, 0.0
    bar = min(bars, key=lambda x: abs(x - row["measured"]))
    side = low if row["measured"] > bar else high
    half, away = abs(row["measured"] - side), abs(row["measured"] - bar)
    return half, away / _POWER, away / _POWER / half if half else 0.0


def _measured(claim: Any, row: Any) -> stats.Estimate:
    """Return our estimate; for a share, as a count of our own runs."""
    measured = stats.Estimate.of_row(row, "measured")
    scale = measured.n / claim["published_n"] if claim["kind"] == "share" else 1.0
    return measured.times(scale)._replace(n=measured.n)


def rounded(point: Point, needed: int) -> int:
    """Round seeds up to a number that fills blocks of the point, so that later edits keep these."""
    size = point.block_size
    if not point.settings.block and size == 50 and needed <= 20:
        return 20
    return -(-needed // size) * size


def more_seeds(study: Study, needs: Iterable[Need]) -> dict[str, dict[str, Any]]:
    """Return the key `seeds` of each experiment that needs more, for all points or for some."""
    needed: dict[tuple[str, str], int] = {}
    for need in needs:
        for point in need.points:
            if need.needed and need.needed > point.count:
                needed[point.key] = max(needed.get(point.key, 0), rounded(point, need.needed))
    seeds: dict[str, dict[str, Any]] = {}
    for name in {experiment: None for experiment, _ in needed}:
        points = study.experiment(name)
        places = [_where(point, swept(points)) for point in points]
        # Points that `where` cannot distinguish, such as shared seeds, get equal numbers of seeds.
        largest: dict[str, int] = {}
        for point, where in zip(points, places, strict=True):
            candidates = (largest.get(str(where), 0), needed.get(point.key, 0), point.count)
            largest[str(where)] = max(candidates)
        fewest = min(largest.values())
        more = {
            str(where): {"where": where, "count": largest[str(where)]}
            for where in places
            if largest[str(where)] > fewest
        }
        seeds[name] = {"count": fewest} | ({"more": [*more.values()]} if more else {})
    return seeds


def _where(point: Point, parameters: list[Swept]) -> dict[str, Any]:
    return {q.name: _plain(value(point, q.name)) for q in parameters if q.name in point.values}


def _plain(x: Any) -> Any:
    if isinstance(x, tuple):
        return list(x)
    return int(x) if isinstance(x, float) and x == int(x) else x
