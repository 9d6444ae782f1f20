"""Interventions in training: settings that change by step, and a fixed norm."""

import copy
from dataclasses import replace
from functools import partial

import numpy as np
import plain
import pytest
import torch
from conftest import CPU, config
from test_verify import of

from circlet import native
from circlet.study import planning, swept
from circlet.training import autograd, native_run, run
from circlet.training.group import tables
from circlet.training.verify import verify

STEPS, BEGINS = 40, 15
LATER = {"weight_decay": 3.0, "learning_rate": 0.002}
TRAINERS = {"native": native_run.run_alone, "pytorch": partial(run.run_group, device=CPU)}


@pytest.fixture(params=TRAINERS)
def steps_of(request):
    """Trains a group of runs, and yields it after every step or some steps."""
    if request.param == "native" and native.missing():
        pytest.skip(native.missing())
    return TRAINERS[request.param]


@pytest.fixture
def train(steps_of):
    """Trains two runs of a point and returns their logs."""
    return lambda point: tables(point, [[*steps_of(point, [seed])][-1] for seed in (0, 1)])


def point(*interventions, **changes):
    settings = {
        "system": "embedding_mlp",
        "parameters": {"p": 11, "d": 6, "hidden": 8},
        "steps": STEPS,
        "dtype": "float64",
        "log": {"curves": {"every": 1}, "parameters": {"every": 1}},
        "interventions": [*interventions],
    }
    return planning.plan(config(**settings | changes)).points[0]


def curves(tables):
    return tables["curves"].to_pandas().drop(columns="run_id", errors="ignore")


def norms(tables):
    """Return the norm of all weights, (steps + 1, seeds)."""
    frame = tables["parameters"].to_pandas()
    squares = frame["values"].map(lambda values: np.square(values, dtype=float).sum())
    return np.sqrt(squares.groupby([frame["step"], frame["seed"]]).sum().unstack().to_numpy())


def assert_as_in_a_usual_loop(of, logged, share, warm_up=1):
    """Compare train losses with those of a usual PyTorch loop whose settings change.

    ``share`` gives the part of the change that a step, counted from 1, has.
    """
    for seed in (0, 1):
        reference = plain.one(of.system.name, of.parameters, of.seeds(seed), torch.float64)
        [group], expected = reference.optimizer.param_groups, [reference.loss()]
        for step in range(1, STEPS + 1):
            for ours, theirs in (("weight_decay", "weight_decay"), ("learning_rate", "lr")):
                first = of.parameters[ours]
                group[theirs] = first + share(step) * (LATER[ours] - first)
            group["lr"] *= min(1, step / warm_up)
            reference.step(step)
            expected.append(reference.loss())
        mine = logged[logged["seed"] == seed]["train_loss"]
        np.testing.assert_allclose(mine, expected, rtol=1e-6)  # logs are float32


@pytest.mark.parametrize("over", [1, 7])
def test_settings_change_as_in_a_usual_loop(train, over):
    changed = point({"change": {"step": BEGINS, "over": over, **LATER}})
    logged, same = curves(train(changed)), curves(train(point()))
    until = logged["step"] <= BEGINS
    assert logged[until].equals(same[until])  # bit by bit
    assert (logged[~until]["train_loss"] != same[~until]["train_loss"]).all()
    assert_as_in_a_usual_loop(changed, logged, lambda step: min(1, max(0, step - BEGINS) / over))


@pytest.mark.parametrize("warm_up", [4, BEGINS + 3])
def test_the_learning_rate_warms_up_and_changes(train, warm_up):
    """As in a usual loop, also if the change begins before the warm-up ends."""
    both = point({"warm_up": {"steps": warm_up}}, {"change": {"step": BEGINS, **LATER}})
    assert_as_in_a_usual_loop(both, curves(train(both)), lambda step: step > BEGINS, warm_up)


def test_a_clamped_norm_stays(train):
    free = norms(train(point()))
    clamped = norms(train(point({"clamp": {"step": BEGINS, "factor": 1.2}})))
    np.testing.assert_array_equal(clamped[: BEGINS + 1], free[: BEGINS + 1])
    np.testing.assert_allclose(clamped[BEGINS + 1 :] / clamped[BEGINS], 1.2, rtol=1e-6)
    assert not np.isclose(free[BEGINS + 1 :] / free[BEGINS], 1.2).any()


@pytest.mark.parametrize("stop", [BEGINS - 3, BEGINS, BEGINS + 3])
def test_an_interruption_changes_nothing(steps_of, stop):
    settings = {"change": {"step": BEGINS, "over": 9, **LATER}}
    constraint = {"clamp": {"step": BEGINS, "factor": 0.9}}
    of = point({"warm_up": {"steps": BEGINS}}, settings, constraint, dtype="float32")
    for seed in (0, 1):
        state = None
        for whole in steps_of(of, [seed]):
            if whole.done >= stop and state is None:
                state = copy.deepcopy(whole.state())
        assert state["done"] < STEPS
        *_, resumed = steps_of(of, [seed], saved=state)
        for kind in ("curves", "parameters"):
            assert resumed.tables()[kind].equals(whole.tables()[kind])


def test_users_networks_change_as_in_a_plain_loop(tmp_path):
    decays = {"embed.weight": 3, "output.bias": 0}
    more = f"def weight_decay_multipliers(parameters):\n    return {decays}"
    interventions = [
        {"change": {"step": 2, "over": 1, "learning_rate": 0.05, "weight_decay": 2}},
        {"clamp": {"step": 1, "factor": 1.1}},
    ]
    of_user = replace(of(tmp_path, {"more": more}), interventions=interventions)
    declared = autograd.equations(of_user.system).weight_decay_multipliers({})
    assert declared == {"embedding": 3, "output.bias": 0}
    assert verify(of_user, [0, 1], CPU, steps=6) < 1e-12


def test_values_make_points_and_columns():
    """Several forks of a run in one experiment."""
    forks = {"change": {"step": [10, 20], "weight_decay": [0.1, 1.0]}}
    compared = {"change_weight_decay": [1, 0.1]}
    study = planning.plan(config(steps=STEPS, interventions=[forks], compare=compared))
    pairs = swept.pairs(study.points, *study.config.experiments["e"].compare.popitem())
    assert [text for _, _, text in pairs] == ["change_step 10", "change_step 20"]
