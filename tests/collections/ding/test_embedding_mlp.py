import numpy as np
import torch
from conftest import CPU, point_of, trained_logs

from circlet.collections.ding.equations import embedding_mlp as system
from circlet.collections.ding.systems.embedding_mlp import SYSTEM
from circlet.study.seeds import Seeds


def test_split_is_of_ordered_pairs():
    parameters = SYSTEM.defaults | {"p": 59}
    mask = system.train_mask(parameters, Seeds(0, 0, 5, 0))
    assert mask.shape == (59 * 59,)
    assert mask.sum() == 2784
    a, b = system.pairs(59).T
    assert (a[61], b[61]) == (1, 2)
    data = system.data(parameters, [Seeds(0, 0, 5, 0)], torch.float64, CPU)
    np.testing.assert_array_equal(data.train.rows, np.stack([a, 59 + b], 1)[mask])
    np.testing.assert_array_equal(data.test.target[0, 0], (a + b)[~mask] % 59)


def test_initialisation_is_that_of_the_code_or_of_the_text():
    start = system.initial(SYSTEM.defaults, Seeds(0, 0, 0, 0))
    assert start["embedding"].shape == (59, 128)
    assert 0.97 < start["embedding"].std() < 1.03
    for layer, inputs in (("hidden1", 256), ("hidden2", 100), ("output", 100)):
        for part in ("weight", "bias"):
            bound = np.abs(start[f"{layer}.{part}"]).max() * np.sqrt(inputs)
            assert 0.9 < bound <= 1
    other = SYSTEM.defaults | {"initialisation": "normal"}
    normal = system.initial(other, Seeds(0, 0, 0, 0))
    assert all(0.8 < normal[name].std() < 1.2 for name in start)


def golden_values():
    """Return values that only a new VERSION may change: initial arrays, and the logs of a run."""
    settings = {"steps": 20, "dtype": "float64", "log": {"gradients": {"every": 10}}}
    small = {"p": 13, "d": 8, "hidden": 10}
    p = point_of(system="embedding_mlp", parameters=small, **settings)
    tables = {k: t.to_pandas() for k, t in trained_logs(p, [4]).items()}
    start = system.initial(p.parameters, Seeds(1, 2, 3, 0))
    mask = system.train_mask(p.parameters, Seeds(1, 2, 3, 0))
    last = tables["embeddings"].query("step == 20").sort_values("token")
    return {
        "version": SYSTEM.version,
        "initial": [float(array.ravel()[[0, -1]].sum()) for array in start.values()],
        "train_pairs": np.flatnonzero(mask)[:20].tolist(),
        "embedding": np.stack(last["vector"]).ravel()[:40].astype(float).tolist(),
        "test_loss": tables["curves"]["test_loss"].astype(float).tolist(),
        "signal": tables["signals"]["signal"].astype(float).tolist(),
        "gradient": tables["gradients"]["gradient"].astype(float).tolist(),
    }
