"""What the explorer draws, read back from the page, is its data: places, words, colours, curves."""

import itertools

import numpy as np
import pytest
import torch
from driving import (
    CIRCLES,
    NETWORK,
    TRANSFORMER,
    at,
    block_of,
    numbers,
    settled,
    table,
    weights_at,
)

from circlet.collections.musat.equations import constant_attention

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


@pytest.mark.parametrize("run_id", [NETWORK, CIRCLES])
@pytest.mark.parametrize("dimensions", ["1,2", "2,1"])
def test_embeddings_are_drawn_where_they_are(page_of, run_id, dimensions):
    page = page_of(at(run_id, 40, dimensions=dimensions))
    drawn = Drawn(page, "embedding")
    x, y = map(int, dimensions.split(","))
    assert drawn.labels == [f"dimension {x}", f"dimension {y}"]
    rows = np.array(numbers(page, "embedding")[1], float)
    assert drawn.words == [str(a) for a in range(len(rows))]
    np.testing.assert_allclose(drawn.places, rows[:, [x, y]], atol=drawn.precision)


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


def imperfect(sums, classes):
    """Return for each pair sum whether the nearest other one has another class."""
    away = np.linalg.norm(sums[:, None] - sums[None], axis=2)
    np.fill_diagonal(away, np.inf)
    return classes[away.argmin(1)] != classes


def test_pair_sums_have_their_class_and_marks(page_of):
    page = page_of(at(NETWORK))
    drawn = Drawn(page, "sums")
    rows = np.array(numbers(page, "sums")[1], float)
    # Texts are drawn class by class.
    order = np.argsort(rows[:, 2], kind="stable")
    assert drawn.words == [str(int(c)) for c in rows[order, 2]]
    np.testing.assert_allclose(drawn.places, rows[order, 3:], atol=drawn.precision)
    bad = imperfect(rows[:, 3:], rows[:, 2])
    assert 0 < bad.sum() < len(bad)
    marked, expected = drawn.starts(drawn.picked), rows[bad, 3:]
    assert len(marked) == len(expected)
    away = np.linalg.norm(marked[:, None] - expected[None], axis=2)
    assert away.min(1).max() < drawn.precision
    small, large = Drawn(page, "embedding"), drawn
    assert large.right == pytest.approx(2 * small.right, rel=0.01)


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


@pytest.mark.parametrize("step", [40, None])
def test_sequences_lie_on_the_regions_that_they_are_given(page_of, step):
    """A trained transformer gives most sequences their class, and the regions below agree."""
    page = page_of(at(TRANSFORMER, step))
    drawn = Drawn(page, "sequences")
    rows = numbers(page, "sequences")[1]
    tokens = [list(map(int, row[0].split(" "))) for row in rows]
    xi = np.array([row[2:] for row in rows], float)
    label = np.array([int(row[1]) for row in rows])
    order = np.argsort(label, kind="stable")
    assert drawn.words == [str(sum(tokens[i][:2])) for i in order]
    np.testing.assert_allclose(drawn.places, xi[order], atol=drawn.precision)
    if step is None:
        colours_of_classes(page, "sequences", xi, label, drawn)


def test_attention_is_drawn_cell_by_cell(page_of):
    page = settled(page_of(at(TRANSFORMER)))
    values = np.array([row[2:] for row in numbers(page, "attention")[1]], float)
    rows, columns = values.shape
    shares = [
        [(j + 0.5) / columns, (i + 0.5) / rows]
        for i, j in itertools.product(range(rows), range(columns))
    ]
    red = [int(colour.split(" ")[0]) for colour in page.evaluate(PIXELS, ["attention", shares])]
    assert np.corrcoef(values.ravel(), red)[0, 1] < -0.999  # on white: larger is darker
    ticks = page.evaluate(DRAWN, "attention")["x"]
    assert [value for _, value in ticks] == list(range(1, columns + 1))


