"""Verdicts by equivalence: what is reproduced, and how often a false claim would be."""

import math

import numpy as np
import pytest
from conftest import claim
from scipy.special import ndtr

from circlet.analysis import contrasts, stats, verdicts
from circlet.analysis.stats import Estimate
from circlet.analysis.verdicts import (
    COMPATIBLE,
    DEVIATES,
    DIFFERS,
    DISAGREES,
    NOT_RUN,
    OPEN,
    REPRODUCED,
    UNDECIDABLE,
    UNDECIDED,
)


def ours(value, half, n=300):
    return Estimate(value, value - half, value + half, n)


RUNS = claim("share", 12, 100)
MEAN = claim("mean", 40, 88, published_low=36, published_high=44)  # sd 19.1: the margin is 5.74
BARE = claim("mean", 60, 25, margin=5)
R = claim("correlation", -0.64, 82)
TIME = claim("ratio", 285, 41, published_low=220, published_high=350, margin=1.5)
EXACT = claim("exact", 198, margin=0.5)
RISES = claim("words", margin=0.1, least=0.1)
BETWEEN = claim("words", margin=0.5, least=2.5, most=5.5)
TIMES = claim("words_ratio", margin=2, least=2)


@pytest.mark.parametrize(
    ("judged", "measured", "verdict"),
    [
        # 12 of 100 runs: 4.1 to 23.3 counts as the same. The published sample is noisy, too.
        (RUNS, stats.count(360, 3000), REPRODUCED),
        (RUNS, stats.count(36, 300), REPRODUCED),
        (RUNS, stats.count(20, 300), COMPATIBLE),
        (RUNS, stats.count(12, 100), REPRODUCED),
        (RUNS, stats.count(9, 100), COMPATIBLE),
        (RUNS, stats.count(15, 300), DIFFERS),
        (RUNS, stats.count(90, 300), DIFFERS),
        (RUNS, stats.count(105, 300), DEVIATES),
        (RUNS, stats.count(5, 3000), DEVIATES),
        (RUNS, stats.count(1, 4), UNDECIDED),
        (RUNS, Estimate(), NOT_RUN),
        (claim("share", 0, 100), stats.count(0, 300), REPRODUCED),
        (claim("share", 0, 100), stats.count(0, 3000), REPRODUCED),
        (claim("share", 0, 100), stats.count(4, 1000), REPRODUCED),
        (claim("share", 0, 100), stats.count(20, 1000), COMPATIBLE),
        (claim("share", 0, 100), stats.count(40, 300), DEVIATES),
        # Six runs, or eight published ones, are too few: a false value would pass, too.
        (claim("share", 100, 100), stats.count(6, 6), UNDECIDED),
        (claim("share", 8, 8), stats.count(5, 8), UNDECIDED),
        (claim("mean", 77.4, 1, margin=5), ours(63, 8, 14), UNDECIDABLE),
        # Few published runs: more of ours may decide, or cannot if the values are about the same.
        (claim("share", 4, 25), stats.count(3, 25), UNDECIDED),
        (claim("share", 4, 20), stats.count(200, 1000), UNDECIDABLE),
        (claim("share", 40, 40), stats.count(98, 100), COMPATIBLE),
        # Half-widths of means add in squares: 3 and 4 give 5.
        (MEAN, ours(40, 3), REPRODUCED),
        (MEAN, ours(40.7, 3), REPRODUCED),
        (MEAN, ours(40.8, 3), COMPATIBLE),
        (MEAN, ours(44.9, 3), COMPATIBLE),
        (MEAN, ours(45.1, 3), DIFFERS),
        (MEAN, ours(45.1, 0.01), DIFFERS),
        (MEAN, ours(50.8, 3), DEVIATES),
        (MEAN, ours(40, 30, 4), UNDECIDED),
        (MEAN, Estimate(40, n=20), UNDECIDED),  # all runs are equal
        # Without a published spread ours replaces it: a half-width of 2 of 100 runs is 3.95 of 25.
        (BARE, ours(60, 2, 100), REPRODUCED),
        (BARE, ours(64.3, 2, 100), COMPATIBLE),
        (BARE, ours(64.6, 2, 100), DIFFERS),
        (BARE, ours(69.5, 2, 100), DEVIATES),
        (R, Estimate(-0.65, -0.67, -0.63, 900), REPRODUCED),
        (R, Estimate(-0.65, -0.78, -0.47, 60), COMPATIBLE),
        (R, Estimate(-0.85, -0.88, -0.81, 300), DIFFERS),
        (R, Estimate(-0.92, -0.94, -0.9, 300), DEVIATES),
        (R, Estimate(-1.0, n=300), UNDECIDED),
        # Few units are not judged as if their pairs were independent: our own interval counts.
        (claim("correlation", 0.85, 290), Estimate(0.785, 0.5, 0.92, 8), UNDECIDED),
        (claim("correlation", 0.85, 290), Estimate(0.6, 0.55, 0.65, 8), DEVIATES),
        (TIME, Estimate(300, 280, 320, 200), REPRODUCED),
        (TIME, Estimate(400, 300, 500, 40), COMPATIBLE),
        (TIME, Estimate(600, 500, 700, 200), DEVIATES),
        (EXACT, Estimate(198, 198, 198, 1), REPRODUCED),
        (EXACT, Estimate(199, 199, 199, 1), DEVIATES),
        (RISES, Estimate(0.5, 0.2, 0.8, 20), REPRODUCED),
        (RISES, Estimate(0.5, 0.05, 0.8, 20), UNDECIDED),
        (RISES, Estimate(0.0, -0.05, 0.05, 900), DEVIATES),  # no effect at all
        (RISES, Estimate(0.9, 0.8, 1, 4), UNDECIDED),
        (BETWEEN, Estimate(4, 3.5, 4.5, 9), REPRODUCED),
        (BETWEEN, Estimate(5.4, 5.0, 5.8, 9), UNDECIDED),
        (BETWEEN, Estimate(6.2, 5.8, 6.6, 9), DEVIATES),
        (BETWEEN, Estimate(1.2, 0.8, 1.6, 9), DEVIATES),
        (TIMES, Estimate(5, 3, 8, 9), REPRODUCED),
        (TIMES, Estimate(1, 0.8, 1.2, 9), DEVIATES),
    ],
)
def test_verdicts(judged, measured, verdict):
    judgement = verdicts.judge(judged, measured)
    assert judgement.verdict == verdict
    assert bool(judgement.why) == (verdict in (*OPEN, NOT_RUN))


