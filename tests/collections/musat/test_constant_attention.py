import numpy as np
import pytest
import torch
from conftest import CPU, point_of, trained_logs

from circlet.collections.musat.equations import constant_attention as system
from circlet.collections.musat.systems.constant_attention import SYSTEM
from circlet.study.seeds import Seeds


def test_residual_does_not_cancel():
    """At a loss of 1e-9 softmax - 1 is 0 in float32; the sum of the others is not."""
    parameters = SYSTEM.defaults | {"p": 3, "d": 1, "hidden": 1}
    data = system.data(parameters, [Seeds(0, 0, 0, 0)], torch.float32, CPU)
    n = data.train.target.shape[-1]
    data.train.target.fill_(0)
    weights = {
        "embedding": torch.zeros(1, 3, 1),
        "hidden.weight": torch.zeros(1, 1, 1),
        "hidden.bias": torch.ones(1, 1, 1),
        "output.weight": torch.tensor([[[20.0], [0.0], [0.0]]]),
        "output.bias": torch.zeros(1, 3, 1),
    }
    out = {name: torch.zeros_like(value) for name, value in weights.items()}
    system.gradients(weights, data, out)
    exact = 2 * np.exp(-20.0) / (1 + 2 * np.exp(-20.0))
    assert n * out["output.bias"][0, 0, 0] / n == pytest.approx(-exact, rel=1e-5)
    assert torch.softmax(torch.tensor([20.0, 0.0, 0.0]), 0)[0] - 1 == 0


@pytest.mark.parametrize(
    ("kind", "weight_std", "bias_std"),
    [
        ("torch", 1 / np.sqrt(3 * 100), 1 / np.sqrt(3 * 100)),
        ("torch_zero_bias", 1 / np.sqrt(3 * 100), 0),
        ("glorot", np.sqrt(2 / 500), 0),
        ("lecun", 1 / np.sqrt(100), 0),
        ("small_normal", 0.02, 0),
    ],
)
def test_initialisations(kind, weight_std, bias_std):
    sizes = {"initialisation": kind, "d": 100, "hidden": 400}
    start = system.initial(SYSTEM.defaults | sizes, Seeds(0, 0, 0, 0))
    weight, bias = start["hidden.weight"], start["hidden.bias"]
    assert weight.std() == pytest.approx(weight_std, rel=0.02)
    assert bias.std() == pytest.approx(bias_std, rel=0.1, abs=1e-12)
    assert weight.shape == (400, 100)


def test_embedding_std_scales_the_embedding():
    one, two = (
        system.initial(SYSTEM.defaults | {"embedding_std": s}, Seeds(0, 0, 0, 0))
        for s in (1.0, 0.5)
    )
    np.testing.assert_array_equal(0.5 * one["embedding"], two["embedding"])


def golden_values():
    """Return values that only a new VERSION may change: initial arrays, and logs of two runs."""
    log = {"curves": {"every": 10}, "embeddings": {"every": 10}}
    p = point_of(parameters={"weight_decay": 0.3}, steps=50, log=log)
    tables = {kind: table.to_pandas() for kind, table in trained_logs(p, [0, 41]).items()}
    curves, embeddings = (tables[kind].query("step == 50") for kind in log)
    kinds = SYSTEM.parameters["initialisation"].limits["enum"]
    arrays = {
        kind: system.initial(p.parameters | {"initialisation": kind}, Seeds(1, 2, 3, 0))
        for kind in kinds
    }
    mask = system.train_mask(p.parameters, Seeds(1, 2, 3, 0))
    return {
        "version": SYSTEM.version,
        "initial": [
            float(array.ravel()[[0, -1]].sum()) for run in arrays.values() for array in run.values()
        ],
        "train_pairs": np.flatnonzero(mask)[:20].tolist(),
        "embedding": np.stack(embeddings["vector"]).tolist(),
        "test_loss": curves["test_loss"].tolist(),
        "signal": tables["signals"]["signal"].tolist(),
    }
