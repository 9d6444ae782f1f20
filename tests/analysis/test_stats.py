import math

import numpy as np
import pandas as pd
import pytest
from conftest import output_of
from lifelines import KaplanMeierFitter
from lifelines.utils import median_survival_times
from scipy.special import stdtrit
from scipy.stats import skew

from circlet.analysis import association, contrasts, stats


def test_a_ratio_has_the_spread_of_runs():
    """With one part per run, or equal parts in each run, the ratio is the mean over runs."""
    part = np.array([0.0, 1, 1, 0, 1, 1, 1, 0, 1, 1])
    value, low, high, n = stats.ratio(part, np.ones(10))
    assert (value, n) == (0.7, 10)
    assert (value, low, high) == pytest.approx(mean(part, normal=False))
    assert stats.ratio(7 * part, np.full(10, 7.0))[:3] == pytest.approx((value, low, high))
    assert math.isnan(stats.ratio(np.ones(1), np.ones(1)).low)


def test_of_a_negative_multiple_the_interval_turns_round():
    estimate = stats.Estimate(0.2, 0.1, 0.4, 7)
    assert estimate.times(-100) == pytest.approx((-20, -40, -10, 7))


def test_values_that_are_not_known_are_not_counted():
    """Pairs with one unknown value are ignored, whatever the type of the column."""
    full, holes = pd.Series([1, 2, 3, 5, 8, 9]), pd.array([1, 2, None, 3, 5, 8, 9], dtype="Int32")
    for estimate in (stats.mean, stats.median, stats.deviation):
        assert estimate(pd.Series(holes)) == estimate(full) == estimate([*full, math.nan])
        assert estimate(full).n == 6
    difference = contrasts.mean_difference(full, [3, 4])
    assert contrasts.mean_difference(holes, [3, math.nan, 4]) == difference
    y = [2.0, 1, 9, 4, 6, 9, math.nan]
    correlation = association.correlation([1, 2, 3, 5, 8], [2, 1, 4, 6, 9])
    assert association.correlation(holes, y) == correlation
    assert stats.counted(full > 2) == (4, 6)


def test_median_by_order_statistics():
    """For 1..9 the interval is [2, 8]: P(B <= 1) = 10/512 < 2.5 % < P(B <= 2), B ~ Bin(9, 1/2)."""
    median = stats.median(np.random.default_rng(0).permutation(np.arange(1.0, 10)))
    assert median == (5, 2, 8, 9)
    assert stats.median(np.arange(6.0))[1:3] == (0, 5)
    assert math.isnan(stats.median(np.arange(5.0)).low)
    assert stats.median(np.array([])).n == 0


def test_deviation_covers_the_truth():
    draws = [np.random.default_rng(seed).normal(size=60) for seed in range(300)]
    assert 0.9 < coverage(stats.deviation, 1, draws) <= 1


@pytest.mark.parametrize(
    ("r", "n", "low", "high"), [(-0.92, 100, -0.95, -0.88), (-0.64, 82, -0.75, -0.49)]
)
def test_correlation_interval_gives_the_printed_digits(r, n, low, high):
    """Mușat, table 1, at weight decay 0 and 1: the published intervals are Fisher's."""
    x = np.random.default_rng(0).normal(size=n)
    noise = np.random.default_rng(1).normal(size=n)
    x, noise = x - x.mean(), noise - noise.mean()
    noise -= x * (x @ noise) / (x @ x)
    y = r * x / np.linalg.norm(x) + math.sqrt(1 - r * r) * noise / np.linalg.norm(noise)
    estimate = association.correlation(x, y)
    assert estimate[0] == pytest.approx(r)
    assert (round(estimate[1], 2), round(estimate[2], 2)) == (low, high)


def test_what_cannot_be_estimated_is_nan():
    none = np.array([])
    line = np.arange(9.0)
    for estimate in (
        stats.mean(none),
        stats.mean(np.array([4.0])),
        stats.count(0, 0),
        stats.share(0, 0),
        association.correlation(np.ones(9), line),
        association.correlation(line, 2 * line),
        association.correlation(line[:3], np.array([1.0, 3, 2])),
        contrasts.mean_difference(np.ones(1), np.ones(5)),
        contrasts.mean_difference(np.ones(3), np.zeros(5)),
        contrasts.share_difference(0, 0, 1, 5),
        contrasts.stratified_difference([(none, line)]),
        contrasts.stratified_difference([]),
    ):
        assert math.isnan(estimate.low)
        assert math.isnan(estimate.high)
    assert stats.mean(np.array([4.0])).value == 4


