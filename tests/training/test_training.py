from unittest.mock import Mock

import numpy as np
import pytest
import torch
from conftest import CPU, point_of, ran, trained_logs

from circlet.analysis import spectrum
from circlet.collections.musat.equations import constant_attention
from circlet.errors import CircletError
from circlet.storage import parquet, schema
from circlet.training import job, run
from circlet.training.optimizers import Adam
from circlet.training.stack import Stack


@pytest.mark.parametrize("decoupled", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-14)])
def test_without_its_kernel_adam_takes_the_same_steps(dtype, tolerance, decoupled):
    ends = []
    for has_kernel in (True, False):
        generator = torch.Generator().manual_seed(0)
        values = torch.randn(4, 30, generator=generator, dtype=dtype)
        optimizer = Adam({(1, 1): values}, 0.01, 0.3, decoupled)
        assert optimizer.kernel is not None  # the tested release of PyTorch has the kernel
        optimizer.kernel = optimizer.kernel if has_kernel else None
        for _ in range(100):
            optimizer.step({(1, 1): torch.randn(4, 30, generator=generator, dtype=dtype)})
        ends.append((values, optimizer.means[1, 1], optimizer.squares[1, 1], optimizer.steps))
    for fused, plain in zip(*ends, strict=True):
        torch.testing.assert_close(plain, fused, rtol=0, atol=tolerance)


@pytest.mark.parametrize("system", ["constant_attention", "particles"])
def test_logs_have_the_declared_columns_and_come_back_as_they_went(tmp_path, system):
    study = ran(tmp_path, system=system, steps=4, log={"embeddings": {"at": [2]}})
    block = next(study.blocks)
    for kind in block.point.logs:
        frame = parquet.read_log(block, kind)
        assert list(frame.columns) == schema.logs(block.point.system)[kind].names
        assert set(frame["seed"]) == {0, 1}
    embeddings = parquet.read_log(block, "embeddings")
    rows = [(seed, step, token) for seed in (0, 1) for step in (0, 2, 4) for token in range(17)]
    assert [*embeddings[["seed", "step", "token"]].itertuples(index=False, name=None)] == rows
    signals = parquet.read_log(block, "signals")
    last = embeddings[(embeddings["seed"] == 1) & (embeddings["step"] == 4)]
    expected = spectrum.signals(np.stack(last["vector"]))[1:9]
    logged = signals[(signals["seed"] == 1) & (signals["step"] == 4)]["signal"]
    np.testing.assert_allclose(logged, expected, rtol=1e-4)


def test_footer_says_what_made_a_log(tmp_path):
    block = next(ran(tmp_path).blocks)
    footer = parquet.footer(block.log("runs"))
    assert footer["parameters"]["learning_rate"] == 0.01
    assert footer["seeds"] == [0, 1]
    assert footer["device"] == "cpu"
    assert footer["versions"]["torch"] == torch.__version__
    assert {"commit", "python", "machine", "code", "seconds"} <= set(footer)


def test_fixed_seeds_fix_what_they_name(tmp_path):
    settings = {"steps": 1, "seeds": {"count": 2, "embedding": 5}}
    tables = trained_logs(point_of(tmp_path, **settings), [0, 1])
    start = tables["embeddings"].to_pandas().query("step == 0")
    first, second = (np.stack(start[start["seed"] == s]["vector"]) for s in (0, 1))
    np.testing.assert_array_equal(first, second)
    runs = tables["runs"].to_pandas()
    assert list(runs["embedding_seed"]) == [5, 5]
    assert list(runs["network_seed"]) == list(runs["data_seed"]) == [0, 1]


def test_too_little_memory_is_said(tmp_path, monkeypatch):
    error = RuntimeError(
        "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"
    )
    monkeypatch.setattr(job.native_run, "run_alone", Mock(side_effect=error))
    block = point_of(tmp_path).blocks[0]
    with pytest.raises(CircletError, match="not enough memory for 2 runs; set a smaller `block`"):
        job.run_block(block, "cpu")
    error = RuntimeError("CUDA error: an illegal memory access was encountered")
    monkeypatch.setattr(job.native_run, "run_alone", Mock(side_effect=error))
    with pytest.raises(RuntimeError, match="illegal"):
        job.run_block(block, "cpu")


def test_one_diverged_run_leaves_its_neighbours_alone(monkeypatch):
    initial = constant_attention.initial

    def planted(parameters, seeds):
        arrays = initial(parameters, seeds)
        arrays["embedding"][0, 0] = np.nan if seeds.data == 1 else arrays["embedding"][0, 0]
        return arrays

    monkeypatch.setattr(constant_attention, "initial", planted)
    runs = trained_logs(point_of(), [0, 1, 2])["runs"].to_pandas()
    assert list(runs["status"]) == ["finished", "diverged", "finished"]


def test_a_loss_that_overflows_at_the_last_step_is_a_divergence():
    """All weights are still finite at that step."""
    tables = trained_logs(point_of(steps=1, parameters={"learning_rate": 1e30}), [0, 1])
    assert np.isfinite(np.concatenate(tables["parameters"].to_pandas()["values"])).all()
    assert set(tables["runs"].to_pandas()["status"]) == {"diverged"}


def test_seconds_are_cpu_time_that_the_runs_share(monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(run.time, "process_time", lambda: next(clock))
    runs = trained_logs(point_of(), [0, 1, 2, 3])["runs"].to_pandas()
    assert list(runs["seconds"]) == [17.5] * 4  # seven times ten seconds, shared by four runs


@pytest.mark.parametrize("kind", ["curves", "signals", "embeddings", "parameters"])
def test_outcomes_are_written_last(tmp_path, kind):
    [block] = point_of(tmp_path).blocks
    block.log(kind).mkdir(parents=True)  # so that this log cannot be written
    with pytest.raises(CircletError, match=f"{kind}.*Is a directory"):
        job.run_block(block, "cpu")
    assert not block.log("runs").exists()


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_run_is_finite_if_all_its_tensors_are(name):
    start = {"a": np.zeros(2), "b": np.zeros(2)}
    stack = Stack([start, start], torch.float32, CPU, {"b": 0.5})
    assert len(stack.tensors) == 2
    stack.arrays[name][1, 0] = torch.nan
    assert stack.finite().tolist() == [True, False]
