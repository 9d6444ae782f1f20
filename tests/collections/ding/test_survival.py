from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import circle

from circlet.collections.ding import run_list, survivors
from circlet.collections.ding.explorer import data
from circlet.collections.ding.shared_seeds import SEEDS
from circlet.collections.ding.tables import (
    circle_ablations,
    constructed_rates,
    projections,
    survival,
    survival_classifiers,
)


def log(embeddings):
    """Rows of the log of embeddings of one run, from a dict of steps."""
    return pd.DataFrame(
        [
            (step, token, vector)
            for step, embedding in embeddings.items()
            for token, vector in enumerate(embedding)
        ],
        columns=["step", "token", "vector"],
    )


def test_a_planted_run():
    """Frequency 2 grows from 3 to 5, all others die; early signals fall by a known share."""
    p = 11
    start = np.hstack([3.0 * circle(p, 2), 1.0 * circle(p, 4)])
    end = np.hstack([5.0 * circle(p, 2), 0.01 * circle(p, 4)])
    early = np.array([[10, 20, 30, 40, 50]]) * np.array([[1], [0.9], [0.85], [0.8], [0.7]])
    rows = survival.run_rows(log({0: start, 9: end}).sample(frac=1, random_state=0), early, 9)
    assert list(rows["frequency"]) == [1, 2, 3, 4, 5]
    assert list(rows["survived"]) == [False, True, False, False, False]
    signals = [5 * p / 2 * 2**0.5, 0.01 * p / 2**0.5]
    np.testing.assert_allclose(rows["final_signal"][[1, 3]], signals)
    np.testing.assert_allclose(rows["initial_gradient"], -0.1)
    np.testing.assert_allclose(rows["early_gradients"][2], [-0.1, -0.05, -0.05, -0.1])
    np.testing.assert_allclose(rows["circularity"][[1, 3]], 1)


def test_runs_of_fewer_steps_have_no_initial_gradient():
    p = 7
    rows = survival.run_rows(log({0: 1 * circle(p, 1), 2: 1 * circle(p, 1)}), np.ones((3, 3)), 2)
    assert np.isnan(rows["initial_gradient"]).tolist() == [True] * 3


def test_runs_are_listed_by_their_number_of_survivors(monkeypatch):
    rows = pd.DataFrame(
        {"run_id": list("aaabbcc"), "frequency": [1, 2, 3, 1, 2, 1, 2],
         "survived": [True, False, True, False, True, False, False]}
    )  # fmt: skip
    rows["experiment"] = list("eeeffee")
    monkeypatch.setattr(run_list.parquet, "read_table", lambda study, name: rows)
    runs = run_list.runs(SimpleNamespace(reproduce={"trajectory": "f"})).set_index("run_id")
    assert runs["outcome"].to_dict() == {"a": "2 survivors", "b": "1 survivor", "c": "0 survivors"}
    assert runs["survivors"].to_dict() == {"a": [1, 3], "b": [2], "c": []}
    assert runs["named"].to_dict() == {"a": False, "b": True, "c": False}


def test_the_tour_is_of_a_run_without_interventions():
    played = pd.DataFrame(
        {"run_id": ["e/x/s00000"], "system": ["embedding_mlp"], "survivors": [[2, 5]],
         "frames": [9], "p": [13], "d": [8], "last_step": [100]}
    )  # fmt: skip
    columns = {"survivors": [[3]], "cut.without_rank": [1.0]}
    assert data.tour({}, played.assign(**columns)) == []
    both = pd.concat([played.assign(**columns, frames=99), played.assign(survivors=[[4]])])
    (stop,) = data.tour({}, both)
    assert "What survives is coloured (frequency 4);" in stop["text"]


def test_removed_frequencies_have_no_gradient():
    gradients = survivors.relative_gradients(np.array([[50.0, 1e-6], [45.0, 1.0]]))
    assert gradients[0, 0] == pytest.approx(-0.1)
    assert np.isnan(gradients[0, 1])


