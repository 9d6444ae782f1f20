"""Estimates of the seeds needed for each point and outcome, and for each undecided claim.

From the spread of the runs so far, the number of runs is estimated for which the 95 % interval
would have a given half-width. From six runs the estimate may be wrong by a factor of two.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from msgspec import structs
from scipy.special import stdtrit

from circlet.analysis import claims, stats, verdicts
from circlet.config.experiment import MoreSeeds
from circlet.storage import parquet
from circlet.study import cost
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.swept import Swept, swept, value
from circlet.sweeps.tables import outcome_summary

MOST = 1_000_000  # most runs to propose
_FEWEST_TIMES = 6  # least number of runs that bound a median, see `stats.median_time`
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
    wanted: float  # half-width
    needed: int | None  # runs to plan at each point; None if no number would do
    why: str = ""  # reason, if `needed` is None


def _least(holds: Callable[[int], bool]) -> int | None:
    """Return the smallest number of runs for which ``holds`` is true, if there is any."""
    high = 2
    while not holds(high):
        if high == MOST:
            return None
        high = min(2 * high, MOST)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _half(estimate: float, low: float, high: float) -> float:
    """Return the longer half of an interval; infinite if it is unbounded."""
    longer = max(high - estimate, estimate - low)
    return math.inf if math.isnan(longer) else longer


def runs_needed(row: Any, width: float, gap: float = 0.0) -> tuple[int | None, str]:
    """Return the runs needed for a half-width in a row of ``outcome_summary``, or None and why.

    ``gap``: for times, the number of steps between logged steps, below which more runs do not help.
    """
    center, spread, n = row.estimate, row.sd, int(row.n_runs)
    if n == 0:
        return None, "no run has it"
    if row.kind == "time" and _few_get_there(row):
        return None, "too few of the runs get there: more steps, not more seeds"
    if not width > 0:
        return None, "all estimates are 0: say how narrow it should be with --half-width"
    if row.kind == "time":
        return _times_needed(row, width, gap)
    if row.kind == "share":
        # If none or all of few runs have it, the true share may still be in between.
        share = (center * n + 2) / (n + 4)
        needed = _least(lambda m: _half(*stats.share(round(share * m), m)[:3]) <= width)
    elif spread > 0:
        needed = _least(lambda m: float(stdtrit(m - 1, 0.975)) * spread / math.sqrt(m) <= width)
    elif row.kind == "count":
        needed = _least(lambda m: _half(*stats.mean_count([center] * m)[:3]) <= width)
    elif math.isfinite((outcome := outcome_summary.described(row)).reach):
        ends = outcome.bounds
        needed = _least(lambda m: _half(*stats.bounded_mean([center] * m, *ends)[:3]) <= width)
    else:
        return None, "a single value, or equal ones, do not tell how runs spread"
    return needed, "" if needed else "it needs more than a million runs"


def _few_get_there(row: Any) -> bool:
    return bool(pd.isna(row.estimate) or (row.n_runs >= _FEWEST_TIMES and pd.isna(row.high)))


def _times_needed(row: Any, width: float, gap: float) -> tuple[int | None, str]:
    """Return `runs_needed` of a time, whose median has an interval from six runs on."""
    if width <= gap:
        return None, "its steps are logged too rarely: log `curves` more often, or ask for less"
    if row.n_runs < _FEWEST_TIMES:
        return _FEWEST_TIMES, ""
    beyond = max(_half(row.estimate, row.low, row.high) - gap, 0.0) / (width - gap)
    return max(_FEWEST_TIMES, math.ceil(row.n_runs * beyond**2)), ""


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
    summary, gaps = parquet.read_table(study, "outcome_summary"), _gaps(study)
    ended = _ended(study)
    points = {point.key: point for point in study.points}
    needs = []
    for (experiment, name), rows in summary.groupby(["experiment", "outcome"], sort=False):
        if (experiment, name) not in asked:
            continue
        width = widths.get(name, usual_half_width(rows))
        for row in rows.itertuples():
            half = _half(row.estimate, row.low, row.high)
            gap = gaps.get(f"{row.experiment}/{row.point}/{name}", 0.0)
            needed, why = runs_needed(row, width, gap)
            if needed:  # the same share of runs will lack a value, such as runs that diverge
                needed = math.ceil(needed * ended[row.experiment, row.point] / row.n_runs)
            if needed and needed > MOST:
                needed, why = None, "it needs more than a million runs: most end without it"
            point = points[row.experiment, row.point]
            needs.append(Need((point,), name, int(row.n_runs), half, width, needed, why))
    return needs


def _gaps(study: Study) -> dict[str, float]:
    """Return the median distance of the logged steps between which times lie."""
    outcomes = parquet.read_table(study, "outcomes")
    where = outcomes["run_id"].str.rsplit("/", n=1).str[0] + "/" + outcomes["outcome"]
    gaps = (outcomes["value"] - outcomes["after"]).groupby(where).median()
    return gaps.dropna().to_dict()


def _ended(study: Study) -> dict[tuple[str, str], int]:
    """Return the number of runs of each point that have ended, with any status."""
    runs = parquet.read_table(study, "runs", columns=["run_id"])["run_id"]
    return runs.str.split("/").str[:2].map(tuple).value_counts().to_dict()


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
        points = tuple(p for p in in_experiment if all(value(p, k) == v for k, v in of.items()))
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
        elif 0 < row["measured_n"] < verdicts.FEWEST:
            needed = math.ceil(planned * verdicts.FEWEST / row["measured_n"])  # at the same rate
        elif row["verdict"] in (verdicts.COMPATIBLE, verdicts.DIFFERS):
            why = "the published sample alone is too small to tell, however many runs are made"
        else:
            why = why or "its interval cannot be worked out from these runs"
        if needed and needed > MOST:
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


def counts(needs: Iterable[Need]) -> dict[tuple[str, str], int]:
    """Return the seeds that each point with too few needs, by the key of the point."""
    seeds: dict[tuple[str, str], int] = {}
    for need in needs:
        for point in need.points:
            if need.needed and need.needed > point.count:
                target = rounded(point, need.needed)
                seeds[point.key] = max(seeds.get(point.key, 0), target)
    return seeds


@dataclass(frozen=True)
class SeedPlan:
    """Seeds that would meet all needs, and their cost."""

    seeds: dict[str, dict[str, Any]]  # `seeds` of the experiments that need more
    runs: int  # additional ones
    again: int  # finished or planned runs that are made again, because their blocks grow
    blocks: int
    seconds: float  # of CPU time, expected


def wanted(study: Study, needs: Iterable[Need]) -> SeedPlan:
    """Return the seeds that meet all needs, for all points or for some, and their cost."""
    needed = counts(needs)
    seeds: dict[str, dict[str, Any]] = {}
    for name in {experiment: None for experiment, _ in needed}:
        points = study.experiment(name)
        places = [_where(point, swept(points)) for point in points]
        # Points that `where` cannot distinguish, such as shared seeds, get equal numbers of seeds.
        largest: dict[str, int] = {}
        for point, where in zip(points, places, strict=True):
            candidates = (largest.get(str(where), 0), needed.get(point.key, 0), point.count)
            largest[str(where)] = max(candidates)
        least = min(largest.values())
        more = {
            str(where): {"where": where, "count": largest[str(where)]}
            for where in places
            if largest[str(where)] > least
        }
        seeds[name] = {"count": least} | ({"more": [*more.values()]} if more else {})
    experiments = dict(study.config.experiments)
    for name, grown in seeds.items():
        some = [MoreSeeds(**one) for one in grown.get("more", ())]
        larger_seeds = structs.replace(experiments[name].seeds, count=grown["count"], more=some)
        experiments[name] = structs.replace(experiments[name], seeds=larger_seeds)
    larger = structs.replace(study.config, experiments=experiments)
    studies = (study, replace(study, config=larger))
    old, new = ({block.key: block for block in one.blocks} for one in studies)
    blocks = [block for key, block in new.items() if key not in old]
    further = sum(block.count for block in new.values()) - sum(b.count for b in old.values())
    again = sum(block.count for block in blocks) - further
    return SeedPlan(seeds, further, again, len(blocks), sum(map(cost.cpu_seconds, blocks)))


def _where(point: Point, parameters: list[Swept]) -> dict[str, Any]:
    """Return the condition `where` that selects a point."""
    return {q.name: _plain(value(point, q.name)) for q in parameters if q.name in point.values}


def _plain(x: Any) -> Any:
    """Return a value as plain YAML data."""
    if isinstance(x, tuple):
        return list(x)
    return int(x) if isinstance(x, float) and x == int(x) else x
