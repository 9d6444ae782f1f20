import math

import numpy as np
import pytest

from circlet.analysis import stats


def test_mean_interval_is_that_of_the_paper():
    values = np.array([1.0, 2.0, 3.0, 6.0])
    center, low, high = stats.mean(values)
    half = 1.959964 * values.std(ddof=1) / 2
    assert (center, low, high) == pytest.approx((3, 3 - half, 3 + half))


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
    assert all(math.isnan(v) for v in stats.mean(none))
    assert all(math.isnan(v) for v in stats.count(0, 0))
    assert all(math.isnan(v) for v in stats.correlation(np.ones(9), np.arange(9)))
    assert all(math.isnan(v) for v in stats.mean_difference(np.ones(1), np.ones(5)))
    center, low, _ = stats.mean(np.array([4.0]))
    assert center == 4
    assert math.isnan(low)


def test_counts_at_the_ends():
    assert stats.count(0, 100)[:2] == (0, 0)
    assert stats.count(100, 100)[2] == 100
    assert stats.count(0, 100)[2] == pytest.approx(3.70, abs=0.01)  # Wilson, 0 of 100


def coverage(interval, truth, draws):
    return np.mean([low <= truth <= high for _, low, high in map(interval, draws)])


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