@pytest.mark.parametrize(
    ("judged", "least", "most"),
    [
        (claim("share", 0, 100), 0, 4.05),
        (RUNS, 3.92, 23.5),
        (claim("share", 20, 40), 14, 26),
        (R, -0.785, -0.429),
        (MEAN, 34.3, 45.7),
        (BARE, 55, 65),
        (TIME, 190, 427.5),
        (BETWEEN, 2.5, 5.5),
    ],
)
def test_values_that_mean_the_same(judged, least, most):
    assert verdicts.accepted(judged) == pytest.approx((least, most), rel=0.005)


def test_differences_of_shares():
    """The MOVER interval of two Wilson intervals is Newcombe's; the judged angles are near it."""
    gap = contrasts.difference(stats.share(15, 300), stats.share(12, 100))
    newcombe = contrasts.share_difference(15, 300, 12, 100)
    assert gap[:3] == pytest.approx(newcombe[:3], abs=1e-9)
    shown = verdicts.judge(RUNS, stats.count(15, 300)).difference
    assert shown[:3] == pytest.approx((-7, -11, -1), abs=0.6)


@pytest.mark.parametrize("n", [300, 1000, 5000])
def test_a_nearer_count_never_has_a_worse_verdict(n):
    """If the paper has 0, our 0 has at least as good a verdict as any other count."""
    order = [REPRODUCED, COMPATIBLE, UNDECIDED, UNDECIDABLE, DIFFERS, DEVIATES]
    for published, counts in ((0, range(0, n, n // 100)), (100, range(n, 0, -(n // 100)))):
        ranks = [
            order.index(verdicts.judge(claim("share", published, 100), stats.count(k, n)).verdict)
            for k in counts
        ]
        assert ranks == sorted(ranks)


@pytest.mark.parametrize(("n_theirs", "n"), [(20, 1000), (40, 50), (100, 100), (400, 1000)])
def test_chances_are_those_of_repeated_studies(n, n_theirs):
    """Both samples are drawn anew; the true values differ by twice the margin."""
    stream = np.random.default_rng(0)
    sizes = (stats.Z / math.sqrt(n_theirs), stats.Z / math.sqrt(n))
    cases = []
    for _ in range(1000):
        theirs, mine = stream.normal(size=2) / np.sqrt((n_theirs, n)) + (0, 0.6)
        ends = {"published_low": theirs - sizes[0], "published_high": theirs + sizes[0]}
        judged = claim("mean", theirs, n_theirs, **ends)
        cases.append(verdicts.judge(judged, ours(mine, sizes[1], n)))  # sd 1: the margin is 0.3
    names = [case.verdict for case in cases]
    assert cases[0].mistaken == pytest.approx(names.count(REPRODUCED) / 1000, abs=0.015)
    noticed = sum(name in DISAGREES for name in names) / 1000
    assert cases[0].unnoticed == pytest.approx(1 - noticed, abs=0.045)
    assert cases[0].mistaken < 0.025
    assert (COMPATIBLE in names) == (1e-4 < cases[0].unnoticed <= 0.2)


def test_what_is_false_in_words_is_noticed_as_often_as_stated():
    judgement = verdicts.judge(RISES, Estimate(0.5, 0.4, 0.6, 50))
    error = 0.1 / stats.Z
    assert judgement.unnoticed == pytest.approx(ndtr((0.1 - 0.1) / error))
    assert judgement.mistaken == pytest.approx(ndtr(-0.2 / error))


def test_true_values_disagree_one_time_in_twenty_at_most():
    """Two samples of one distribution, as of a paper's 100 runs and ours."""
    stream = np.random.default_rng(1)
    names = []
    for _ in range(700):
        k, n = stream.binomial(100, 0.3), 300
        judged = claim("share", k, 100)
        names.append(verdicts.judge(judged, stats.count(int(stream.binomial(n, 0.3)), n)).verdict)
    wrong = sum(verdict in DISAGREES for verdict in names)
    assert 0.01 < wrong / 700 < 0.08  # 0.05 plus four standard errors is 0.083
    assert DEVIATES not in names


def test_a_difference_smaller_than_the_margin_seldom_deviates():
    """At 0.9 margins the interval lies beyond the margin in less than one study of forty."""
    stream = np.random.default_rng(2)
    names = []
    for _ in range(2000):
        theirs, mine = stream.normal(size=2) / np.sqrt((100, 1000)) + (0, 0.27)
        ends = {"published_low": theirs - 0.196, "published_high": theirs + 0.196}
        judged = claim("mean", theirs, 100, **ends)
        names.append(verdicts.judge(judged, ours(mine, 0.062, 1000)).verdict)  # the margin is 0.3
    assert names.count(DEVIATES) / 2000 < 0.04  # 0.025 plus four standard errors is 0.039
    assert names.count(DIFFERS) / 2000 > 0.5