CHART = """id => {
  const { data, layout } = document.querySelector(`#${id}-picture .js-plotly-plot`);
  const { annotations = [], xaxis, yaxis } = layout;
  const names = annotations.map(one => [Number(one.text), one.y]);
  return { data: JSON.parse(JSON.stringify(data)), names, titles: [xaxis.title.text, yaxis.title.text] };
}"""  # noqa: E501


def test_the_linear_ode_is_drawn_as_it_is(page_of):
    page = settled(page_of(at(CIRCLES)))
    chart = page.evaluate(CHART, "ode")
    rows = np.array(numbers(page, "ode")[1], float)
    (heat,) = chart["data"]
    np.testing.assert_allclose(np.array(heat["z"]), rows[:, 2:], rtol=1e-4, atol=1e-12)
    assert chart["titles"] == ["effect of frequency", "effect on frequency"]
    assert [colour for _, colour in heat["colorscale"]][::2] == ["#d55e00", "#0072b2"]


def test_signals_are_drawn_and_survivors_coloured(page_of, finished):
    runs = table("explorer_runs", finished)
    n_alive = runs["survivors"].map(lambda ks: 0 if ks is None else len(ks))
    row = runs[(n_alive > 0) & (runs["shown"] == "training")].iloc[0]
    alive = [int(k) for k in row["survivors"]]
    page = settled(page_of(at(row["run_id"])))
    columns, rows = numbers(page, "signals")
    rows = np.array(rows, float)
    chart = page.evaluate(CHART, "signals")
    coloured = set()
    for trace in chart["data"]:
        k = int(trace["hovertemplate"].split("k = ")[1].split(":")[0])
        assert trace["x"] == rows[:, 0].tolist()
        np.testing.assert_allclose(trace["y"], rows[:, columns.index(f"signal_{k}")], rtol=1e-4)
        if trace["line"]["width"] == 2:
            coloured.add(k)
    assert coloured == set(alive)
    assert page.inner_text("#signals-note").startswith("coloured: survivors")
    names = dict(chart["names"])
    assert names and set(names) <= set(alive)
    for k, y in names.items():
        assert y == pytest.approx(rows[-1, columns.index(f"signal_{k}")], rel=1e-4)
    box = page.locator("#signals-picture").bounding_box()
    for name in page.locator("#signals-picture .annotation-text").all():
        text = name.bounding_box()
        assert text["x"] + text["width"] <= box["x"] + box["width"]


def test_without_survivors_all_signals_are_coloured(page_of):
    page = settled(page_of(at(CIRCLES)))
    assert page.inner_text("#signals-note").startswith("no survivors")
    assert {trace["line"]["width"] for trace in page.evaluate(CHART, "signals")["data"]} == {2}


@pytest.mark.parametrize("log", [0, 1])
def test_losses_and_accuracies_have_their_axes(page_of, log):
    page = settled(page_of(at(CIRCLES, 40, log=log)))
    columns, rows = numbers(page, "losses")
    rows = np.array(rows, float)
    rows = rows[rows[:, 0] > 0] if log else rows
    traces = page.evaluate(CHART, "losses")["data"]
    for trace, name in zip(traces, columns[1:], strict=True):
        assert trace["x"] == rows[:, 0].tolist()
        np.testing.assert_allclose(trace["y"], rows[:, columns.index(name)], rtol=1e-4)
        assert trace["name"] == name.split("_")[0]
        assert trace["yaxis"] == ("y" if name.endswith("loss") else "y2")
    area = page.locator("#losses-picture .nsewdrag").first.bounding_box()
    line = page.locator("#losses-picture .cursor").bounding_box()["x"]
    # The axis starts at the first logged step of all panels: signals are logged at step 1.
    share = np.log(40) / np.log(80) if log else 40 / 80
    assert abs(line - area["x"] - share * area["width"]) < 0.03 * area["width"]
