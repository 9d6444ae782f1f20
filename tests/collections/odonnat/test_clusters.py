"""Planted heads are found, initial networks have none; phases, attention, sharpness."""

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import CPU, point_of, ran, table_of

from circlet.collections.odonnat import clusters, layer_projections
from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.collections.odonnat.starts import sparse_transformer as starts
from circlet.collections.odonnat.systems.sparse_transformer import SYSTEM
from circlet.collections.odonnat.tables import heads, spikes
from circlet.storage import parquet
from circlet.study.seeds import Seeds
from circlet.systems import loss

OF = clusters.probes(2, 12, 5)  # all sequences of p = 2


def stacked(*networks, dtype=torch.float32):
    arrays = {n: np.stack([net[n] for net in networks]) for n in networks[0]}
    return {n: torch.as_tensor(a, dtype=dtype) for n, a in arrays.items()}


def signature(xi):
    return clusters.signature(xi, OF.tokens, 2, 5)


def planted(weights, noise=0.0):
    """Signature of embeddings xi of all sequences: weighted sums of the tokens, in a plane."""
    along = OF.tokens @ np.asarray(weights, float)
    blur = noise * np.random.default_rng(0).normal(size=(2, len(along)))
    return signature(torch.as_tensor(np.stack([0.3 + 0.8 * along, 1 - 0.6 * along]) + blur)[None])


HEADS = {
    "uniform": [1, 1, 1, 1, 1] + [0] * 7,
    "signed": [1, -1, 1, 1, -1] + [0] * 7,
    "distractor": [1, 1, 1, 1, 1, 0, 0, 2, 0, 0, 0, 0],
}


@pytest.mark.parametrize("name", HEADS)
def test_planted_heads_are_found(name):
    head = planted(HEADS[name], noise=0.05)
    assert head.integers[0].tolist() == HEADS[name]
    assert head.legal.all()
    assert clusters.is_head(head).all()
    assert heads.kind(head.integers[0].numpy(), 5) == name
    sums = OF.tokens @ np.array(HEADS[name])
    assert head.n_clusters[0] == len(np.unique(sums))


@pytest.mark.parametrize(
    "weights",
    [
        [1, 1, 1, 1, 0] + [0] * 7,  # a position of the prefix is ignored
        [1, 1, 2, 1, 1] + [0] * 7,  # the parity is lost
        [1, 1, 1, 1, 1, 1] + [0] * 6,  # a distractor counts
    ],
)
def test_sums_that_do_not_tell_the_class_are_no_heads(weights):
    sums = planted(weights)
    assert sums.legal.tolist() == clusters.is_head(sums).tolist() == [False]


def test_blurred_clusters_are_no_head():
    blurred = planted(HEADS["uniform"], noise=1.0)
    assert blurred.rho[0] > 0.1
    assert not clusters.is_head(blurred).any()


def test_three_classes_need_weights_alike_by_three():
    of = clusters.probes(3, 6, 2)
    for weights, legal in (([1, 1, 0, 0, 0, 0], True), ([1, -2, 0, 3, 0, 0], True),
                           ([1, -1, 0, 0, 0, 0], False), ([3, 3, 0, 0, 0, 0], True)):  # fmt: skip
        along = torch.as_tensor(of.tokens @ np.array(weights, float))
        xi = torch.stack([along, -along])[None]
        sums = clusters.signature(xi, of.tokens, 3, 2)
        # A common factor of the weights is divided out.
        assert sums.legal[0] == legal, weights


def test_networks_as_they_are_drawn_have_no_head():
    networks = [system.initial(SYSTEM.defaults, Seeds(i, i, i, i)) for i in range(100)]
    with torch.no_grad():
        xi = clusters.embed(stacked(*networks), OF, 2)
    assert not clusters.is_head(signature(xi)).any()
    suffix = clusters.variance_ratio(xi, torch.as_tensor(OF.classes["suffix"])[None])
    assert 0.45 < suffix.median() < 0.65


