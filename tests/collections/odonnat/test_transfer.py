"""Runs that start from another run's end."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import CPU, experiment, planned, refused, run_blocks, table_of

from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.collections.odonnat.tables import interpolations, odonnat_claims, seed_effects
from circlet.storage import parquet

SMALL = {"length": 4, "k": 2, "n_train": 32, "n_test": 16, "batch_size": 16}
TRANSFER = [{"transfer": {"of": "base"}}]


def small(**changes):
    parameters = SMALL | changes.pop("parameters", {})
    return experiment("sparse_transformer", parameters=parameters, **changes)


def child_of(base, results, **changes):
    """The point of an experiment that starts from another one, after both have run."""
    child = small(parameters={"p": 3}, interventions=TRANSFER, **changes)
    return run_blocks(planned(results, base=base, child=child)).experiment("child")[0]


def network(block, step, seed):
    rows = parquet.read_log(block, "parameters", [step]).query("seed == @seed").set_index("name")
    return rows["values"].map(tuple).to_dict()


def test_a_run_starts_where_its_parent_ended(tmp_path):
    child = child_of(small(seeds={"count": 4}), tmp_path, block=1)
    assert child.name.endswith("transfer-of-base")
    for seed, block in zip((0, 1), child.blocks, strict=True):
        (parent,) = block.parents
        assert block.inputs == [parent.log("parameters")]
        assert [*block.seeds] == [seed]
        assert network(block, 0, seed) == network(parent, parent.point.steps, seed)
        assert network(block, 5, seed) != network(block, 0, seed)


def test_the_optimiser_starts_anew_on_its_own_data(tmp_path):
    """The first step is Adam's first, -lr g / (|g| + eps), for g on a batch of the child."""
    point = child_of(small(steps=40), tmp_path, steps=1, dtype="float64")
    logged = parquet.read_weights(point.blocks[0], [0, 1])
    weights = {name: torch.as_tensor(array[0, :1]).double() for name, array in logged.items()}
    seeds = [point.seeds(0)]
    data = system.data(point.parameters, seeds, torch.float64, CPU)
    gradient = {name: torch.zeros_like(array) for name, array in weights.items()}
    system.gradients(weights, system.batch(data, 1), gradient)
    for name, array in logged.items():
        g = gradient[name][0].numpy()
        expected = array[0, 0] - 0.003 * g / (np.abs(g) + 1e-8)
        np.testing.assert_allclose(array[1, 0], expected, rtol=1e-4, atol=1e-6)
    assert data.train.absent.shape[1] == 3 * 4


def test_the_shapes_must_agree_and_the_rest_may_differ():
    base = small(parameters={"hidden": 8})
    said = refused(lambda: planned(base=base, child=small(interventions=TRANSFER)))
    assert "base has no point with the d, length, vocabulary, hidden, bias and" in said
    changes = {"p": 3, "hidden": 8, "learning_rate": 0.1, "batch_size": 8, "k": 1, "dropout": 0.5}
    child = small(parameters=changes, interventions=TRANSFER)
    point = planned(base=base, child=child).experiment("child")[0]
    assert point.parent.parameters["p"] == 2


def test_of_several_parents_the_one_alike_is_taken():
    base = small(parameters={}, sweep={"learning_rate": [0.001, 0.01]})
    child = small(parameters={"p": 3}, sweep={"learning_rate": [0.01]}, interventions=TRANSFER)
    (point,) = planned(base=base, child=child).experiment("child")
    assert point.parent.parameters["learning_rate"] == 0.01
    said = refused(lambda: planned(base=base, child=small(interventions=TRANSFER)))
    assert "base has no point with" in said


def test_the_system_must_allow_a_parent():
    child = experiment("embedding_mlp", sweep={"p": [11]}, interventions=TRANSFER)
    said = refused(lambda: planned(base=experiment("embedding_mlp"), child=child))
    assert "cannot start from others: write " in said and " docs/extending" in said


def test_a_line_between_two_ends(tmp_path):
    roles = ["curriculum", "curriculum_scratch"]
    whole = planned(
        tmp_path, {"reproduce": {role: role for role in roles}}, base=small(),
        curriculum=small(parameters={"p": 3}, interventions=TRANSFER),
        curriculum_scratch=small(parameters={"p": 3}),
    )  # fmt: skip
    run_blocks(whole)
    table = table_of(interpolations, whole.subset(roles, roles))
    assert set(table["t"].round(2)) == set(np.linspace(0, 1, 51).round(2))
    end = table[(table["t"] == 1) & (table["seed"] == 1)]
    runs = parquet.read_log(whole.experiment("curriculum")[0].blocks[0], "runs").set_index("seed")
    assert end["test_loss"].item() == pytest.approx(runs.loc[1, "test_loss"], rel=1e-4)
    assert end["train_loss"].item() == pytest.approx(runs.loc[1, "train_loss"], rel=1e-4)
    assert end["test_accuracy"].item() == pytest.approx(runs.loc[1, "test_accuracy"])


def crossed(effect, noise=0.01, levels=(12, 3, 3)):
    stream = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*map(np.arange, levels), indexing="ij"), -1).reshape(-1, 3)
    y = 0.7 + noise * stream.normal(size=len(grid))
    for factor, size in enumerate(effect):
        y = y + size * stream.normal(size=levels[factor])[grid[:, factor]]
    columns = dict(zip(seed_effects._FACTORS.values(), grid.T, strict=True))
    return pd.DataFrame(columns | {"test_accuracy": y})


def test_the_seed_that_decides_is_named():
    shares = seed_effects.effects(crossed((0.1, 0, 0), noise=0.05))
    assert shares["initialisation"].low > 0.5
    for name in ("data", "order"):
        assert shares[name].low == 0
        assert shares[name].high < 0.15
    shares = seed_effects.effects(crossed((0, 0.2, 0), noise=0.05))
    assert shares["initialisation"].low < 0.05
    assert shares["data"].low > 0.5


def test_shares_cover_the_truth():
    """For pure noise, the interval of a factor's share contains 0 in at least 93 % of cases."""
    holds = []
    for seed in range(200):
        runs = crossed((0, 0, 0), levels=(8, 2, 2))
        runs["test_accuracy"] = np.random.default_rng(seed).normal(size=len(runs))
        holds.append(seed_effects.effects(runs)["initialisation"].low == 0)
    assert np.mean(holds) > 0.93


def test_an_incomplete_design_has_no_shares():
    for runs in (crossed((0.1, 0, 0)).iloc[1:], crossed((0.1, 0, 0), levels=(12, 3, 1))):
        shares = seed_effects.effects(runs).values()
        assert [math.isnan(share.value) for share in shares] == [True] * 3


def test_initialisations_may_matter_although_their_means_are_equal():
    """Good ones with one train set may be bad ones with the other."""
    runs = crossed((0, 0, 0), levels=(20, 2, 2))
    better = np.random.default_rng(0).normal(size=20)[runs["embedding_seed"]]
    runs["test_accuracy"] += 0.1 * np.where(runs["data_seed"] == 0, better, -better)
    share = seed_effects.effects(runs)["initialisation"]
    assert share.low > 0.5 and share.n == 2  # as many train sets


def test_advantage_counts_successes():
    advantage = odonnat_claims.advantage(pd.Series([1.0, 1, 0.5, 1]), pd.Series([0.3, 1, 0.2, 0.1]))
    assert advantage.value == 50
    assert advantage.low < 50 < advantage.high
