"""Every shipped system trains like a plain loop, and follows its seeds."""

from dataclasses import replace

import numpy as np
import plain
import pytest
import torch
from conftest import CPU, SYSTEMS, config

from circlet.study import planning
from circlet.study.seeds import Seeds
from circlet.training import autograd, run

# Parameters, dtype, steps, and tolerance of the final arrays. In float32, rounding makes a unit
# of one run of constant_attention in twelve switch at another step, after which the trainings
# differ: between steps 75 and 100 with AVX-512, 40 and 50 with AVX2.
CASES = {
    "constant_attention": [
        ({"weight_decay": 0.6}, "float32", 30, 2e-6),
        ({"weight_decay": 0.6}, "float64", 100, 1e-9),
        ({"p": 12, "d": 3, "hidden": 20}, "float32", 30, 2e-6),
        ({"p": 12, "d": 3, "hidden": 20}, "float64", 100, 1e-9),
    ],
    "embedding_mlp": [
        ({}, "float64", 20, 1e-9),
        ({"p": 12, "d": 5, "hidden": 7, "activation": "relu"}, "float64", 100, 1e-9),
        ({"p": 9, "weight_decay": 0.0, "initialisation": "normal"}, "float64", 100, 1e-9),
        ({"p": 23}, "float32", 100, 2e-3),
    ],
    "sparse_transformer": [
        ({}, "float64", 100, 1e-9),
        ({"p": 3, "d": 5, "vocabulary": 4, "length": 9, "bias": False}, "float64", 100, 1e-9),
        ({"mlp_divisor": 7.0, "weight_decay": 0.1, "hidden": 1, "d": 1}, "float64", 100, 1e-9),
        ({"batch_size": 64, "p": 4, "vocabulary": 4, "d": 8}, "float64", 100, 1e-9),
        ({"batch_size": 10, "dropout": 0.4}, "float64", 100, 1e-9),
        ({}, "float32", 60, 1e-4),
    ],
    "particles": [
        ({"scaling": "per_coordinate", "f_a": 0.7, "g_r": 1.2}, "float64", 50, 1e-9),
        ({"scaling": "global", "f_a": 0.7, "g_r": 1.2}, "float64", 50, 1e-9),
        ({"p": 6, "d": 3, "g_a": 1.3}, "float64", 50, 1e-9),
        ({"p": 5, "d": 1}, "float64", 50, 1e-9),
    ],
}


def point(system, parameters, dtype="float64", steps=1):
    small = {"n_train": 64, "n_test": 48, "batch_size": 16}
    small = small if system == "sparse_transformer" else {}
    log = {} if system == "particles" else {"curves": {"every": 1}}
    settings = {"system": system, "dtype": dtype, "steps": steps, "log": log}
    return planning.plan(config(**settings, parameters=small | parameters)).points[0]


@pytest.mark.parametrize(
    ("system", "case"), [(system, case) for system, cases in CASES.items() for case in cases]
)
def test_a_group_of_runs_equals_plain_loops(system, case):
    parameters, dtype, steps, tolerance = case
    one = point(system, parameters, dtype, steps)
    seeds = [0, 3, *range(4, 14)] if system == "constant_attention" else [0, 3]
    *_, group = run.run_group(one, seeds, CPU)
    for place, seed in enumerate(seeds):
        alone = plain.one(system, one.parameters, one.seeds(seed), getattr(torch, dtype))
        losses = []
        for number in range(1, steps + 1):
            losses += [alone.loss()] if system != "particles" else []
            alone.step(number)
        if system == "particles":
            expected = {"embedding": alone.positions}
        else:
            expected = dict(alone.network.named_parameters())
            logged = group.tables()["curves"].to_pandas().query("seed == @seed")
            curve = logged.sort_values("step")["train_loss"][:steps]
            np.testing.assert_allclose(curve, losses, rtol=max(tolerance, 1e-6))
        assert len(expected) == len(group.stack.arrays)
        for name, end in expected.items():
            key = name if name in group.stack.arrays else name.removesuffix(".weight")
            array = group.stack.arrays[key][place].reshape(end.shape)
            torch.testing.assert_close(array, end.detach(), rtol=0, atol=tolerance, msg=name)


@pytest.mark.parametrize("system", SYSTEMS)
def test_arrays_and_data_follow_their_own_seeds(system):
    equations, defaults = autograd.equations(SYSTEMS[system]), point(system, {}).parameters
    base = Seeds(1, 2, 3, 4)
    start = equations.initial(defaults, base)
    first = {"embedding", "position"} & start.keys()
    drawn = {name for name in start.keys() - first if start[name].any()}  # biases may be 0
    followers = {"embedding": first, "network": drawn, "data": set(), "order": set()}
    for seed, names in followers.items():
        other = equations.initial(defaults, replace(base, **{seed: 9}))
        assert {name for name in start if (start[name] != other[name]).any()} == names
    if SYSTEMS[system].is_trained:
        changes = ({}, {"embedding": 9, "network": 9, "order": 9}, {"data": 9})
        sets = [equations.data(defaults, [replace(base, **c)], torch.float64, CPU) for c in changes]
        usual, same, other = (
            data.parts["train"][0] if isinstance(data, autograd.Examples) else data.train.target
            for data in sets
        )
        assert torch.equal(usual, same) and not torch.equal(usual, other)
