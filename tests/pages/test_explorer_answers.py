"""The table of a network's answers in a real Chromium: correct, pointed at and typed pairs."""

import numpy as np
import pytest
import torch
from browsing import numbers
from conftest import experiment
from driving import at, explorer_of, settled

from circlet.collections.ding.equations import embedding_mlp
from circlet.collections.musat.equations import constant_attention
from circlet.storage import parquet
from circlet.study import planning

pytestmark = pytest.mark.browser

P = 17
LOG = {name: {"every": 100} for name in ("embeddings", "parameters", "curves")}
OFTEN = {"steps": 300, "log": LOG}
SETTINGS = {
    "experiments": {
        "often": experiment(parameters={"weight_decay": 0.5}, **OFTEN),
        "ordered": experiment("embedding_mlp", parameters={"p": P, "d": 16, "hidden": 24}, **OFTEN),
    }
}


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    """Return the explorer of two small experiments, and the study."""
    folder = tmp_path_factory.mktemp("answers")
    return explorer_of(SETTINGS, folder), planning.plan(SETTINGS | {"results": str(folder)})


@pytest.fixture
def page_at(explore, explorer):
    def page_at(experiment, step):
        block = next(b for b in explorer[1].blocks if b.point.experiment == experiment)
        return settled(explore(explorer[0], at(block.point.run_id(1), step))), block

    return page_at


EQUATIONS = {"ordered": embedding_mlp}  # constant_attention for the others
PANEL = {"ordered": "ordered_answers"}


def expected(block, step):
    """Return the probabilities (p, p, p) and train pairs (p, p) of the run with seed 1."""
    equations = EQUATIONS.get(block.point.experiment, constant_attention)
    weights = parquet.read_weights(block, [step])
    of_run = {k: torch.as_tensor(v[0, 1 - block.first]).double() for k, v in weights.items()}
    embedding, shape = of_run["embedding"], (P, P, -1)
    left, right = embedding[:, None].expand(shape), embedding[None].expand(shape)
    _, logits = equations.forward(of_run, block.point.parameters, left, right)
    trained = np.zeros((P, P), bool)
    mask = equations.train_mask(block.point.parameters, block.point.seeds(1))
    a, b = equations.pairs(P)[mask].T
    trained[a, b] = True
    if equations is constant_attention:  # its pairs have no order
        trained[b, a] = True
    return logits.softmax(-1).numpy(), trained


# Colours at some places in each cell of the table; places are given as shares of a cell.
CELLS = """places => {
  const canvas = document.querySelector("#answers-picture canvas");
  const size = canvas.width / 17;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.width);
  return places.map(([x, y]) => Array.from({ length: 289 }, (_, i) => {
    const across = Math.round(size * (i % 17 + x));
    const at = 4 * (canvas.width * Math.round(size * (Math.floor(i / 17) + y)) + across);
    return [...data.slice(at, at + 4)];
  }));
}"""


@pytest.mark.parametrize("step", [0, 300])
@pytest.mark.parametrize(("experiment", "n"), [("often", (122, 31)), ("ordered", (231, 58))])
def test_answers_are_those_of_python(page_at, experiment, n, step):
    page, block = page_at(experiment, step)
    probabilities, trained = expected(block, step)
    panel = PANEL.get(experiment, "answers")
    rows = numbers(page, panel)
    assert list(rows) == ["a", "b", "class", "answer", "probability", "set"]
    a, b, target, given = rows[["a", "b", "class", "answer"]].to_numpy().T
    assert a.tolist() == np.repeat(range(P), P).tolist() and b.tolist() == [*range(P)] * P
    np.testing.assert_array_equal(target, (a + b) % P)
    ordered = np.sort(probabilities.reshape(-1, P), axis=1)
    least = 1e-5 if experiment == "ordered" else 1e-3  # computed by Python, or from 16-bit weights
    clear = ordered[:, -1] > ordered[:, -2] + least
    assert clear.mean() > 0.9
    best = probabilities.argmax(-1).ravel()
    np.testing.assert_array_equal(given[clear], best[clear])
    np.testing.assert_allclose(rows["probability"], ordered[:, -1], atol=1e-3)
    np.testing.assert_array_equal(rows["set"] == "train", trained.ravel())

    curves = parquet.read_log(block, "curves").query("seed == 1 and step == @step").iloc[0]
    train, test = (
        round(curves[f"{part}_accuracy"] * k) for part, k in zip(("train", "test"), n, strict=True)
    )
    assert 0 < train + test < sum(n)  # some pairs right, some wrong
    shown = page.inner_text(f"#{panel} .ask p >> nth=0")
    assert shown == f"Right: {train} of {n[0]} pairs trained on, {test} of {n[1]} held out."
    assert page.inner_text(f"#{panel}-note") == "blue: trained on; orange: held out; ×: wrong"
    if experiment == "often":  # cells are filled if right and crossed if wrong
        middle, edge = np.array(page.evaluate(CELLS, [[0.5, 0.5], [0.5, 0.1]]))
        colours = np.where(trained.reshape(-1, 1), [0, 0x72, 0xB2], [0xD5, 0x5E, 0])
        np.testing.assert_allclose(middle[:, :3], colours, atol=3)
        np.testing.assert_array_equal(edge[:, 3] > 0, given == target)