def coverage(interval, truth, draws):
    return np.mean([e.low <= truth <= e.high for e in map(interval, draws)])


def least(n):
    """Return the coverage that 95 % intervals of n draws must reach: four standard errors below."""
    return 0.95 - 4 * math.sqrt(0.95 * 0.05 / n)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval_is_the_published_one(k, n, low, high):
    """Newcombe 1998, on single proportions, method 3."""
    assert stats.share(k, n) == pytest.approx((k / n, low, high, n), abs=5e-5)
    assert stats.count(k, n) == pytest.approx((k, low * n, high * n, n), abs=5e-5 * n)


def test_welchs_interval_is_the_published_one():
    """Student's data on sleep, as in the examples of R's ``t.test``."""
    drug_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    drug_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    difference = contrasts.mean_difference(drug_1, drug_2)
    assert difference == pytest.approx((-1.58, -3.3654832, 0.2054832, 20))


def test_nearly_constant_values_have_an_interval_without_a_warning():
    line = np.arange(8.0)
    nearly = 1e9 + 1e-4 * np.random.default_rng(0).normal(size=8)
    for estimate in (
        contrasts.mean_difference(np.full(3, 0.1), line),
        contrasts.mean_difference(nearly, line),
        association.correlation(nearly, line),
    ):
        assert estimate.low < estimate.value < estimate.high


def test_stratified_difference_by_hand():
    strata = [
        (np.array([5.0, 7.0]), np.array([1.0, 3.0, 2.0, 2.0])),
        (np.array([9.0]), np.array([4.0, 8.0])),
    ]
    difference = contrasts.stratified_difference(strata)
    weights = np.array([8 / 6, 2 / 3]) / 2
    variances = 2 / 1, (2 + 8) / 4
    error = math.sqrt(
        weights[0] ** 2 * (variances[0] / 2 + variances[1] / 4)
        + weights[1] ** 2 * (variances[0] / 1 + variances[1] / 2)
    )
    value = weights @ [4, 3]
    half = 12.7062 * error  # Student, 1 degree of freedom: of the rarer kind
    assert difference == pytest.approx((value, value - half, value + half, 9), rel=1e-5)


# The formulas written out. NaN stands for an infinite end.
Z = 1.959963984540054


def mean(values, normal):
    n, center = len(values), float(np.mean(values))
    if n == 1 or np.ptp(values) == 0:
        return center, math.nan, math.nan
    quantile = Z if normal else stdtrit(n - 1, 0.975)
    half = quantile * np.std(values, ddof=1) / math.sqrt(n)
    return center, center - half, center + half


def hall(values):
    """Return the ends at which Hall's transform of t is at Student's points (roots by numpy)."""
    n, center, sd = len(values), np.mean(values), np.std(values, ddof=1)
    g = skew(values, bias=False) if n > 2 else 0.0
    points = np.array([1, -1]) * stdtrit(n - 1, 0.975) / math.sqrt(n)
    roots = [np.roots([g**2 / 27, g / 3, 1, g / (6 * n) - point]) for point in points]
    return [center - sd * r[np.abs(r.imag).argmin()].real for r in roots]


def same(estimate, expected, n):
    assert estimate.n == n
    assert all(type(number) is float for number in estimate[1:3])
    assert estimate[:3] == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True)


STREAM = np.random.default_rng(0)
SAMPLES = {
    **{f"constant_{n}": np.full(n, 7.0) for n in (1, 2, 4, 9)},
    "zeros": np.zeros(5),
    "tenths": np.full(3, 0.1),  # the mean is rounded: computed, their variance is not quite 0
    "ties": STREAM.integers(0, 3, 40).astype(float),
    "counts": STREAM.integers(0, 60, 12),
    "far": 1e9 + 1e-4 * STREAM.normal(size=8),  # nearly constant
    **{f"normal_{n}": 3 + STREAM.normal(size=n) for n in (1, 2, 3, 4, 5, 6, 7, 30, 2001)},
}


def test_no_difference_of_shares_is_beyond_one():
    """In statsmodels it may be -1.0000000000000002, as for 0 of 1 and 37 of 37."""
    for n in range(1, 50):
        assert contrasts.share_difference(0, 1, n, n).low == -1
        assert contrasts.share_difference(1, 1, 0, n).high == 1
    assert math.isnan(contrasts.share_difference(1, 5, 0, 0).value)


