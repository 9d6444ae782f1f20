"""Verdicts on whether a measured value agrees with a published one, by equivalence tests.

A claim has a **margin**, the largest difference that still counts as agreement. The 95 % interval
of the difference, measured - published, includes the sampling error of both samples. It is combined
from their intervals by MOVER (Zou and Donner, *Statistics in Medicine* 27, 2008), for two shares
the same as Newcombe's method. docs/verdicts.md defines the verdicts and explains the margins.

Each kind of claim has a scale on which its margin is given. On the first three scales a single run
has a standard deviation of about one.

``share``
    of runs: 2 asin(sqrt(share)), Cohen's h, with Anscombe's correction, whose interval is
    +- 1.96 / sqrt(n + 1/2). The margin is ``MARGIN``.
``correlation``
    Fisher's z, Cohen's q. The margin is ``MARGIN``.
``mean``
    of runs. The margin is ``MARGIN`` standard deviations between runs, if the published interval
    shows these; if not, the claim gives the margin in its unit.
``ratio``
    amounts compared by factors, on a logarithmic scale; the claim gives the margin as a factor.
``exact``
    arithmetic without chance; the margin is the largest rounding error.
``words``, ``words_ratio``
    a sentence without a number, on a linear or logarithmic scale. It is reproduced if the whole
    interval lies between its thresholds, ``least`` and ``most``, deviates if the interval lies
    outside, and is undecided otherwise. A value beyond a threshold by the margin counts as false.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from scipy.special import ndtr, stdtrit

from circlet.analysis import contrasts, stats
from circlet.analysis.stats import Estimate

MAX_UNNOTICED = 0.2  # largest probability that a false value counts as compatible
MIN_FINISHED = 0.9  # share of the planned runs; lost runs are seldom a random sample
MIN_UNITS = 5  # independent units behind a value that is judged
MARGIN = 0.3  # of shares, correlations and means, in standard deviations of a run

REPRODUCED, COMPATIBLE = "reproduced", "compatible"
DIFFERS, DEVIATES = "differs", "deviates"
UNDECIDED, UNDECIDABLE, NOT_RUN = "undecided", "undecidable", "not_run"
VERDICTS = (REPRODUCED, COMPATIBLE, DIFFERS, DEVIATES, UNDECIDED, UNDECIDABLE, NOT_RUN)
AGREES = (REPRODUCED, COMPATIBLE)
DISAGREES = (DIFFERS, DEVIATES)
OPEN = (UNDECIDED, UNDECIDABLE)


class Scale(NamedTuple):
    """A monotone function of a value and its inverse."""

    to: Callable[[float], float]
    back: Callable[[float], float]


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _z(r: float) -> float:
    return math.copysign(math.inf, r) if abs(r) >= 1 else math.atanh(r)


_LINEAR = Scale(lambda x: x, lambda x: x)
_LOGARITHMIC = Scale(_log, math.exp)
SCALES = {  # except for shares, see `scale`
    "correlation": Scale(_z, math.tanh),
    "mean": _LINEAR,
    "ratio": _LOGARITHMIC,
    "exact": _LINEAR,
    "words": _LINEAR,
    "words_ratio": _LOGARITHMIC,
}


class Verdict(NamedTuple):
    """The result for a claim; NaN if unknown; ends of intervals are in the unit of the claim."""

    verdict: str
    difference: Estimate = Estimate()  # measured - published
    mistaken: float = math.nan  # probability of "reproduced" if false, see `chances`
    unnoticed: float = math.nan  # probability of neither "differs" nor "deviates" if false
    why: str = ""  # reason, if undecided


def judge(claim: Any, measured: Estimate, n_runs: int = 0) -> Verdict:
    """Return the verdict on a claim, a row of `circlet.analysis.claims.read`, from our estimate.

    For a ``share`` the estimate is a count among our ``n`` runs, and the published value a count
    among the paper's runs. ``n_runs`` is the number of finished runs, of which perhaps none can be
    judged.
    """
    kind = claim["kind"]
    if measured.n == 0:
        if n_runs:
            return Verdict(UNDECIDED, why=f"nothing to judge in {n_runs} runs")
        return Verdict(NOT_RUN, why="no run")
    if kind == "exact":
        off = measured.value - claim["published"]
        if math.isnan(off):
            return Verdict(UNDECIDED, why="no value")
        verdict = REPRODUCED if abs(off) <= claim["margin"] else DEVIATES
        return Verdict(verdict, Estimate(off, off, off, 1), 0.0, 0.0)
    if measured.n < MIN_UNITS:
        few = f"only {measured.n} independent run{'s'[: measured.n > 1]}: too few to tell"
        return Verdict(UNDECIDED, why=few)
    ours = on_scale(claim, measured)
    if not all(math.isfinite(x) for x in ours[:3]) or ours.high <= ours.low:
        return Verdict(UNDECIDED, why="no interval: too few runs, or all alike")
    if kind.startswith("words"):
        return _in_words(claim, ours)
    paper_estimate = published(claim, ours)
    gap = contrasts.difference(ours, paper_estimate)
    most = margin(claim)
    mistaken, unnoticed = chances(most, (gap.high - gap.low) / 2)
    verdict, why = _of_difference(gap, most), ""
    if verdict == UNDECIDED:
        why = f"a false value would pass, too, {100 * unnoticed:.0f} % of the time"
        exact = (Estimate(x, x, x, ours.n) for x in ours[:3])
        if all(
            _of_difference(contrasts.difference(x, paper_estimate), most) == UNDECIDED
            for x in exact
        ):
            verdict, n = UNDECIDABLE, paper_estimate.n
            few = "one run" if n == 1 else f"only {n} runs"
            why = f"the paper has {few}: by the spread of ours, no number of ours can decide it"
    center, back = paper_estimate.value, scale(claim).back
    shown = gap.mapped(lambda off: back(center + off) - back(center))
    return Verdict(verdict, shown, mistaken, unnoticed, why)


def _of_difference(gap: Estimate, most: float) -> str:
    """Return the verdict on a difference, measured - published, with the margin ``most``."""
    if -most <= gap.low and gap.high <= most:
        return REPRODUCED
    if gap.low > most or gap.high < -most:
        return DEVIATES
    if not gap.low <= 0 <= gap.high:
        return DIFFERS
    _, unnoticed = chances(most, (gap.high - gap.low) / 2)
    return COMPATIBLE if unnoticed <= MAX_UNNOTICED else UNDECIDED


def on_scale(claim: Any, measured: Estimate) -> Estimate:
    """Return our estimate on the scale of its kind; a share is computed from its count and n.

    Both shares get Anscombe's correction for the published number of runs, so that equal shares
    stay equal.
    """
    if claim["kind"] == "share":
        return _angle(claim, measured.value / measured.n * float(claim["published_n"]), measured.n)
    return measured.mapped(SCALES[claim["kind"]].to)


def _angle(claim: Any, count: float, n: int) -> Estimate:
    """Return a share of n runs on its scale; ``count`` is among the paper's number of runs."""
    center, half = scale(claim).to(count), stats.Z / math.sqrt(n + 0.5)
    return Estimate(center, center - half, center + half, n)


