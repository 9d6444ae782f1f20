"""Arrays of a wrong shape give an error that names them, instead of being broadcast."""

import numpy as np
import pytest
import torch
from conftest import point_of, trained_logs

from circlet.collections.musat.equations import constant_attention
from circlet.errors import CircletError


def without_bias(arrays):
    return {name: array for name, array in arrays.items() if name != "output.bias"}


def means(metrics):
    return {name: values.mean() for name, values in metrics.items()}


# Functions of a system, changes of what they return (in the run of seed 1) or write, and errors.
WRONG = [
    ("initial", lambda a: a | {"hidden.weight": a["hidden.weight"].T},  # as many values
     r"at step 0 of seed 1 hidden.weight: found float64 \(2, 32\), expected floats \(32, 2\)"),
    ("initial", lambda a: a | {"output.bias": np.zeros((17, 1), int)},
     r"at step 0 of seed 1 output.bias: found int64 \(17, 1\), expected floats \(17, 1\)"),
    ("initial", without_bias,
     r"at step 0 of seed 1 output.bias: found None, expected floats \(17, 1\)"),
    ("initial", lambda a: a | {"extra": np.zeros(3)},
     r"at step 0 of seed 1 extra: found float64 \(3,\), expected no such array"),
    # Shapes of one run, or of one neuron in a part of an array, which copy_ would broadcast.
    ("gradients", lambda g: g["hidden.bias"].copy_(torch.ones(32, 1)),
     r"gradient of hidden.bias: found torch.float32 \(32, 1\), expected floats \(3, 32, 1\)"),
    ("gradients", lambda g: g["hidden.weight"][:, :4].copy_(torch.ones(3, 1, 2)),
     r"gradient of hidden.weight: found torch.float32 \(3, 1, 2\), expected floats \(3, 4, 2\)"),
    # A replaced array, which the optimiser never sees.
    ("gradients", lambda g: g.update(embedding=torch.ones(3, 17, 2)),
     "gradient of embedding: must be written in place, not replaced"),
    ("metrics", means, r"metric train_loss: found torch.float32 \(\), expected floats \(3,\)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "said"), WRONG)
def test_arrays_must_have_their_shapes_in_all_of_three_runs(monkeypatch, name, change, said):
    function = getattr(constant_attention, name)

    def changed(*given):
        returned = function(*given)
        if name == "initial" and given[1].data != 1:
            return returned
        return change(given[-1] if name == "gradients" else returned)

    monkeypatch.setattr(constant_attention, name, changed)
    with pytest.raises(CircletError, match=f"^constant_attention: {said}$"):
        trained_logs(point_of(), [0, 1, 2])
