import numpy as np
import pytest
import torch
from conftest import circle

from circlet.collections.ding.equations import embedding_mlp
from circlet.collections.findings.tables import progress_measures
from circlet.collections.musat.equations import constant_attention
from circlet.study.seeds import Seeds

MLP = {"p": 7, "d": 4, "hidden": 6}


def network(equations, parameters):
    """Weights of a network at step 0, float64, and its train mask."""
    seeds = Seeds(0, 0, 0, 0)
    weights = equations.initial(parameters, seeds)
    train = equations.train_mask(parameters, seeds)
    return {k: torch.as_tensor(v) for k, v in weights.items()}, train


def test_gradients_are_those_of_the_logits():
    """They equal finite differences, in a network that treats the two operands differently."""
    parameters = MLP | {"activation": "silu", "initialisation": "torch", "embedding_std": 1.0}
    weights, _ = network(embedding_mlp, parameters | {"train_fraction": 0.8})
    left, right = progress_measures.gradients(embedding_mlp, weights, parameters)
    a, b, c = progress_measures.interpretation.triples(7)[0]
    operands = [weights["embedding"][a].clone(), weights["embedding"][b].clone()]
    for operand, slope in enumerate((left[0], right[0])):
        for i in range(4):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [vector.clone() for vector in operands]
                moved[operand][i] += step
                ends.append(embedding_mlp.forward(weights, parameters, *moved)[1][c])
            assert slope[i].item() == pytest.approx(((ends[0] - ends[1]) / 2e-6).item(), abs=1e-6)


def test_a_pizza_that_is_built_by_hand():
    """With constant attention: neurons around a circle, each with twice its phase at the output."""
    p, k, hidden = 17, 3, 64
    phases = 2 * np.pi * np.arange(hidden) / hidden
    classes = 2 * np.pi * k * np.arange(p)[:, None] / p
    arrays = {
        "embedding": circle(p, k),
        "hidden.weight": np.stack([np.cos(phases), -np.sin(phases)], axis=1),
        "hidden.bias": np.zeros((hidden, 1)),
        "output.weight": 10 * np.cos(classes + 2 * phases),
        "output.bias": np.zeros((p, 1)),
    }
    weights = {name: torch.as_tensor(values) for name, values in arrays.items()}
    train = np.arange(p * (p + 1) // 2) % 5 > 0
    row = progress_measures.measured(constant_attention, weights, {"p": p}, train, np.array([k]))
    assert row["phase_alignment"] == pytest.approx(1)
    assert row["gradient_symmetricity"] == pytest.approx(1)
    assert row["distance_irrelevance"] < 0.05
    assert row["fourier_ipr"] == pytest.approx(1)
    assert row["restricted_loss"] < 0.1
    assert row["excluded_loss"] > np.log(p)


def test_a_network_without_weights_has_no_spectrum():
    parameters = {"p": 7, "d": 2, "hidden": 8, "initialisation": "torch", "embedding_std": 1.0}
    weights, train = network(constant_attention, parameters | {"train_fraction": 0.8})
    nothing = {name: torch.zeros_like(values) for name, values in weights.items()}
    none = np.array([], int)
    row = progress_measures.measured(constant_attention, nothing, parameters, train, none)
    for name in ("train_loss", "test_loss", "restricted_loss", "excluded_loss"):
        assert row[name] == pytest.approx(np.log(7))
    for name in ("fourier_gini", "fourier_ipr", "distance_irrelevance", "phase_alignment"):
        assert np.isnan(row[name]), name
