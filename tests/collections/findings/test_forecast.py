import numpy as np
import pandas as pd
import pytest
from conftest import config

from circlet.analysis import classifiers, stats
from circlet.collections.findings.tables import forecast
from circlet.study import planning


def wide():
    """Signals of two runs with three frequencies at steps 0, 5 and 10."""
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2, 3]], names=["run_id", "frequency"])
    values = np.array([[8, 4, 2], [8, 8, 8], [8, 8, 8], [1, 1, 4], [1, 1, 1], [1, 1, 1.0]])
    return pd.DataFrame(values, index=index, columns=[0, 5, 10])


def test_forecast_features_know_nothing_of_later_steps():
    later = wide()
    later[10] *= np.arange(1, 7)
    for step in (0, 5):
        expected = forecast.features(wide(), step)
        np.testing.assert_array_equal(forecast.features(later, step), expected)
    assert (forecast.features(wide(), 10) != forecast.features(later, 10)).any()


def test_forecast_features_are_relative_to_the_run():
    louder = wide()
    louder.loc["a"] = louder.loc["a"].to_numpy() * 7
    for step in (0, 5, 10):
        expected = forecast.features(wide(), step)
        np.testing.assert_allclose(forecast.features(louder, step), expected, atol=1e-12)
    now, growth, recent = forecast.features(wide(), 10)[0]
    assert (now, growth) == pytest.approx([np.log(1 / 4) * 2 / 3] * 2)
    assert recent == pytest.approx(np.log(1 / 2) * 2 / 3)


def test_forecast_grid_has_logged_steps_only():
    settings = config("r", system="embedding_mlp", steps=300, log={"signals": {"every": 50}})
    (point,) = planning.plan(settings).points
    steps = forecast.grid([point])
    assert set(steps) <= set(point.steps_logged("signals"))
    assert (steps[0], steps[-1]) == (0, 300)


def crossed(n_embeddings=8, n_networks=5, by_network=0.0):
    """Return rows of frequencies whose survival follows from x and from the seed of a network."""
    stream = np.random.default_rng(0)
    runs = [(e, k) for e in range(n_embeddings) for k in range(n_networks)]
    of = np.repeat(np.arange(len(runs)), 20)
    embedding, network = np.array(runs)[of].T
    frequency = np.tile(np.arange(20), len(runs))
    taste = stream.normal(size=(n_networks, 20))[network, frequency]
    x = stream.normal(size=len(of))
    alive = x + by_network * taste + 0.5 * stream.normal(size=len(of)) > 1
    return x, alive, of, embedding, network, taste


def test_a_run_is_scored_by_runs_that_share_nothing_with_it():
    """A relation that holds for one network only does not help to predict runs of another."""
    _, *runs, taste = crossed(by_network=3.0)
    network = runs[-1]
    codes = np.eye(20 * 5)[20 * network + np.tile(np.arange(20), len(network) // 20)]
    learned = classifiers.crossed_scores(codes, *runs, forecast.regression)
    assert len(learned) == 40
    assert abs(learned["auc"].mean() - 0.5) < 0.1
    informed = classifiers.crossed_scores(taste[:, None], *runs, forecast.regression)
    assert informed["auc"].mean() > 0.9


def test_sets_that_are_told_exactly():
    x, *runs, _ = crossed(4, 3)
    sure = np.where(runs[0], 5.0, -5.0)[:, None]  # alive
    exact = classifiers.crossed_scores(sure, *runs, forecast.regression)
    assert (exact["exact"] == 1).all() and (exact["jaccard"] == 1).all()
    noisy = classifiers.crossed_scores(x[:, None], *runs, forecast.regression)
    assert 0.3 < noisy["jaccard"].mean() < 1 > noisy["exact"].mean()


def test_means_over_crossed_runs_have_no_interval_without_a_spread():
    stream = np.random.default_rng(0)
    rows, columns = np.divmod(np.arange(40), 5)
    alike = stats.crossed_mean(np.ones(40), rows, columns)
    assert alike.value == 1 and np.isnan(alike.low)
    mean = stats.crossed_mean(stream.normal(size=30), np.arange(30), np.arange(30))
    assert mean.n == 30 and mean.high - mean.low == pytest.approx(2 * 1.96 / np.sqrt(30), rel=0.4)