def test_the_hand_made_head_is_a_head():
    network = stacked(layer_projections.idealised())
    xi = clusters.embed(network, OF, 2)
    head = signature(xi)
    assert clusters.is_head(head).all()
    assert head.integers[0].tolist() == HEADS["uniform"]
    for classes in OF.classes.values():
        assert clusters.variance_ratio(xi, torch.as_tensor(classes)[None])[0] < 1e-6
    attention = heads.distractor_attention(network, OF, 2, 5)
    assert attention[0] == pytest.approx(1.01e-6, rel=0.01)


def test_the_idealised_circuit_is_right_on_every_sequence():
    weights = stacked(layer_projections.idealised(), dtype=torch.float64)
    chosen = system.encode(OF.tokens[None], 2, 5, torch.float64, CPU)
    value, accuracy = loss.metrics(system.logits(weights, chosen, 2), chosen.target, 1)
    assert accuracy == 1
    assert value < 0.1


def test_variance_ratio_is_within_by_total():
    stream = np.random.default_rng(0)
    xi, classes = stream.normal(size=(1, 3, 50)), stream.integers(4, size=50)
    within = sum(
        ((x - x.mean(1, keepdims=True)) ** 2).sum()
        for c in range(4)
        for x in [xi[0][:, classes == c]]
    )
    total = ((xi[0] - xi[0].mean(1, keepdims=True)) ** 2).sum()
    ratio = clusters.variance_ratio(torch.as_tensor(xi), torch.as_tensor(classes)[None])
    assert ratio[0] == pytest.approx(within / total)


@pytest.mark.parametrize(
    ("p", "length", "k", "n", "prefixes"),
    [(2, 12, 5, 4096, 32), (3, 12, 5, 3888, 243), (4, 12, 5, 4096, 1024), (7, 9, 6, None, None),
     (2, 3, 3, 8, 8)],
)  # fmt: skip
def test_probes_stand_for_the_input_space(p, length, k, n, prefixes):
    of = clusters.probes(p, length, k)
    assert of.tokens.shape[1] == length
    assert of.tokens.max() == p - 1
    if n:
        assert len(of.tokens) == n
        assert of.classes["suffix"].max() + 1 == prefixes
    assert set(of.classes["sum"]) <= set(range(k * (p - 1) + 1))


def test_sharpness_is_the_largest_eigenvalue_of_the_hessian():
    parameters = SYSTEM.defaults | {"hidden": 4, "n_train": 40, "n_test": 4}
    seeds = [Seeds(i, i, i, i) for i in range(3)]
    networks = (system.initial(parameters, s) for s in seeds)
    weights = stacked(*networks, dtype=torch.float64)
    chosen = system.data(parameters, seeds, torch.float64, CPU).train
    sharpness = spikes.sharpness(weights, chosen, 2)
    for run in range(3):
        names, shapes = zip(*((n, a[run].shape) for n, a in weights.items()), strict=True)
        flat = torch.cat([a[run].flatten() for a in weights.values()])
        batch = system.Sequences(chosen.absent[run : run + 1], chosen.target[run : run + 1])

        def value(flat, names=names, shapes=shapes, batch=batch):
            parts = flat.split([s.numel() for s in shapes])
            arrays = {n: x.view(1, *s) for n, x, s in zip(names, parts, shapes, strict=True)}
            return loss.metrics(system.logits(arrays, batch, 2), batch.target, 1)[0][0]

        full = torch.autograd.functional.hessian(value, flat)
        assert sharpness[run] == pytest.approx(torch.linalg.eigvalsh(full)[-1].item(), rel=0.02)


def test_phases_are_the_first_logged_steps():
    curves = pd.DataFrame(
        {"step": [0, 64, 128, 192], "test_loss": [0.7, 0.59, 0.7, 0.1],
         "test_accuracy": [0.5, 0.97, 0.985, 0.7]}
    )  # fmt: skip
    phases = heads.phases(curves.sample(frac=1, random_state=1), 2)
    steps = {"drop_step": 64, "fit_step": 128}
    end = {"test_accuracy": 0.7, "success": False, "stuck": False}
    assert phases == steps | end | {"best_test_accuracy": 0.985}
    assert heads.phases(curves.iloc[:1], 2)["fit_step"] is None
    # At p = 3 chance is ln 3, so 0.9 is a drop.
    assert heads.phases(curves.assign(test_loss=[1.1, 0.96, 0.94, 1]), 3)["drop_step"] == 128


