"""Final states of kernels and of PyTorch agree as distributions: rounding differs."""

import numpy as np
import pytest
from conftest import built, kernel_logs, point_of, trained_logs
from scipy.stats import ks_2samp

pytestmark = [pytest.mark.slow, built]

CASES = {
    "constant_attention": (1000, 1000, {"weight_decay": 0.6}),
    "sparse_transformer": (100, 2000, {"length": 4, "k": 2, "n_train": 64, "learning_rate": 0.02}),
    "embedding_mlp": (24, 1000, {"p": 13, "d": 16, "hidden": 32}),
}


@pytest.mark.parametrize("system", CASES)
def test_ends_have_the_same_distribution(system):
    runs, steps, parameters = CASES[system]
    log = {"curves": {"at": [steps]}, "parameters": {"at": [steps]}}
    point = point_of(system=system, steps=steps, parameters=parameters, log=log)
    seeds = list(range(runs))
    ways = (kernel_logs(point, seeds), trained_logs(point, seeds))
    by_native, by_torch = (tables["runs"].to_pandas() for tables in ways)
    assert (by_native["status"] == by_torch["status"]).all()
    for name in ("train_loss", "test_loss", "test_accuracy"):
        assert ks_2samp(by_native[name], by_torch[name]).pvalue > 0.01, name
    norms = [_norms(tables["parameters"].to_pandas(), steps) for tables in ways]
    assert ks_2samp(*norms).pvalue > 0.01
    assert np.corrcoef(*norms)[0, 1] > 0.5  # the same starts, and mostly the same end


def _norms(frame, step):
    """The norm of the embedding of each run at a step."""
    rows = frame[(frame["step"] == step) & (frame["name"] == "embedding")]
    return rows.sort_values("seed")["values"].map(np.linalg.norm).to_numpy()
