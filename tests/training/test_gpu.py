"""On a GPU, runs equal those on the CPU, each time: the first half of `make gpu`."""

import numpy as np
import pytest
import torch
from conftest import point_of, trained_logs

from circlet.training import cuda_graphs, run

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

LAST = {
    "constant_attention": ("embeddings", "vector"),
    "particles": ("embeddings", "vector"),
    "embedding_mlp": ("embeddings", "vector"),
    "sparse_transformer": ("parameters", "values"),
    "networks.quadratic": ("embeddings", "vector"),
    "networks.regression": ("parameters", "values"),
}
all_systems = pytest.mark.parametrize("system", LAST)


def outcome(one, device="cuda"):
    kind, column = LAST[one.system.name]
    tables = trained_logs(one, [0, 1], torch.device(device))
    return np.concatenate(tables[kind].to_pandas()[column])


@all_systems
def test_gpu_equals_cpu(system):
    one = point_of(system=system, steps=50, dtype="float64")
    np.testing.assert_allclose(outcome(one), outcome(one, "cpu"), atol=1e-5)


@all_systems
def test_every_time_the_same(system):
    one = point_of(system=system, steps=300)
    np.testing.assert_array_equal(outcome(one), outcome(one))


@all_systems
def test_graphs_do_what_their_kernels_do(system, monkeypatch, caplog):
    one = point_of(system=system, steps=100)
    replayed = outcome(one)
    monkeypatch.setattr(cuda_graphs, "WARM_UP", 1000)
    np.testing.assert_array_equal(replayed, outcome(one))
    assert "no CUDA graph" not in caplog.text


@all_systems
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_steps_do_not_wait_for_the_gpu(system):
    """Except to draw the order of an epoch of 64 steps on the CPU. Logs do not wait either."""
    often = ("signals", "embeddings", "parameters")
    kinds = point_of(system=system, steps=64).logs[1:]
    log = {kind: {"every": 1} if kind in often else {} for kind in kinds}
    one = point_of(system=system, steps=64, log=log)
    with torch.no_grad():
        steps = run.run_group(one, [0, 1], torch.device("cuda"))
        while next(steps).done < 10:
            pass
        try:
            torch.cuda.set_sync_debug_mode("error")
            while next(steps).done < 60:
                pass
        finally:
            torch.cuda.set_sync_debug_mode("default")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
@all_systems
def test_the_second_gpu_computes_the_same(system):
    one = point_of(system=system, steps=100)
    with torch.cuda.device(1):
        there = outcome(one, "cuda:1")
    np.testing.assert_array_equal(there, outcome(one))


@all_systems
def test_a_run_goes_on_from_its_state(system):
    one, device, states = point_of(system=system, steps=100), torch.device("cuda"), {}
    with torch.no_grad():
        for whole in run.run_group(one, [0, 1], device):
            if whole.done == 40:
                states |= whole.state()
        steps = run.run_group(one, [0, 1], device)
        rest = next(steps)
        rest.restore(states)
        for _ in steps:
            pass
    for name, values in whole.stack.arrays.items():
        assert torch.equal(values, rest.stack.arrays[name]), name
