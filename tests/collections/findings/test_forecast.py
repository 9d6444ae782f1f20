import numpy as np
import pandas as pd
import pytest
from conftest import experiment

from circlet.collections.findings.tables import forecast, forecast_milestones
from circlet.study.plan import Study


def wide(**changes):
    """Signals of two runs with three frequencies at steps 0, 5 and 10."""
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2, 3]], names=["run_id", "frequency"])
    values = np.array([[8, 4, 2], [8, 8, 8], [8, 8, 8], [1, 1, 4], [1, 1, 1], [1, 1, 1.0]])
    return pd.DataFrame(values, index=index, columns=[0, 5, 10])


def test_forecast_features_know_nothing_of_later_steps():
    later = wide()
    later[10] *= np.arange(1, 7)
    for step in (0, 5):
        np.testing.assert_array_equal(
            forecast.features(wide(), step), forecast.features(later, step)
        )
    assert (forecast.features(wide(), 10) != forecast.features(later, 10)).any()


def test_forecast_features_are_relative_to_the_run():
    louder = wide()
    louder.loc["a"] = louder.loc["a"].to_numpy() * 7
    for step in (0, 5, 10):
        np.testing.assert_allclose(
            forecast.features(wide(), step), forecast.features(louder, step), atol=1e-12
        )
    now, growth, recent = forecast.features(wide(), 10)[0]
    assert (now, growth) == pytest.approx([np.log(1 / 4) * 2 / 3] * 2)
    assert recent == pytest.approx(np.log(1 / 2) * 2 / 3)


def test_forecast_grid_has_logged_steps_only():
    point = Study.of(
        {
            "results": "r",
            "experiments": {
                "e": experiment("embedding_mlp", steps=300, log={"signals": {"every": 50}})
            },
        }
    ).points[0]
    steps = forecast.grid([point])
    assert set(steps) <= set(point.steps_logged("signals"))
    assert (steps[0], steps[-1]) == (0, 300)


@pytest.mark.parametrize(
    ("auc", "expected"),
    [([0.5, 0.8, 0.95, 0.96], 10), ([0.95, 0.5, 0.95, 0.96], 10), ([0.95] * 4, 0),
     ([0.95, 0.95, 0.95, 0.5], np.nan), ([0.5, 0.95, np.nan, 0.96], 100)],
)  # fmt: skip
def test_a_milestone_is_passed_for_good(auc, expected):
    found = forecast_milestones.passes(pd.Series([0, 1, 10, 100]), pd.Series(auc), 0.9)
    assert found == expected or (np.isnan(found) and np.isnan(expected))
