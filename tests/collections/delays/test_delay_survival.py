"""Exponents and laws that were planted in censored times are found again."""

import numpy as np
import pandas as pd
import pytest
from lifelines import LogNormalAFTFitter

from circlet.collections.delays import survival

DECAYS = (0.1, 0.2, 0.4, 0.8, 1.6)


def drawn(law, sigma=0.15, last=4000, seeds=40, spacing=20, seed=0):
    """Return times by ``law`` of the decay, seen at logged steps up to the last one."""
    stream = np.random.default_rng(seed)
    frame = pd.DataFrame([(s, x) for s in range(seeds) for x in DECAYS], columns=["seed", "x"])
    time = law(frame["x"]) * np.exp(stream.normal(0, sigma, len(frame)))
    by = np.ceil(time / spacing) * spacing
    is_seen = by <= last
    frame["by"] = by.where(is_seen)
    frame["after"] = (by - spacing).where(is_seen, last)
    return frame


@pytest.mark.parametrize("b", [0.75, 1.0, 1.26])
def test_a_planted_exponent_is_found_though_most_runs_are_censored_at_the_smallest_decay(b):
    times = drawn(lambda x: 500 * x**-b, last=500 * 0.1**-b * 0.9)
    assert times[times["x"] == 0.1]["by"].notna().mean() < 0.5
    exponent = survival.exponent(times)
    assert exponent.low < b < exponent.high
    assert exponent.high - exponent.low < 0.1
    assert exponent.n == 40
    naive = np.polyfit(*np.log(times.dropna()[["x", "by"]].to_numpy().T), 1)[0]
    assert abs(exponent.value - b) < abs(-naive - b)


@pytest.mark.filterwarnings("ignore:Starting with pandas")
def test_the_regression_is_that_of_lifelines():
    times = drawn(lambda x: 300 / x, last=2500)
    frame = pd.DataFrame({
        "after": times["after"], "by": times["by"].fillna(np.inf), "log_x": np.log(times["x"]),
    })  # fmt: skip
    theirs = LogNormalAFTFitter().fit_interval_censoring(frame, "after", "by").params_
    ours = survival.fit("power", times)
    expected = [theirs["mu_", "Intercept"], -theirs["mu_", "log_x"]]
    assert ours.parameters == pytest.approx(expected, abs=1e-3)
    assert ours.log_sigma == pytest.approx(theirs["sigma_", "Intercept"], abs=1e-3)


@pytest.mark.slow
def test_intervals_contain_the_planted_exponent_as_often_as_they_say():
    exponents = [
        survival.exponent(drawn(lambda x: 300 / x, last=2500, seeds=8, seed=seed))
        for seed in range(40)
    ]
    assert sum(one.low < 1 < one.high for one in exponents) >= 34


@pytest.mark.parametrize(
    ("planted", "law"),
    [
        ("sum", lambda x: 400 + 150 / x),
        ("power", lambda x: 500 * x**-0.6),
        ("inverse", lambda x: 300 / x),
    ],
)
def test_the_planted_law_predicts_a_decay_that_is_left_out_best(planted, law):
    times = drawn(law)
    scores = {model: survival.left_out(model, times).mean() for model in survival.MODELS}
    assert scores[planted] > max(scores.values()) - 0.01  # the others may contain it
    if planted != "inverse":
        assert scores[planted] > sorted(scores.values())[-2] + 0.02


def test_too_few_events_have_no_exponent():
    times = drawn(lambda x: 1e6 / x)
    assert np.isnan(survival.exponent(times).value)
    one = drawn(lambda x: 300 / x).query("x == 0.4")
    assert np.isnan(survival.exponent(one).value)


def test_runs_that_began_with_the_event_or_never_began_are_left_out():
    times = pd.DataFrame({"after": [0, 0, np.nan, 50, 0], "by": [0, 20, np.nan, np.nan, np.nan]})
    assert list(survival.usable(times).index) == [1, 3]


def test_a_run_that_memorised_at_its_end_changes_no_exponent():
    times = drawn(lambda x: 500 * x**-0.75)
    last = times.iloc[[0]].assign(after=0.0, by=np.nan)
    assert survival.exponent(pd.concat([times, last])) == survival.exponent(times)
