"""How many seeds would do: for each point and outcome, and each claim that is not decided.

From what the runs so far spread, the number of runs is worked out whose 95 % interval would have a
given half-width. It is an estimate: of six runs it may be wrong by a factor of two.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy.special import stdtrit

from circlet.analysis import claims, stats
from circlet.storage import parquet
from circlet.study import cost
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.swept import swept, value
from circlet.sweeps.tables import outcome_summary

MOST = 1_000_000  # runs; more is no use to anyone


@dataclass(frozen=True)
class Need:
    """What is known of an outcome at a point, or of a claim at its points, and what is wanted."""

    points: tuple[Point, ...]
    what: str  # the outcome, or the claim
    n: int  # runs now, at each point
    half: float  # half-width now; infinite if nothing bounds it
    wanted: float  # half-width
    needed: int | None  # runs at each point; None if no number would do
    why: str = ""  # in this case


def _least(holds: Callable[[int], bool]) -> int | None:
    """The smallest number of runs for which something holds, if any does."""
    high = 2
    while not holds(high):
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _half(estimate: float, low: float, high: float) -> float:
    """The longer half of an interval."""
    found = max(high - estimate, estimate - low)
    return math.inf if math.isnan(found) else found


def runs_needed(row: Any, wanted: float) -> int | None:
    """Runs for which the interval of a row of ``outcome_summary`` is so narrow; None if none is."""
    center, spread, n = row.estimate, row.sd, int(row.n_runs)
    if n == 0 or pd.isna(center):
        return None
    if row.kind == "share":
        # Of none or all of few runs the true share is somewhere between.
        share = (center * n + 2) / (n + 4)
        return _least(lambda m: _half(*stats.share(round(share * m), m)[:3]) <= wanted)
    if row.kind == "time":
        half = _half(center, row.low, row.high)
        return math.ceil(n * (half / wanted) ** 2) if math.isfinite(half) else None
    if not spread > 0:  # equal values, or a single one
        if row.kind == "count":
            return _least(lambda m: _half(*stats.mean_count([center] * m)[:3]) <= wanted)
        ends = outcome_summary.described(row).bounds
        return _least(lambda m: _half(*stats.bounded_mean([center] * m, *ends)[:3]) <= wanted)
    return _least(lambda m: float(stdtrit(m - 1, 0.975)) * spread / math.sqrt(m) <= wanted)


def usual_half_width(rows: pd.DataFrame) -> float:
    """The half-width that is wanted if none is given: 0.05 of shares, a tenth of the largest."""
    if math.isfinite(outcome_summary.described(rows.iloc[0]).bounds[1]):
        return 0.05
    return 0.1 * float(rows["estimate"].abs().max())


def of_outcomes(study: Study, wanted: Mapping[str, float], only: Iterable[str] = ()) -> list[Need]:
    """Every point and outcome; ``wanted`` are half-widths by outcome, if they are not the usual."""
    summary = parquet.read_table(study, "outcome_summary")
    points = {point.key: point for point in study.points}
    found = []
    for (_, name), rows in summary.groupby(["experiment", "outcome"], sort=False):
        if only and name not in only:
            continue
        width = wanted.get(name, usual_half_width(rows))
        for row in rows.itertuples():
            half = _half(row.estimate, row.low, row.high)
            why, needed = "", runs_needed(row, width) if width > 0 else None
            if needed is None:
                why = "no run has it" if row.n_runs == 0 else "more than a million runs"
                if row.kind == "time" and row.n_runs:
                    why = "fewer than half of the runs get there: more steps, not more seeds"
            point = points[row.experiment, row.point]
            found.append(Need((point,), name, int(row.n_runs), half, width, needed, why))
    return found


def of_claims(study: Study) -> list[Need]:
    """Every claim that the scorecard does not decide, and is about an experiment of the study."""
    known = claims.read(study).set_index("claim")
    card = parquet.read_table(study, "scorecard").set_index("claim")
    found = []
    for name, row in card[card["verdict"].isin(["undecided", "not_run"])].iterrows():
        claim = known.loc[name]
        if claim["role"] not in study.reproduce:
            continue
        every = study.experiment(study.reproduce[claim["role"]])
        of = {k: v for k, v in claim["keys"].items() if k in every[0].keys}
        points = tuple(p for p in every if all(value(p, k) == v for k, v in of.items()))
        n = max((point.count for point in points), default=0)
        half, needed, why = _half(row["measured"], row["low"], row["high"]), None, row["note"]
        if not points:
            why = f"no point has {claims.text_of(of)}"
        elif row["verdict"] == "not_run":
            why = why or "the study does not have its runs"
        elif claim["kind"] == "sign" and row["measured"]:
            # The interval must leave zero out.
            needed = math.ceil(n * (half / abs(row["measured"])) ** 2) if half < math.inf else None
        elif row["n_runs"]:
            needed = math.ceil(n * 5 / row["n_runs"])  # what it is about occurs so often
        if needed and needed > MOST:
            needed, why = None, "more than a million runs: the effect is about zero"
        wanted = abs(row["measured"]) if claim["kind"] == "sign" else math.nan
        found.append(Need(points, f"claim {name}", n, half, wanted, needed, why))
    return found


def rounded(point: Point, needed: int) -> int:
    """The next number of seeds that fills its blocks: no later edit changes them."""
    size = point.block_size
    if not point.settings["block"] and size == 50 and needed <= 20:
        return 20
    return -(-needed // size) * size


def counts(needs: Iterable[Need]) -> dict[tuple[str, str], int]:
    """Seeds for each point that has too few, by its key."""
    found: dict[tuple[str, str], int] = {}
    for need in needs:
        for point in need.points:
            if need.needed and need.needed > point.count:
                wanted = rounded(point, need.needed)
                found[point.key] = max(found.get(point.key, 0), wanted)
    return found


@dataclass(frozen=True)
class Wanted:
    """What would do for all that falls short."""

    seeds: dict[str, dict[str, Any]]  # `seeds` of the experiments that need more
    runs: int  # further ones
    blocks: int
    seconds: float  # of CPU time, expected


def wanted(study: Study, needs: Iterable[Need]) -> Wanted:
    """Seeds that would do, with what they cost: more for all points, or for some."""
    needed = counts(needs)
    seeds: dict[str, dict[str, Any]] = {}
    runs, blocks, seconds = 0, 0, 0.0
    for point in study.points:
        if further := max(needed.get(point.key, 0) - point.count, 0):
            block = point.blocks[0]
            runs += further
            blocks += -(-further // point.block_size)
            seconds += cost.cpu_seconds(block) / block.count * further
    for name in {experiment: None for experiment, _ in needed}:
        points = study.experiment(name)
        own = {p.name: max(needed.get(p.key, 0), p.count) for p in points}
        least, parameters = min(own.values()), swept(points)
        more = [
            {"where": {q.name: _plain(value(p, q.name)) for q in parameters}, "count": own[p.name]}
            for p in points
            if own[p.name] > least
        ]
        seeds[name] = {"count": least} | ({"more": more} if more else {})
    return Wanted(seeds, runs, blocks, seconds)


def _plain(x: Any) -> Any:
    """A value as YAML has it."""
    if isinstance(x, tuple):
        return list(x)
    return int(x) if isinstance(x, float) and x == int(x) else x
