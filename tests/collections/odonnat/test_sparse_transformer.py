import numpy as np
import pytest
import torch
from conftest import config, point_of, trained_logs
from plain.sparse_transformer import SparseTransformer
from torch import nn

from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.collections.odonnat.systems.sparse_transformer import SYSTEM
from circlet.study import cost, planning
from circlet.study.seeds import Seeds

SMALL = {"n_train": 64, "n_test": 48, "batch_size": 16}


def point(steps=100, dtype="float64", log=None, **parameters):
    settings = {"system": "sparse_transformer", "steps": steps, "dtype": dtype, "log": log or {}}
    return point_of(**settings, parameters=SMALL | parameters)


def test_half_of_the_test_set_of_p_2_is_new():
    """Train sequences cover 39.3 % of all 4096: 1 - (1 - 1/4096)^2048."""
    shares = []
    for seed in range(20):
        train, test = system.sequences(SYSTEM.defaults, Seeds(0, 0, seed, 0))
        seen = {row.tobytes() for row in train}
        shares.append(np.mean([row.tobytes() in seen for row in test]))
    assert np.mean(shares) == pytest.approx(0.3935, abs=0.01)


def test_number_of_parameters():
    """196 with two tokens, 198 with three; 9920 at d 32 and width 128 (counted from equations)."""
    for expected, given in (
        (196, {"vocabulary": 2}),
        (198, {}),
        (9920, {"p": 4, "vocabulary": 4, "d": 32, "hidden": 128}),
        (198 - 34, {"bias": False}),
    ):
        p = point(**given)
        arrays = system.initial(p.parameters, Seeds(0, 0, 0, 0))
        assert sum(array.size for array in arrays.values()) == expected
        assert cost.weights(p) == expected


def test_initialisation():
    start = system.initial(point(hidden=20_000, d=40).parameters, Seeds(0, 0, 0, 0))
    for name, inputs in (("query", 40), ("value.weight", 40), ("hidden.weight", 40),
                         ("hidden.bias", 40), ("output.weight", 20_000)):  # fmt: skip
        bound = np.abs(start[name]).max() * np.sqrt(inputs)
        assert 0.9 < bound <= 1, name
    wide = system.initial(point(length=9000, vocabulary=9000).parameters, Seeds(0, 0, 0, 0))
    for name in ("embedding", "position"):
        assert wide[name].std() == pytest.approx(1, abs=0.05)


def test_networks_of_all_widths_share_the_rest_and_their_first_neurons():
    narrow, wide = (system.initial(point(hidden=h).parameters, Seeds(0, 1, 2, 0)) for h in (10, 40))
    for name in ("embedding", "position", "query", "value.weight"):
        np.testing.assert_array_equal(narrow[name], wide[name])
    np.testing.assert_array_equal(narrow["hidden.weight"], wide["hidden.weight"][:10])
    np.testing.assert_allclose(narrow["output.weight"], 2 * wide["output.weight"][:, :10])


def test_gradient_norms_are_of_the_whole_train_set():
    p = point(steps=8, log={"gradient_norms": {"at": [4]}, "parameters": {"at": [4]}})
    tables = {kind: table.to_pandas() for kind, table in trained_logs(p, [5]).items()}
    norms = tables["gradient_norms"].query("step == 4").set_index("name")["norm"]
    rows = tables["parameters"].query("step == 4").set_index("name")
    arrays = {n: np.reshape(r["values"], r["shape"]).copy() for n, r in rows.iterrows()}
    network = SparseTransformer(arrays)
    train, _ = system.sequences(p.parameters, p.seeds(5))
    tokens = torch.as_tensor(train).long()
    nn.functional.cross_entropy(network(tokens), tokens[:, :5].sum(1) % 2).backward()
    assert set(norms.index) == arrays.keys()
    for name, parameter in network.named_parameters():
        key = name if name in norms else name.removesuffix(".weight")
        assert norms[key] == pytest.approx(parameter.grad.norm().item(), rel=1e-4), key


def test_epochs_and_steps_are_the_same_study():
    settings = {"system": "sparse_transformer", "epochs": 3}
    (by_epochs,) = planning.plan(config(**settings, parameters=SMALL)).points
    assert by_epochs.steps == 12
    assert by_epochs.spec == point(steps=12, dtype="float32").spec
    assert by_epochs.steps_logged("curves") == [0, 4, 8, 12]
    settings |= {"parameters": {"n_train": 64, "n_test": 4}, "sweep": {"batch_size": [1, 24, 64]}}
    points = planning.plan(config(**settings)).points
    assert [p.steps for p in points] == [192, 9, 3]
    assert [len(p.steps_logged("curves")) for p in points] == [4, 4, 4]


def golden_values():
    """Return values that only a new VERSION may change: initial arrays, data, order, and end."""
    p = point(steps=20, dtype="float64", p=3, dropout=0.2)
    tables = {kind: table.to_pandas() for kind, table in trained_logs(p, [4]).items()}
    seeds = Seeds(1, 2, 3, 4)
    start = system.initial(p.parameters, seeds)
    train, test = system.sequences(p.parameters, seeds)
    last = tables["parameters"].query("step == 20")
    return {
        "version": SYSTEM.version,
        "initial": [float(array.ravel()[[0, -1]].sum()) for array in start.values()],
        "tokens": [*train[0].tolist(), *test[-1].tolist()],
        "order": seeds.stream("order", 7).permutation(64)[:10].tolist(),
        "parameters": [float(values.sum()) for values in last["values"]],
        "test_loss": tables["curves"]["test_loss"].astype(float).tolist(),
    }