def groups(n_groups=12, size=20, gap=2.0):
    rng = np.random.default_rng(0)
    alive = rng.random(n_groups * size) < 0.3
    x = rng.normal(size=n_groups * size) + gap * alive
    return x[:, None], alive, np.repeat(np.arange(n_groups), size)


def test_auc_is_one_where_it_can_be_told_and_a_half_where_not():
    x, alive, group = groups(gap=50)
    assert survival_classifiers.held_out_auc(x, alive, group).value == 1
    x, alive, group = groups(gap=0, n_groups=60)
    auc = survival_classifiers.held_out_auc(x, alive, group)
    assert abs(auc.value - 0.5) < 0.08
    assert auc.n >= 55


def test_auc_never_sees_the_group_that_it_scores():
    """Within a group the sign is random: only a model fitted to the group could predict it."""
    rng = np.random.default_rng(0)
    alive = np.tile([True, False], 200)
    group = np.repeat(np.arange(20), 20)
    one_hot = np.eye(20)[group] * np.where(alive, 1, -1)[:, None] * rng.choice([-1, 1], 20)
    auc = survival_classifiers.held_out_auc(one_hot, alive, group)
    assert abs(auc.value - 0.5) < 0.35


def test_one_embedding_has_no_held_out_score():
    x, alive, _ = groups()
    assert survival_classifiers.held_out_auc(x, alive, np.zeros(len(x))).n == 0


def test_always_dead_is_as_good_as_the_share_of_the_dead():
    x, alive, group = groups(gap=0, n_groups=50)
    runs = pd.DataFrame(dict.fromkeys(["run_id", *SEEDS], group))
    accuracy, majority, gain = survival_classifiers.held_out_accuracy(x, alive, runs)
    assert majority.value == pytest.approx(100 * (1 - alive.mean()))
    assert accuracy.value == pytest.approx(majority.value)
    assert gain.value == pytest.approx(0)
    x, alive, group = groups(gap=8)
    runs = pd.DataFrame(dict.fromkeys(["run_id", *SEEDS], group))
    accuracy, majority, gain = survival_classifiers.held_out_accuracy(x, alive, runs)
    assert accuracy.value > 97 > majority.value
    assert gain.value == pytest.approx(accuracy.value - majority.value)
    assert gain.low > 0
    assert majority.low < majority.value < majority.high
    assert (accuracy.n, accuracy.high <= 100) == (12, True)
    none = survival_classifiers.held_out_accuracy(x, np.zeros(len(x), dtype=bool), runs)
    assert [np.isnan(part.value) for part in none] == [True] * 3
    one = runs.assign(embedding_seed=0)  # whole runs are held out, but they are one sample
    gain = survival_classifiers.held_out_accuracy(x, alive, one)[2]
    assert (gain.value > 0, gain.n) == (True, 1)


def test_constructed_outcomes_go_by_initial_signal():
    run = pd.DataFrame(
        {"run_id": "r", **dict.fromkeys(SEEDS, 3), "construct_ratio": 0.5,
         "frequency": [1, 2, 3, 4], "initial_signal": [1e-6, 80, 40, 1e-6],
         "survived": [True, True, False, False]}
    )  # fmt: skip
    (row,) = constructed_rates.outcomes(run).itertuples(index=False)
    assert tuple(row) == (0.5, 3, 3, 3, True, False, True)
    # Equal signals, which rounding may order either way, are ordered by frequency.
    equal = run.assign(initial_signal=[1e-6, 80.000001, 80.000002, 1e-6])
    assert constructed_rates.outcomes(equal)["first"].tolist() == [True]


def test_ablations_are_all_choices_of_up_to_three():
    choices = circle_ablations.choices([3, 8, 9, 1])
    assert [sum(len(c) == n for c in choices) for n in range(4)] == [1, 4, 6, 4]


def test_principal_components_are_in_order_and_centred():
    embedding = np.random.default_rng(0).normal(size=(13, 6)) * [9, 5, 3, 1, 1, 1]
    parts = projections.components(embedding)
    spread = (parts**2).sum(0)
    assert (np.diff(spread) < 0).all()
    np.testing.assert_allclose(parts.mean(0), 0, atol=1e-12)
