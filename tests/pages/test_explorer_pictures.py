"""What the explorer draws and saves are the values of logs: places, words, colours, readings."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch
from browsing import each, numbers
from driving import (
    CIRCLES,
    NETWORK,
    PARTICLES,
    TRANSFORMER,
    at,
    block_of,
    column,
    embedding_at,
    logged,
    settled,
    step_now,
    table,
    weights_at,
)

from circlet.collections.musat.equations import constant_attention
from circlet.collections.musat.tables import structures
from circlet.collections.odonnat.equations import sparse_transformer
from circlet.sweeps import explorer_budget

pytestmark = pytest.mark.browser

# A plane as drawn: ticks and labels of its axes, its frame, texts, and paths by colour.
DRAWN = """id => {
  const [axes, inside] = document.querySelectorAll(`#${id}-picture > svg > g`);
  const of = (node, ...names) => names.map(name => Number(node.getAttribute(name)));
  const all = [...axes.querySelectorAll("text")];
  const ticks = anchor => all.slice(0, -2)
    .filter(node => node.getAttribute("text-anchor") === anchor)
    .map(node => [...of(node, anchor === "middle" ? "x" : "y"), Number(node.textContent)]);
  return {
    x: ticks("middle"),
    y: ticks("end").map(([place, value]) => [place - 3.5, value]),
    labels: all.slice(-2).map(node => node.textContent),
    frame: of(axes.querySelector("rect"), "x", "y", "width", "height"),
    texts: [...inside.querySelectorAll("text")].map(n => [...of(n, "x", "y"), n.textContent]),
    paths: [...inside.querySelectorAll("path")].map(n => [n.getAttribute("stroke"), n.getAttribute("d") ?? ""]),
    picked: getComputedStyle(document.documentElement).getPropertyValue("--picked").trim(),
  };
}"""  # noqa: E501


class Drawn:
    """A plane as drawn, in the units of its axes."""

    def __init__(self, page, panel):
        settled(page)
        drawn = page.evaluate(DRAWN, panel)
        self.labels, self.paths, self.picked = drawn["labels"], drawn["paths"], drawn["picked"]
        (x, y, width, height), self.lines = drawn["frame"], []
        for ticks, low, size in ((drawn["x"], x, width), (drawn["y"], y, height)):
            places, values = np.array(ticks).T
            assert len(ticks) >= 3
            assert (places >= low - 0.1).all() and (places <= low + size + 0.1).all()
            self.lines.append(np.polyfit(places, values, 1))
        corners = np.array([[x, y + height], [x + width, y]])
        (self.left, self.bottom), (self.right, self.top) = self.units(corners)
        self.words = [word for *_, word in drawn["texts"]]
        self.places = self.units(np.array([place for *place, _ in drawn["texts"]]).reshape(-1, 2))

    def units(self, places):
        return np.stack([np.polyval(line, places[:, i]) for i, line in enumerate(self.lines)], 1)

    def starts(self, colour):
        """Return the places of the marks of a colour."""
        outlines = [d for stroke, d in self.paths if stroke == colour]
        parts = [part.split("h")[0].split() for d in outlines for part in d.split("M")[1:]]
        return self.units(np.array(parts, float).reshape(-1, 2))

    @property
    def precision(self):
        """A tenth of a unit of the drawing, plus the rounding of ticks."""
        return 4e-3 * (self.right - self.left)


def imperfect(sums, classes):
    """Return for each pair sum whether the nearest other one has another class."""
    away = np.linalg.norm(sums[:, None] - sums[None], axis=2)
    np.fill_diagonal(away, np.inf)
    return classes[away.argmin(1)] != classes


@pytest.mark.parametrize("run_id", [NETWORK, PARTICLES, CIRCLES])
def test_embeddings_sums_and_signals_are_those_of_the_logs(page_of, finished, run_id):
    page = page_of(at(run_id, 40, dimensions="2,1"))
    expected = embedding_at(finished, run_id, 40)
    precise = {"atol": 2e-4 * np.abs(expected).max()}
    shown, drawn = numbers(page, "embedding"), Drawn(page, "embedding")
    assert list(shown) == ["token", *(f"dimension_{i + 1}" for i in range(expected.shape[1]))]
    np.testing.assert_allclose(shown.to_numpy()[:, 1:], expected, **precise)
    assert drawn.labels == ["dimension 2", "dimension 1"]
    assert drawn.words == [str(token) for token in shown["token"]]
    np.testing.assert_allclose(drawn.places, expected[:, [1, 0]], atol=drawn.precision)
    p, right = len(expected), drawn.right
    shown, drawn = numbers(page, "sums"), Drawn(page, "sums")
    assert list(shown) == ["a", "b", "class", "x", "y"]
    assert len(shown) == p * (p + 1) // 2
    a, b, classes = shown[["a", "b", "class"]].to_numpy().T
    np.testing.assert_array_equal(classes, (a + b) % p)
    sums = (expected[a] + expected[b])[:, [1, 0]]
    np.testing.assert_allclose(shown[["x", "y"]], sums, **precise)
    order = np.argsort(classes, kind="stable")  # texts are drawn class by class
    assert drawn.words == [str(c) for c in classes[order]]
    np.testing.assert_allclose(drawn.places, sums[order], atol=drawn.precision)
    assert drawn.right == pytest.approx(2 * right, rel=0.01)
    if run_id != CIRCLES:  # the plane is all that there is
        bad = sums[imperfect(sums, classes)]
        marked = drawn.starts(drawn.picked)
        assert 0 < len(bad) == len(marked) < len(sums)
        away = np.linalg.norm(marked[:, None] - bad[None], axis=2)
        assert away.min(1).max() < drawn.precision
        reading = page.inner_text("#reading-now")
        assert f"norm ratio {structures.norm_ratio(expected):.2f}" in reading
        assert f"imperfections {len(bad)} of 153" in reading
    signals = logged(finished, run_id, "signals").pivot(
        index="step", columns="frequency", values="signal"
    )
    shown = numbers(page, "signals").set_index("step")
    assert list(shown) == [f"signal_{k}" for k in signals]
    assert shown.index.tolist() == explorer_budget.evenly(signals.index.tolist(), 101)
    wanted = signals.loc[shown.index].to_numpy()
    np.testing.assert_allclose(shown, wanted, atol=1e-4 * wanted.max())


@pytest.mark.parametrize("run_id", [NETWORK, CIRCLES, TRANSFORMER])
def test_nothing_leaves_the_box_of_the_training(page_of, run_id):
    page = page_of(at(run_id, 0, fit=0))
    boxes = set()
    for place in range(0, int(page.get_attribute("#step-slider", "max")) + 1, 10):
        page.locator("#step-slider").fill(str(place))
        drawn = Drawn(page, "embedding")
        boxes.add(round(drawn.right, 3))
        inside = (drawn.places >= [drawn.left, drawn.bottom]) & (
            drawn.places <= [drawn.right, drawn.top]
        )
        assert inside.all()
    assert len(boxes) == 1
    page.check("#fit")
    drawn = Drawn(page, "embedding")
    if run_id != TRANSFORMER:  # the panel also draws positions
        assert 0.8 < np.abs(drawn.places).max() / drawn.right < 0.95


PIXELS = """([id, shares]) => {
  const canvas = document.querySelector(`#${id}-picture canvas`);
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  return shares.map(([x, y]) => {
    const at = 4 * (Math.floor(y * height) * width + Math.floor(x * width));
    return data.slice(at, at + 3).join(" ");
  });
}"""


def colours_of_classes(page, panel, points, classes, drawn):
    """Check that points have one colour per class, and classes different colours."""
    first, last = np.array([[drawn.left, drawn.top], [drawn.right, drawn.bottom]])
    shares = (points - first) / (last - first)
    colours = np.array(page.evaluate(PIXELS, [panel, shares.tolist()]))
    usual = {}
    for c in np.unique(classes):
        if (classes == c).sum() < 8:
            continue
        distinct, counts = np.unique(colours[classes == c], return_counts=True)
        assert counts.max() / counts.sum() > 0.85  # the others lie at a border of regions
        usual[c] = distinct[counts.argmax()]
    assert len(set(usual.values())) == len(usual) > 1


@pytest.mark.parametrize("dimensions", ["1,2", "2,1"])
def test_regions_lie_under_their_classes(page_of, finished, dimensions):
    page = page_of(at(NETWORK, dimensions=dimensions))
    drawn = Drawn(page, "sums")
    steps = block_of(NETWORK)[0].point.steps
    weights = weights_at(finished, NETWORK, steps)
    tensors = {name: torch.as_tensor(array)[None].double() for name, array in weights.items()}
    box = np.array([[drawn.left, drawn.bottom], [drawn.right, drawn.top]])
    points = np.random.default_rng(1).uniform(*box, size=(1500, 2))
    ordered = points if dimensions == "1,2" else points[:, ::-1].copy()
    scores = constant_attention.logits(tensors, torch.as_tensor(ordered.T)[None])[0]
    axis = next(i for i, n in enumerate(scores.shape) if n == 17)
    colours_of_classes(page, "sums", points, scores.argmax(axis).numpy().ravel(), drawn)


def test_regions_are_of_the_whole_plane_alone(page_of):
    page = settled(page_of(at(NETWORK, dimensions="1,1")))
    assert len(set(page.evaluate(PIXELS, ["sums", [[0.1, 0.1], [0.9, 0.2], [0.5, 0.9]]]))) == 1
    assert "only for both dimensions" in page.inner_text("#sums-note")


REGIONS = """async ([weights, points]) => {
  const { classesAt } = await import("circlet/odonnat/transformer");
  return [...classesAt(weights, 2, points)];
}"""


def test_sequences_attention_and_regions_are_those_of_python(page_of, finished):
    """A trained transformer gives most sequences their class, and the regions below agree."""
    page = page_of(at(TRANSFORMER))
    shown, drawn = numbers(page, "sequences"), Drawn(page, "sequences")
    tokens = np.array([list(map(int, words.split(" "))) for words in shown["tokens"]])
    assert tokens.shape[1] == 4
    assert {tuple(row[:2]) for row in tokens} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    label = tokens[:, :2].sum(1) % 2
    assert shown["class"].tolist() == label.tolist()
    weights = weights_at(finished, TRANSFORMER, block_of(TRANSFORMER)[0].point.steps)
    tensors = {name: torch.as_tensor(array)[None].double() for name, array in weights.items()}
    chosen = sparse_transformer.encode(tokens[None], 2, 2, torch.float64, torch.device("cpu"))
    xi = sparse_transformer.embed(tensors, chosen, 2)[0].T.numpy()
    np.testing.assert_allclose(shown.iloc[:, 2:], xi, atol=1e-3 * np.abs(xi).max())
    order = np.argsort(label, kind="stable")
    assert drawn.words == [str(total) for total in tokens[order, :2].sum(1)]
    np.testing.assert_allclose(drawn.places, xi[order], atol=drawn.precision)
    colours_of_classes(page, "sequences", xi, label, drawn)

    points = np.random.default_rng(0).normal(size=(400, 2)) * 2
    flat = {name: array.ravel().tolist() for name, array in weights.items()}
    classes = page.evaluate(REGIONS, [flat, points.ravel().tolist()])
    expected = sparse_transformer.classify(tensors, torch.as_tensor(points.T)[None])[0].argmax(0)
    assert len(set(expected.tolist())) > 1
    assert (np.array(classes) == expected.numpy()).mean() > 0.995  # except where two classes tie

    _, _, score, _ = sparse_transformer.tables(tensors, 2)
    attention = sparse_transformer.attention(score, chosen)[0].unflatten(0, (2, 4)).sum(0).T
    shown = numbers(page, "attention").iloc[:, 2:]
    np.testing.assert_allclose(shown, attention, atol=1e-3)
    rows, columns = shown.shape
    shares = [
        [(j + 0.5) / columns, (i + 0.5) / rows]
        for i, j in itertools.product(range(rows), range(columns))
    ]
    red = [int(colour.split(" ")[0]) for colour in page.evaluate(PIXELS, ["attention", shares])]
    assert np.corrcoef(attention.ravel(), red)[0, 1] < -0.999  # on white: larger is darker
    ticks = page.evaluate(DRAWN, "attention")["x"]
    assert [value for _, value in ticks] == list(range(1, columns + 1))


def test_what_is_read_off_is_of_the_step_and_epochs_are_those_of_the_table(page_of, finished):
    curves = logged(finished, TRANSFORMER, "curves").set_index("step")
    epochs = block_of(TRANSFORMER)[0].point.steps_per_epoch
    page = page_of(at(TRANSFORMER, int(curves.index[len(curves) // 3])))
    settled(page)
    step = step_now(page)
    row = curves.loc[curves.index[curves.index <= step].max()]
    said = page.inner_text("#reading-now")
    loss, accuracy = (said.split(f"{name} ")[1].split(",")[0].split(" ")[0] for name in
                      ("train loss", "test accuracy"))  # fmt: skip
    assert float(loss) == pytest.approx(row["train_loss"], rel=0.006)
    assert float(accuracy) == pytest.approx(row["test_accuracy"], rel=0.006)
    epoch = float(page.inner_text("#step-now").split("epoch ")[1])
    assert epoch == pytest.approx(step / epochs, rel=0.006)
    assert page.get_attribute("#step-slider", "aria-valuetext") == f"step {step}"
    runs = table("explorer_runs", finished).set_index("run_id")
    heads = page.eval_on_selector_all("#run-head button", "all => all.map(b => b.dataset.by)")
    ids = each(page, "#run-list input", "value")
    assert len(ids) == 4
    for name, of in (("structure_epoch", "structure_step"), ("fit_epoch", "fit_step")):
        listed = column(page, heads.index(name) + 1)
        for run_id, text in zip(ids, listed, strict=True):
            logged_step = runs[of][run_id]
            assert text == ("–" if pd.isna(logged_step) else f"{logged_step / epochs:.3g}")
