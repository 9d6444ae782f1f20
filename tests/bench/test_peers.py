"""JAX trains the same networks as circlet. No test requires a speed."""

import importlib.util
import re
from dataclasses import replace

import pytest
import torch
from test_bench import a_machine

from circlet import bench
from circlet.bench import training
from circlet.errors import CircletError

SYSTEMS = ("constant_attention", "embedding_mlp", "sparse_transformer")


@pytest.fixture
def peers():
    pytest.importorskip("jax")
    from circlet.bench import peers

    return peers


@pytest.mark.parametrize("is_formulated", [False, True])
@pytest.mark.parametrize("system", SYSTEMS)
def test_losses_are_those_of_circlet(peers, system, is_formulated):
    assert set(peers.systems()) == set(SYSTEMS) < set(training.systems())
    assert peers.difference(system, is_formulated) < peers.TOLERANCE


def test_other_losses_are_not_timed(peers, monkeypatch):
    monkeypatch.setattr(peers, "residual", lambda logits, target: 0.9 * logits)
    monkeypatch.setattr(peers, "way", None)
    with pytest.raises(CircletError, match="losses of constant_attention in JAX differ"):
        list(peers.measure(["constant_attention"], 1, 0.01))


def test_a_row_has_every_way(peers, monkeypatch):
    few = replace(peers.of("constant_attention"), groups=(1, 2))
    monkeypatch.setattr(peers, "of", lambda system: few)
    row, other = peers.measure(["constant_attention", "particles"], 1, 0.01)
    ways = {"pytorch", "jax_written", "jax_formulated", "products"}
    assert row["ms"].keys() - {"kernel"} == ways
    assert set(row["groups"].values()) <= {1, 2}
    assert other["ms"].keys() - {"kernel"} == {"pytorch", "products"}
    assert "\nparticles " in bench.text({"machine": a_machine(), "peers": [row, other]})


def test_what_is_printed():
    times = {
        "pytorch": 0.03, "jax_written": 0.04, "jax_formulated": 0.02,
        "kernel": 0.01, "products": 0.004,
    }  # fmt: skip
    row = {
        "system": "some_network",
        "ms": {way: {"median": 2 * ms, "min": ms, "max": 3 * ms} for way, ms in times.items()},
        "groups": {"jax_written": 10, "jax_formulated": 50},
        "differences": {"jax_written": 2e-5, "jax_formulated": 1e-7},
    }
    simulated = {way: row["ms"][way] for way in ("pytorch", "kernel", "products")}
    other = {"system": "no_network", "ms": simulated, "groups": {}, "differences": {}}
    lines = bench.text({"machine": a_machine(), "peers": [row, other]}).splitlines()
    assert lines[1:3] == ["Native kernels: avx2.", ""]
    header, _, first, second = (re.split(r"\s{2,}", line.strip()) for line in lines[4:8])
    assert header == [
        "system", "PyTorch", "JAX as written", "JAX formulated", "kernel",
        "floor", "JAX runs", "times JAX", "times PyTorch", "times floor",
    ]  # fmt: skip
    assert " ".join(first) == "some_network 30.0 40.0 20.0 10.0 4.00 10 and 50 2.00 3.00 2.50"
    assert " ".join(second) == "no_network 30.0 – – 10.0 4.00 – – 3.00 2.50"
    assert "circlet's to 2e-05" in lines[9]


def test_without_jax_it_is_said_what_to_install(monkeypatch, error_of):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    line = "error: bench --peers needs JAX: pip install 'circlet[peers]'\n"
    assert error_of("bench", "--peers") == line
    with pytest.raises(CircletError, match="on one core of a CPU"):
        bench.compare(torch.device("cuda"))
