"""CUDA graphs, replaced by a recorder that needs no GPU."""

from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from conftest import CPU, point_of

from circlet.training import cuda_graphs, run


def trained(monkeypatch, system, steps, capture=None, **parameters):
    """Return the weights of two runs after some steps, which ``capture`` records if given."""

    def graphed(step, data, device):
        return cuda_graphs.Graphed(step, data, capture) if capture else step

    monkeypatch.setattr(cuda_graphs, "graphed", graphed)
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
    """With a fake graph: nothing runs when it is recorded, everything runs at every replay."""
    replay = Mock(side_effect=lambda function: function())
    record = Mock(side_effect=lambda function: partial(replay, function))
    replayed = trained(monkeypatch, system, 20, record, **parameters)
    plain = trained(monkeypatch, system, 20, **parameters)
    np.testing.assert_array_equal(replayed, plain)
    assert record.call_count == shapes
    assert replay.call_count == 20 - shapes * cuda_graphs.WARM_UP


def test_what_cannot_be_recorded_runs_as_it_comes(monkeypatch, caplog):
    refuse = Mock(side_effect=RuntimeError("operation not permitted when stream is capturing"))
    plain = trained(monkeypatch, "embedding_mlp", 10, p=7, d=4)
    fallen = trained(monkeypatch, "embedding_mlp", 10, refuse, p=7, d=4)
    np.testing.assert_array_equal(fallen, plain)
    assert caplog.text.count("no CUDA graph: operation not permitted") == 1


def test_a_full_gpu_is_not_taken_for_a_step_that_cannot_be_recorded(monkeypatch):
    full = Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory"))
    with pytest.raises(torch.OutOfMemoryError):
        trained(monkeypatch, "embedding_mlp", 10, full, p=7)


def test_only_a_gpu_has_graphs():
    assert cuda_graphs.graphed(print, None, CPU) is print
    assert isinstance(cuda_graphs.graphed(print, None, torch.device("cuda")), cuda_graphs.Graphed)