def published(claim: Any, ours: Estimate) -> Estimate:
    """Return the published value with its interval, on the scale of its kind.

    If the paper gives no interval, a share gets one from its number of runs (Anscombe); for other
    kinds our standard deviation of one independent unit stands in for the paper's.
    """
    kind, value, n = claim["kind"], float(claim["published"]), float(claim["published_n"])
    if kind == "share":
        return _angle(claim, value, int(n))
    to = SCALES[kind].to
    if not math.isnan(claim["published_low"]):
        ends = (float(claim["published_low"]), float(claim["published_high"]))
        return Estimate(value, *ends, int(n)).mapped(to)
    freedom = ours.n - 1
    deviation = (ours.high - ours.low) / 2 * math.sqrt(ours.n) / float(stdtrit(freedom, 0.975))
    half = stats.Z * deviation / math.sqrt(n)
    return Estimate(to(value), to(value) - half, to(value) + half, int(n))


def margin(claim: Any) -> float:
    """Return the margin of a claim on the scale of its kind."""
    kind, stated = claim["kind"], float(claim["margin"])
    if kind in ("ratio", "words_ratio"):
        return math.log(stated)
    if not math.isnan(stated):
        return stated
    if kind == "mean":
        half = (float(claim["published_high"]) - float(claim["published_low"])) / 2
        return MARGIN * half / stats.Z * math.sqrt(float(claim["published_n"]))
    return MARGIN


def accepted(claim: Any) -> tuple[float, float]:
    """Return the values within the margin, in the claim's unit; NaN for an open end."""
    kind = claim["kind"]
    if kind.startswith("words"):
        return float(claim["least"]), float(claim["most"])
    to, back = scale(claim)
    center, off = to(float(claim["published"])), margin(claim)
    return back(center - off), back(center + off)


def scale(claim: Any) -> Scale:
    """Return the scale of a claim's kind; values of a share are counts of the paper's runs."""
    if claim["kind"] != "share":
        return SCALES[claim["kind"]]
    n = float(claim["published_n"])
    return Scale(lambda count: float(stats.angle(count, n)), lambda x: stats.angle_count(x, n))


def chances(margin: float, half: float) -> tuple[float, float]:
    """Return the chances that a false value is called reproduced, and that zero is not excluded.

    False means that the true values differ by twice the margin; both samples are drawn anew.
    ``half`` is the half-width of the difference's interval. The distribution on the scale is taken
    as normal.
    """
    error = half / stats.Z
    most = margin - half  # largest difference that is still reproduced
    mistaken = ndtr((most - 2 * margin) / error) - ndtr((-most - 2 * margin) / error)
    unnoticed = ndtr((max(half, most) - 2 * margin) / error)
    return float(mistaken) if most > 0 else 0.0, float(unnoticed)


def _in_words(claim: Any, ours: Estimate) -> Verdict:
    """Judge a claim that a value lies between thresholds; false is a margin beyond one."""
    to = SCALES[claim["kind"]].to
    least, most = accepted(claim)
    low = -math.inf if math.isnan(least) else to(least)
    high = math.inf if math.isnan(most) else to(most)
    verdict, why = UNDECIDED, "the interval is partly beyond the bar"
    if low <= ours.low and ours.high <= high:
        verdict, why = REPRODUCED, ""
    elif ours.high < low or ours.low > high:
        verdict, why = DEVIATES, ""
    half, off = (ours.high - ours.low) / 2, margin(claim)
    error = half / stats.Z
    mistaken, unnoticed = ndtr(-(half + off) / error), ndtr((half - off) / error)
    return Verdict(verdict, Estimate(), float(mistaken), float(unnoticed), why)
