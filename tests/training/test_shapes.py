"""Arrays of a wrong shape give an error that names them, instead of being broadcast."""

import numpy as np
import pytest
import torch
from conftest import point_of, trained_logs

from circlet.collections.musat.equations import constant_attention
from circlet.errors import CircletError


def refused(monkeypatch, name, change, said):
    """Let one of the system's functions return or write something else; three runs refuse it."""
    function = getattr(constant_attention, name)
    monkeypatch.setattr(constant_attention, name, lambda *given: change(function, *given))
    with pytest.raises(CircletError, match=f"^constant_attention: {said}$"):
        trained_logs(point_of(), [0, 1, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a | {"hidden.weight": a["hidden.weight"].T},  # the same number of values
         r"hidden.weight: found float64 \(2, 32\), expected floats \(32, 2\)"),
        (lambda a: a | {"output.bias": np.zeros((17, 1), int)},
         r"output.bias: found int64 \(17, 1\), expected floats \(17, 1\)"),
        (lambda a: {k: v for k, v in a.items() if k != "output.bias"},
         r"output.bias: found None, expected floats \(17, 1\)"),
        (lambda a: a | {"extra": np.zeros(3)},
         r"extra: found float64 \(3,\), expected no such array"),
    ],
)  # fmt: skip
def test_initial_arrays_must_be_alike_for_all_seeds(monkeypatch, change, message):
    def initial(function, parameters, seeds):
        arrays = function(parameters, seeds)
        return change(arrays) if seeds.data == 1 else arrays

    refused(monkeypatch, "initial", initial, f"at step 0 of seed 1 {message}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        # Shapes of one run, or of one neuron in a part of an array, which copy_ would broadcast.
        (lambda g: g["hidden.bias"].copy_(torch.ones(32, 1)),
         r"hidden.bias: found torch.float32 \(32, 1\), expected floats \(3, 32, 1\)"),
        (lambda g: g["hidden.weight"][:, :4].copy_(torch.ones(3, 1, 2)),
         r"hidden.weight: found torch.float32 \(3, 1, 2\), expected floats \(3, 4, 2\)"),
        # A replaced array, which the optimiser never sees.
        (lambda g: g.update(embedding=torch.ones(3, 17, 2)),
         "embedding: must be written in place, not replaced"),
    ],
)  # fmt: skip
def test_gradients_must_have_the_shapes_of_the_weights(monkeypatch, change, message):
    def gradients(function, weights, data, out):
        function(weights, data, out)
        change(out)

    refused(monkeypatch, "gradients", gradients, f"gradient of {message}")


def test_metrics_must_have_a_value_of_every_run(monkeypatch):
    def metrics(function, *given):
        return {name: values.mean() for name, values in function(*given).items()}

    said = r"metric train_loss: found torch.float32 \(\), expected floats \(3,\)"
    refused(monkeypatch, "metrics", metrics, said)