# The numbers written in the middle of a panel's rings, each with the size of its ring.
RINGED = """id => {
  const texts = [...document.querySelectorAll(`#${id}-picture svg > g + g text`)];
  const away = (node, x, y) => Math.hypot(node.getAttribute("x") - x, node.getAttribute("y") - y);
  const d = document.querySelector(`#${id}-picture svg > path`).getAttribute("d");
  return d.split("M").slice(1).map(part => {
    const [x, y, radius] = part.split(/[ a]/).map(Number);
    const inside = texts.find(node => away(node, x + radius, y) < 0.2);
    return [Number(inside.textContent), radius];
  }).sort(([a], [b]) => a - b);
}"""


def ringed(page, panel):
    return [number for number, _ in page.evaluate(RINGED, panel)]


def cell(page, a, b):
    """Return the middle of a cell on the screen."""
    box = page.locator("#answers-picture rect").bounding_box()
    unit = box["width"] / P
    return box["x"] + (b + 0.5) * unit, box["y"] + (a + 0.5) * unit


def test_pointing_lights_up_the_numbers_and_all_pairs_with_the_answer(page_at):
    page, _ = page_at("often", 300)
    page.locator("#answers-picture").scroll_into_view_if_needed()
    assert ringed(page, "embedding") == ringed(page, "sums") == []
    page.mouse.move(*cell(page, 16, 5))
    assert ringed(page, "embedding") == [5, 16]
    assert ringed(page, "sums") == [4] * 9  # 17 ordered pairs have the answer 4: 9 unordered ones
    sizes = [size for _, size in page.evaluate(RINGED, "sums")]
    assert sizes.count(max(sizes)) == 1
    said = page.inner_text("#answers .ask p >> nth=1")
    assert "16 + 5 = 21, and 21 mod 17 = 4." in said and "Row 16, column 5" in said
    page.mouse.move(5, 5)
    assert ringed(page, "embedding") == ringed(page, "sums") == []
    page.mouse.click(*cell(page, 2, 3))
    page.mouse.move(5, 5)
    assert [page.input_value(f"#answers [name={name}]") for name in "ab"] == ["2", "3"]
    page.locator("#step-slider").fill("0")  # the rings follow
    settled(page)
    assert ringed(page, "embedding") == [2, 3]


def test_a_typed_pair_is_answered(page_at):
    page, block = page_at("often", 300)
    probabilities, trained = expected(block, 300)
    for a, b in ((3, 9), (16, 16), (0, 12)):
        page.fill("#answers [name=a]", str(a))
        page.fill("#answers [name=b]", str(b))
        best = int(probabilities[a, b].argmax())
        said = page.inner_text("#answers .ask p >> nth=1")
        verdict = "Right" if best == (a + b) % P else "Wrong"
        assert said.startswith(f"{verdict}: the network answers {best} (probability ")
        assert said.endswith("trained on." if trained[a, b] else "held out.")
    for typed, words in (("17", "The numbers are 0 to 16."), ("", "Type two numbers")):
        page.fill("#answers [name=a]", typed)
        assert page.inner_text("#answers .ask p >> nth=1").startswith(words)