def test_structure_needs_three_snapshots_in_a_row(monkeypatch):
    start = system.initial(SYSTEM.defaults, Seeds(0, 0, 0, 0))
    steps = [*range(0, 45, 5)]
    arrays = {name: np.stack([array[None]] * (len(steps) + 1)) for name, array in start.items()}
    for array in arrays.values():
        array[-1] = np.nan  # a later step
    is_head = torch.tensor([0, 1, 1, 0, 1, 1, 1, 1, 0], dtype=torch.bool)

    def judged(signature, *_):
        assert torch.isfinite(signature.rho).all()
        return is_head

    monkeypatch.setattr(clusters, "is_head", judged)
    assert heads.structure_steps(arrays, steps, OF, 2, 5) == [(20, 15)]


def test_without_a_snapshot_every_five_epochs_no_structure_is_looked_for():
    settings = {"system": "sparse_transformer", "epochs": 40}
    for schedule in ({}, {"every_epochs": 7}, {"every_epochs": 10}):
        block = point_of(**settings, log={"parameters": schedule}).blocks[0]
        assert heads.snapshots(block) == []
    log = {"parameters": {"every_epochs": 1}}
    data = {"n_train": 16, "n_test": 4, "batch_size": 16}
    block = point_of(**settings, log=log, parameters=data).blocks[0]
    assert heads.snapshots(block) == [*range(0, 45, 5)]


def test_the_table_of_heads(tmp_path):
    """The row of a run that solves a short task has its head and its phases."""
    data = {"length": 3, "k": 2, "n_train": 64, "n_test": 32, "batch_size": 16}
    study = ran(
        tmp_path,
        system="sparse_transformer",
        epochs=300,
        block=4,
        seeds={"count": 4},
        parameters=data | {"learning_rate": 0.02},
        log={"parameters": {"every_epochs": 5}},
    )
    block = next(study.blocks)
    table = table_of(heads, study)
    assert list(table["seed"]) == [0, 1, 2, 3]
    solved = table[table["success"]]
    assert len(solved)
    assert solved["head_present"].any()  # not always all: outcomes depend on rounding
    assert (solved["fit_step"] <= block.point.steps).all()
    runs = parquet.read_log(block, "runs")
    np.testing.assert_allclose(table["test_accuracy"], runs["test_accuracy"])


def test_one_diverged_run_leaves_its_neighbours_alone(tmp_path, monkeypatch):
    initial = starts.initial

    def drawn(parameters, seeds):
        arrays = initial(parameters, seeds)
        return arrays | ({"query": arrays["query"] * np.nan} if seeds.network == 1 else {})

    monkeypatch.setattr(starts, "initial", drawn)
    settings = {"steps": 4, "block": 3, "seeds": {"count": 3},
                "parameters": {"n_train": 64, "n_test": 8}}  # fmt: skip
    study = ran(tmp_path, system="sparse_transformer", **settings)
    table = table_of(heads, study)
    assert list(table["seed"]) == [0, 2]
    assert table[["rho_suffix", "distractor_attention"]].notna().all(axis=None)


def test_distractors_that_are_attended_to_blur_the_head():
    """Two distractor positions have the same vectors: their tokens move xi equally."""
    head = layer_projections.idealised()
    head["position"][5:7] = head["position"][0]
    weights = stacked(head)
    blurred = signature(clusters.embed(weights, OF, 2))
    assert blurred.integers[0].tolist() == [1] * 7 + [0] * 5
    assert not blurred.legal[0]
    assert heads.distractor_attention(weights, OF, 2, 5)[0] == pytest.approx(2 / 7, rel=1e-3)
