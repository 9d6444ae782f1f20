"""Effects of what is swept: slopes and rank correlations cover what they say."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr
from test_stats import coverage, least

from circlet.analysis import association


def swept_runs(stream, seeds, per_x):
    """Columns x, y, stratum and unit of runs at three x in two strata, correlated by seed."""
    n = 3 * seeds
    unit = np.tile(np.repeat(np.arange(seeds), 3), 2)
    x, stratum = np.tile([0.0, 1, 2], 2 * seeds), np.repeat([0, 1], n)
    level, slope = stream.normal(0, 2, seeds)[unit], (per_x + stream.normal(0, 0.3, seeds))[unit]
    return x, level + slope * x + 5 * stratum + stream.normal(0, 1, 2 * n), stratum, unit


def test_effects_cover_what_they_say():
    """Runs of one seed share a level and a slope."""
    stream = np.random.default_rng(0)
    draws = [swept_runs(stream, 8, 0.5) for _ in range(100)]
    assert least(100) < coverage(lambda d: association.slope(*d), 0.5, draws) < 0.99
    x, y, stratum, _ = swept_runs(stream, 40_000, 0.5)
    truth = spearmanr(x[stratum == 0], y[stratum == 0]).statistic
    assert least(50) < coverage(lambda d: association.rank_correlation(*d), truth, draws[:50])


@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize("kind", ["drawn", "one_seed", "two_seeds", "drawn_three_seeds"])
def test_slopes_through_few_points_cover(kind, n):
    """Random points (each a unit), or evenly spaced ones; each seed has its own level."""
    stream = np.random.default_rng(n)
    seeds = {"drawn": 1, "one_seed": 1, "two_seeds": 2, "drawn_three_seeds": 3}[kind]

    def draw():
        x = stream.uniform(size=n) if "drawn" in kind else np.linspace(0, 1, n)
        places, seed = np.tile(np.arange(n), seeds), np.repeat(np.arange(seeds), n)
        unit, n_units = (places, n) if "drawn" in kind else (seed, seeds)
        y = 2 * x[places] + stream.normal(size=n_units)[unit] + stream.normal(size=n * seeds)
        return x[places], y, np.zeros(n * seeds, int), unit

    assert least(100) < coverage(lambda d: association.slope(*d), 2, [draw() for _ in range(100)])


def test_two_points_tell_no_slope():
    slope = association.slope([0.001, 0.01], [34.0, 7.0], [0, 0], [0, 0])
    assert slope.value == pytest.approx(-3000) and math.isnan(slope.low)


def test_settings_without_a_trend_count_as_such():
    x, unit = np.tile(np.arange(10.0), 10), np.tile(np.arange(10), 10)
    stratum = np.repeat(np.arange(10), 10)
    y = np.where(stratum == 0, x, 1.0)
    rho = association.rank_correlation(x, y, stratum, unit)
    assert 0 < rho.value < 0.5 and rho.n == 100
    assert math.isnan(association.rank_correlation(x, np.ones(100), stratum, unit).value)


@pytest.mark.parametrize("seeds", [1, 2])
def test_effects_of_one_seed_cover_too(seeds):
    """With one seed, settings of the other parameters count as independent."""
    stream = np.random.default_rng(0)
    n = 5 * 4 * seeds
    stratum, unit = np.repeat(np.arange(5), 4 * seeds), np.tile(np.arange(seeds), n // seeds)
    x = np.tile(np.repeat(np.arange(4.0), seeds), 5)
    draws = [(x, stream.normal(0, 1, n), stratum, unit) for _ in range(50)]
    for estimate in (association.rank_correlation, association.slope):
        assert least(50) < coverage(lambda d, of=estimate: of(*d), 0, draws)


def test_slopes_stay_in_reach():
    """Shares of three runs each, 0 of 3 and 2 of 3, differ by 1 at most."""
    y, unit = np.array([0.0, 0, 0, 1, 1, 0]), np.tile(np.arange(3), 2)
    slope = association.slope(np.repeat([0.0, 0.5], 3), y, 0, unit, reach=1.0)
    assert slope.value == pytest.approx(4 / 3) and slope.high == pytest.approx(2)


def test_equal_values_have_no_slope():
    """Rounding gives no slope either: the mean of three times 0.6 is not exactly 0.6."""
    assert association.slope(np.full(9, 0.6), np.arange(9.0), 0, np.arange(9) // 3).n == 0


def test_groups_in_perfect_order_do_not_seem_certain():
    """Ties alone differ between parts of the data, so the jackknife would find nearly no error."""
    x, seeds = np.repeat([0, 1], 10), np.tile(np.arange(10), 2)
    y = np.append(np.arange(10) / 100, np.minimum(1, 0.9 + np.arange(10) / 50))
    rho = association.rank_correlation(x, y, np.zeros(20), seeds)
    assert rho.value > 0.8 and rho.high - rho.low > 0.2
