"""CUDA graphs, replaced by a recorder that needs no GPU."""

from unittest.mock import Mock

import numpy as np
import pytest
import torch
from conftest import CPU, point_of

from circlet.training import cuda_graphs, run


class Recorded:
    """Fake graph: nothing runs when it is recorded, everything runs at every replay."""

    def __init__(self):
        self.recorded = self.replayed = 0

    def __call__(self, function):
        self.recorded += 1

        def replay():
            self.replayed += 1
            function()

        return replay


def graphed_by(capture):
    return lambda step, data: cuda_graphs.Graphed(step, data, capture)


def as_it_is(step, data):
    return step


def trained(monkeypatch, system, steps, wrap, **parameters):
    """Return the weights of two runs after some steps; ``wrap`` replaces each step."""
    monkeypatch.setattr(cuda_graphs, "graphed", lambda step, data, device: wrap(step, data))
    point = point_of(system=system, parameters=parameters, steps=steps)
    with torch.no_grad():
        *_, group = run.run_group(point, [0, 1], CPU)
    return group.stack.tensors[1, 1]


@pytest.mark.parametrize(
    ("system", "parameters", "shapes"),
    [
        ("embedding_mlp", {"p": 7, "d": 4}, 1),
        ("sparse_transformer", {"n_train": 64, "n_test": 8, "batch_size": 16}, 1),
        ("sparse_transformer", {"n_train": 64, "n_test": 8, "batch_size": 24, "dropout": 0.2}, 2),
        ("sparse_transformer", {"n_train": 64, "n_test": 8, "batch_size": 64}, 1),
        ("networks.quadratic", {}, 1),
        ("networks.regression", {}, 2),
    ],
    ids=["no batches", "batches", "uneven batches, dropout", "full batch", "own", "own batches"],
)
def test_replayed_steps_are_the_steps(monkeypatch, system, parameters, shapes):
    recorder = Recorded()
    replayed = trained(monkeypatch, system, 20, graphed_by(recorder), **parameters)
    plain = trained(monkeypatch, system, 20, as_it_is, **parameters)
    np.testing.assert_array_equal(replayed, plain)
    assert recorder.recorded == shapes
    assert recorder.replayed == 20 - shapes * cuda_graphs.WARM_UP


def test_what_cannot_be_recorded_runs_as_it_comes(monkeypatch, caplog):
    refuse = Mock(side_effect=RuntimeError("operation not permitted when stream is capturing"))
    plain = trained(monkeypatch, "embedding_mlp", 10, as_it_is, p=7, d=4)
    fallen = trained(monkeypatch, "embedding_mlp", 10, graphed_by(refuse), p=7, d=4)
    np.testing.assert_array_equal(fallen, plain)
    assert caplog.text.count("no CUDA graph: operation not permitted") == 1


def test_a_full_gpu_is_not_taken_for_a_step_that_cannot_be_recorded(monkeypatch):
    full = Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory"))
    with pytest.raises(torch.OutOfMemoryError):
        trained(monkeypatch, "embedding_mlp", 10, graphed_by(full), p=7)


def test_only_a_gpu_has_graphs():
    assert cuda_graphs.graphed(print, None, CPU) is print
    assert isinstance(cuda_graphs.graphed(print, None, torch.device("cuda")), cuda_graphs.Graphed)
