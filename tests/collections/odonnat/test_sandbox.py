"""The visual sandbox: the panels show the network, for any d, and are saved as a picture."""

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ran
from PIL import Image

from circlet import cli
from circlet.collections.odonnat import layer_projections, network_panels
from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.collections.odonnat.figures import sandbox as figure
from circlet.collections.odonnat.systems.sparse_transformer import SYSTEM
from circlet.study.seeds import Seeds

SMALL = {"n_train": 32, "n_test": 8, "batch_size": 16}


def drawn(**changes):
    """Weights (1, ...) of a network at step 0, and its view."""
    parameters = SYSTEM.defaults | changes
    weights = system.initial(parameters, Seeds(1, 1, 1, 1))
    tensors = {name: torch.as_tensor(array)[None] for name, array in weights.items()}
    return tensors, layer_projections.view(weights, parameters)


def test_a_view_is_the_network():
    weights, view = drawn(p=3)
    chosen = system.encode(view["tokens"][None], 3, 5, torch.float64, torch.device("cpu"))
    xi = system.embed(weights, chosen, 3)[0].T
    np.testing.assert_allclose(view["xi_xy"], xi)
    probability = torch.softmax(system.logits(weights, chosen, 3), 1)[0].T
    np.testing.assert_allclose(view["probability"], probability)
    np.testing.assert_array_equal(view["label"], view["tokens"][:, :5].sum(1) % 3)
    np.testing.assert_allclose(view["attention"].sum(1), 1)
    assert not view["legal"][0]
    pair = weights["embedding"][0, 1] + weights["position"][0, 4]
    np.testing.assert_array_equal(view["pair_xy"][1, 4], pair)


def test_clusters_are_named_by_the_signature(monkeypatch):
    """This also holds with a negative weight; without a legal signature, prefix sums are used."""
    weights = [1, -1, 1, 1, 1, 0, 0, 2, 0, 0, 0, 0]
    usual = layer_projections.clusters.signature

    def signature(*arguments):
        integers = torch.tensor([weights])
        return usual(*arguments)._replace(integers=integers, legal=torch.tensor([True]))

    monkeypatch.setattr(layer_projections.clusters, "signature", signature)
    _, view = drawn()
    np.testing.assert_array_equal(view["cluster"], view["tokens"] @ weights)


def test_the_map_is_the_classifier_on_the_plane():
    weights, view = drawn()
    left, right, bottom, top = view["xi_box"]
    x = np.linspace(left, right, layer_projections.GRID)[7]
    y = np.linspace(bottom, top, layer_projections.GRID)[21]
    point = torch.tensor([[[x], [y]]], dtype=torch.float64)
    expected = torch.softmax(system.classify(weights, point), 1)[0, :, 0]
    np.testing.assert_allclose(view["xi_map"][21, 7], expected)


def test_probes_have_every_sum():
    for p, length, k in ((2, 12, 5), (3, 12, 5), (2, 3, 3), (5, 20, 9)):
        tokens = layer_projections.probe_tokens(p, length, k)
        sums = tokens[:, :k].sum(1)
        assert tokens.shape[1] == length
        assert {0, k * (p - 1)} <= set(sums)
        assert len(tokens) <= 12 * 8
    assert set(layer_projections.probe_tokens(2, 12, 5)[:, :5].sum(1)) == set(range(6))


def test_planes_of_many_dimensions_keep_what_they_can():
    """Points in a plane of R^6 keep their distances; other points keep the largest ones."""
    stream = np.random.default_rng(0)
    basis = np.linalg.qr(stream.normal(size=(6, 2)))[0]
    points = stream.normal(size=(40, 2))
    flat = (points @ basis.T) @ layer_projections._plane(torch.as_tensor(points @ basis.T))
    np.testing.assert_allclose(
        np.linalg.norm(flat[:, None] - flat, axis=2),
        np.linalg.norm(points[:, None] - points, axis=2), atol=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [{}, {"vocabulary": 2}, {"p": 3}, {"d": 1}, {"d": 7, "p": 4, "vocabulary": 6, "bias": False},
     {"length": 5, "k": 5}, {"length": 30, "p": 5, "vocabulary": 5, "hidden": 1}],
    ids=["p2", "V2", "p3", "d1", "d7", "no distractors", "long"],
)  # fmt: skip
def test_all_panels_of_any_network(changes):
    _, view = drawn(**changes)
    curves = {"step": [0, 5, 10]} | {
        f"{part}_{name}": [1.0, 0.5, 0.2]
        for part in ("train", "test")
        for name in ("loss", "accuracy")
    }  # fmt: skip

    made, panels = figure.drawn(view, pd.DataFrame(curves), "run", 5, 1)
    names = [*network_panels.PANELS, "loss (nat), by epoch", "accuracy, by epoch"]
    made.canvas.draw()
    for name, axes in zip(names, panels, strict=True):
        assert axes.get_title() == name
        assert axes.lines or axes.collections or axes.images or axes.texts, name


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A study of two runs whose networks are logged every second step."""
    settings = {"steps": 12, "parameters": SMALL | {"d": 3}, "log": {"parameters": {"every": 2}}}
    return ran(tmp_path_factory.mktemp("film"), system="sparse_transformer", **settings)


def run_id(study):
    return study.points[0].run_id(1)


def test_a_picture_of_any_step(trained, capsys):
    cli.main(["sandbox", "--study", trained.json, run_id(trained), "--step", "4"])
    path = trained.results / "sandbox" / run_id(trained) / "step_4.png"
    assert capsys.readouterr().out.strip() == str(path)
    with Image.open(path) as picture:
        assert min(picture.size) > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["e/none/s00000"], "no run 'e/none/s00000' of sparse_transformer; they are named"),
        (["RUN", "--step", "5"], "logs its network at 7 steps, not at 5 (nearest: 4"),
        (["RUN", "--output", "a.xyz"], "a.xyz: a picture must end in .png, .svg or .pdf"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(trained, error_of, arguments, message):
    given = (run_id(trained) if a == "RUN" else a for a in arguments)
    assert message in error_of("sandbox", "--study", trained.json, *given)


def test_a_diverged_network_is_said(tmp_path, error_of):
    parameters = SMALL | {"learning_rate": 1e30}
    study = ran(tmp_path, system="sparse_transformer", steps=30, parameters=parameters)
    said = error_of("sandbox", "--study", study.json, run_id(study))
    assert "its network at step 30 is not finite" in said
