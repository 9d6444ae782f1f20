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


@pytest.mark.parametrize("way", ["jax_written", "jax_formulated"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_losses_are_those_of_circlet(peers, system, way):
    assert set(peers.systems()) == set(SYSTEMS) < set(training.systems())
    assert peers.difference(system, way) < peers.TOLERANCE


def test_other_losses_are_not_timed(peers, monkeypatch):
    monkeypatch.setattr(peers, "residual", lambda logits, target: 0.9 * logits)
    monkeypatch.setattr(training, "measure", None)
    with pytest.raises(CircletError, match="losses of constant_attention in JAX differ"):
        peers.measure("constant_attention")


def test_a_row_has_every_way(peers, monkeypatch):
    of = peers.of
    monkeypatch.setattr(peers, "of", lambda system: replace(of(system), groups=(1, 2)))
    monkeypatch.setattr(training, "REPEATS", 1)
    monkeypatch.setattr(training, "SECONDS", 0.01)
    systems = ("constant_attention", "particles", "sparse_transformer")
    row, other, mixed = map(peers.measure, systems)
    assert row["ms"].keys() - {"kernel"} == {"pytorch", "products", *peers.WAYS}
    assert {row["groups"][way] for way in peers.WAYS} <= {1, 2}
    assert other["ms"].keys() - {"kernel"} == {"pytorch"}
    assert mixed["ms"].keys() - {"kernel"} == {"pytorch", *peers.WAYS}
    assert "\nparticles " in bench.text({"machine": a_machine(), "peers": [row, other]})


def test_what_is_printed():
    times = {"pytorch": 0.03, "jax_written": 0.04, "jax_formulated": 0.02, "kernel": 0.01,
             "products": 0.005}  # fmt: skip
    row = {
        "system": "some_network",
        "ms": {way: {"median": 2 * ms, "min": ms, "max": 3 * ms} for way, ms in times.items()},
        "groups": {
            "pytorch": 25,
            "jax_written": 10,
            "jax_formulated": 50,
            "kernel": 1,
            "products": 1,
        },
        "differences": {"jax_written": 2e-5, "jax_formulated": 1e-7},
    }
    simulated = {way: row["ms"][way] for way in ("pytorch", "kernel")}
    other = row | {"system": "no_network", "ms": simulated, "differences": {}}
    lines = bench.text({"machine": a_machine(), "peers": [row, other]}).splitlines()
    assert lines[1:3] == ["Native kernels: avx2.", ""]
    header, _, first, second = (re.split(r"\s{2,}", line.strip()) for line in lines[4:8])
    assert header == [
        "system", "PyTorch", "JAX as written", "JAX formulated", "kernel", "products",
        "times PyTorch", "times JAX", "times products",
    ]  # fmt: skip
    assert " ".join(first) == "some_network 30 (25) 40 (10) 20 (50) 10 (1) 5 (1) 3 2 0.5"
    assert " ".join(second) == "no_network 30 (25) – – 10 (1) – 3 – –"
    assert "circlet's to 2e-05" in lines[10]


def test_without_jax_it_is_said_what_to_install(monkeypatch, error_of):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    line = "error: bench --peers needs JAX: pip install 'circlet[peers]'\n"
    assert error_of("bench", "--peers") == line
    with pytest.raises(CircletError, match="on one core of a CPU"):
        bench.compare(torch.device("cuda"))