@pytest.mark.parametrize("values", SAMPLES.values(), ids=SAMPLES)
def test_means_are_the_formulas(values):
    n = len(values)
    same(stats.mean(values, normal=True), mean(values, normal=True), n)
    _, low, high = mean(values, normal=False)
    if math.isnan(low):
        assert math.isnan(stats.mean(values).low)
    else:
        by_hall = hall(values)
        same(stats.mean(values), (np.mean(values), min(low, by_hall[0]), max(high, by_hall[1])), n)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100])
def test_of_equal_values_a_share_may_be_at_the_bound(n):
    unseen = 1 - 0.025 ** (1 / n)
    low, high = 2 + (1 - unseen), 3 + unseen
    assert stats.bounded_mean(np.full(n, 3.0), 2, 4) == pytest.approx((3, low, high, n))
    assert stats.bounded_mean(np.full(n, 3.0), 2) == pytest.approx((3, low, math.inf, n))


def test_the_interval_of_a_bounded_mean_stays_within_its_bounds():
    rows = STREAM.beta(0.3, 0.3, (500, 6))
    means = stats.means(rows, 0, 1)
    assert means["low"].min() == 0 and means["high"].max() == 1
    assert (means["low"] < means["estimate"]).all() and (means["estimate"] < means["high"]).all()


def test_means_of_rows_are_those_of_each_row():
    """This also holds if some values are unknown."""
    rows = STREAM.beta(5, 1, (9, 8))
    rows[STREAM.random(rows.shape) < 0.3] = math.nan
    for bounds in ((0, 1), (0, math.inf), (-math.inf, math.inf)):
        intervals = stats.means(rows, *bounds).to_numpy()
        for row, interval in zip(rows, intervals, strict=True):
            np.testing.assert_allclose(interval, stats.bounded_mean(row, *bounds))
    single = stats.means(np.array([[0.5, math.nan]]), 0, 1)
    assert single["low"].isna().all() and single["n_runs"].tolist() == [1]


def test_what_is_slow_to_import_waits_until_it_is_called():
    slow = "{'scipy.stats', 'statsmodels'}"
    code = f"import sys, circlet.analysis.stats; print({slow} & {{*sys.modules}})"
    assert output_of(code) == "set()"


@pytest.mark.filterwarnings("ignore")
def test_medians_of_censored_times_are_those_of_lifelines():
    stream = np.random.default_rng(0)
    for n in (*range(1, 12), 40):
        for share in (0.2, 0.6, 1.1):
            times, happened = stream.integers(0, 9, n), stream.random(n) < share
            theirs = KaplanMeierFitter().fit(times, happened)
            ends = median_survival_times(theirs.confidence_interval_).to_numpy()[0]
            middle = median_survival_times(theirs.survival_function_.round(12))
            expected = (middle, *sorted(ends))
            assert stats._kaplan_meier(times.astype(float), happened) == pytest.approx(expected)


def test_of_few_that_got_there_no_median_is_known():
    """This holds even if all runs observed so long reached it, as after a late start."""
    after = np.array([*range(500, 519), 520.0])
    median = stats.median_time(after, [*[math.nan] * 19, 560.0])
    assert math.isinf(median.value) and math.isinf(median.high) and median.low < 520
    half = stats.median_time(after, [*[math.nan] * 10, *range(530, 540)])
    assert math.isfinite(half.value)


def test_if_half_got_there_the_last_of_them_is_the_median():
    def half_of(n):
        reached = np.arange(1.0, n / 2 + 1)
        rest = np.full(n // 2, np.nan)
        after = np.r_[reached - 1, np.full(n // 2, n)]
        return stats.median_time(after, np.r_[reached, rest]).value

    numbers = [*range(2, 60, 2)]
    assert [half_of(n) for n in numbers] == [n / 2 for n in numbers]


def test_median_times_cover_what_they_say():
    """This also holds if steps are logged rarely and a fifth of the runs never reach the event."""
    stream = np.random.default_rng(0)

    def looked_at():
        by = np.ceil(stream.exponential(100, 10) / 50) * 50
        return np.minimum(by - 50, 150), np.where(by > 150, math.nan, by)

    draws = [looked_at() for _ in range(100)]
    assert least(100) < coverage(lambda d: stats.median_time(*d), 100 * math.log(2), draws)
