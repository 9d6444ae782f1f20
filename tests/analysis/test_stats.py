import math

import numpy as np
import pytest

from circlet.analysis import stats


def test_a_ratio_has_the_spread_of_runs():
    """Ten runs of one thing each are a mean; of runs that are all alike in themselves, too."""
    part = np.array([0.0, 1, 1, 0, 1, 1, 1, 0, 1, 1])
    value, low, high, n = stats.ratio(part, np.ones(10))
    assert (value, n) == (0.7, 10)
    assert (low, high) == pytest.approx(stats.mean(part)[1:3])
    assert stats.ratio(7 * part, np.full(10, 7.0))[:3] == pytest.approx((value, low, high))
    assert math.isnan(stats.ratio(np.ones(1), np.ones(1)).low)


def test_median_by_order_statistics():
    """Of 1..9 the interval is [2, 8]: P(B <= 1) = 10 / 512 < 2.5 % < P(B <= 2), B ~ Bin(9, 1/2)."""
    found = stats.median(np.random.default_rng(0).permutation(np.arange(1.0, 10)))
    assert found == (5, 2, 8, 9)
    assert math.isnan(stats.median(np.arange(5.0)).low)
    assert stats.median(np.array([])).n == 0
    covered = [
        low <= 0 <= high
        for seed in range(300)
        for _, low, high, _ in [stats.median(np.random.default_rng(seed).normal(size=30))]
    ]
    assert np.mean(covered) > 0.93


def test_deviation_covers_the_truth():
    covered = [
        low <= 1 <= high
        for seed in range(300)
        for _, low, high, _ in [stats.deviation(np.random.default_rng(seed).normal(size=60))]
    ]
    assert 0.9 < np.mean(covered) <= 1


def test_mean_interval_is_that_of_the_paper():
    values = np.array([1.0, 2.0, 3.0, 6.0])
    half = 1.959964 * values.std(ddof=1) / 2
    assert stats.mean(values, normal=True) == pytest.approx((3, 3 - half, 3 + half, 4))
    assert stats.mean(values).high - 3 == pytest.approx(3.182446 / 1.959964 * half)  # Student, 3


@pytest.mark.parametrize(
    ("r", "n", "low", "high"), [(-0.92, 100, -0.95, -0.88), (-0.64, 82, -0.75, -0.49)]
)
def test_correlation_interval_gives_the_printed_digits(r, n, low, high):
    """Mușat, table 1, weight decay 0 and 1: the interval is Fisher's."""
    x = np.random.default_rng(0).normal(size=n)
    noise = np.random.default_rng(1).normal(size=n)
    x, noise = x - x.mean(), noise - noise.mean()
    noise -= x * (x @ noise) / (x @ x)
    y = r * x / np.linalg.norm(x) + math.sqrt(1 - r * r) * noise / np.linalg.norm(noise)
    found = stats.correlation(x, y)
    assert found[0] == pytest.approx(r)
    assert (round(found[1], 2), round(found[2], 2)) == (low, high)


def test_what_cannot_be_estimated_is_nan():
    none = np.array([])
    line = np.arange(9.0)
    for estimate in (
        stats.mean(none),
        stats.mean(np.array([4.0])),
        stats.count(0, 0),
        stats.correlation(np.ones(9), line),
        stats.correlation(line, 2 * line),
        stats.mean_difference(np.ones(1), np.ones(5)),
        stats.share_difference(0, 0, 1, 5),
        stats.stratified_difference([(none, line)]),
        stats.stratified_difference([]),
    ):
        assert math.isnan(estimate.low)
        assert math.isnan(estimate.high)
    assert stats.mean(np.array([4.0])).value == 4


def test_counts_at_the_ends():
    assert stats.count(0, 100)[:2] == (0, 0)
    assert stats.count(100, 100)[2] == 100
    assert stats.count(0, 100)[2] == pytest.approx(3.70, abs=0.01)  # Wilson, 0 of 100


def coverage(interval, truth, draws):
    return np.mean([e.low <= truth <= e.high for e in map(interval, draws)])


def test_intervals_cover_what_they_say():
    stream = np.random.default_rng(0)
    draws = [stream.binomial(100, 0.12) for _ in range(2000)]
    assert 0.93 < coverage(lambda k: stats.count(int(k), 100), 12, draws) < 0.975
    pairs = [(stream.binomial(100, 0.12), stream.binomial(300, 0.05)) for _ in range(2000)]
    found = coverage(
        lambda p: stats.share_difference(*map(int, (p[0], 100, p[1], 300))), 0.07, pairs
    )
    assert 0.93 < found < 0.975
    samples = [(stream.normal(1, 1, 5), stream.normal(0, 3, 12)) for _ in range(2000)]
    assert 0.93 < coverage(lambda s: stats.mean_difference(*s), 1, samples) < 0.97


def test_stratified_difference_covers_with_few_of_one_kind():
    """As circles are: two, fifteen and forty among three hundred, of another spread."""
    stream = np.random.default_rng(0)
    found = []
    for _ in range(1500):
        strata = [
            (stream.normal(level + 5, 10, k), stream.normal(level, 20, 300 - k))
            for level, k in ((35, 2), (50, 15), (47, 40))
        ]
        estimate = stats.stratified_difference(strata)
        found.append(estimate.low <= 5 <= estimate.high)
    assert 0.93 < np.mean(found) < 0.97


def test_newcombes_interval_is_the_published_one():
    """Newcombe 1998, table II, example (a): 56/70 - 48/80, method 10."""
    assert stats.share_difference(56, 70, 48, 80)[:3] == pytest.approx(
        (0.2, 0.0524, 0.3339), abs=1e-4
    )


def test_stratified_difference_by_hand():
    strata = [
        (np.array([5.0, 7.0]), np.array([1.0, 3.0, 2.0, 2.0])),
        (np.array([9.0]), np.array([4.0, 8.0])),
    ]
    found = stats.stratified_difference(strata)
    weights = np.array([8 / 6, 2 / 3]) / 2
    variances = 2 / 1, (2 + 8) / 4
    error = math.sqrt(
        weights[0] ** 2 * (variances[0] / 2 + variances[1] / 4)
        + weights[1] ** 2 * (variances[0] / 1 + variances[1] / 2)
    )
    value = weights @ [4, 3]
    half = 12.7062 * error  # Student, 1 degree of freedom: that of the rarer kind
    assert found == pytest.approx((value, value - half, value + half, 9), rel=1e-5)
