"""The explorer's live networks in a real Chromium."""

import numpy as np
import pytest
import torch
from browsing import coordinates, file_of, fill, numbers
from conftest import point_of

from circlet.collections.musat.equations import constant_attention
from circlet.collections.musat.tables import structures
from circlet.study.seeds import Seeds

pytestmark = pytest.mark.browser


def train(page, least, **settings):
    """Train the live network for at least so many steps, and pause."""
    fill(page, "network", **settings)
    page.select_option("#network-frame", "10")
    page.click("#network-run")
    page.wait_for_function(
        "least => Number(document.getElementById('network-steps').textContent) >= least", arg=least
    )
    page.click("#network-run")


def test_what_diverges_says_so(page):
    train(page, 150, learning_rate=1, weight_decay=10)
    assert page.inner_text("#network-ratio") == "diverged"
    assert page.inner_text("#network-imperfections") == "–"
    assert page.inner_text("#network-test").startswith("loss not finite")


# Return a network's initial weights on the page, and its weights after some steps.
TRAIN = """async ([settings, steps]) => {
  const network = await import("circlet/musat/network");
  const sizes = { p: 17, d: 2, hidden: 32 };
  const weights = network.initial(sizes, 5);
  const trained = network.split(17, 0.8, 5);
  const training = network.begin(sizes, weights, trained);
  const copied = ([name, values]) => [name, [...values]];
  const copy = () => Object.fromEntries(Object.entries(weights).map(copied));
  const start = copy();
  let measured;
  for (let i = 0; i < steps; i++) measured = network.step(training, settings);
  return { start, end: copy(), trained, measured };
}"""


def test_the_live_network_is_that_of_python(page):
    live = page.evaluate(TRAIN, [{"learning_rate": 0.01, "weight_decay": 1}, 100])
    parameters = point_of().parameters
    usual = constant_attention.initial(parameters, Seeds(0, 0, 0, 0))
    weights = {
        name: torch.tensor(live["start"][name], dtype=torch.float64).reshape(1, *array.shape)
        for name, array in usual.items()
    }
    chosen = np.array(live["trained"])
    assert chosen.sum() == int(0.8 * 153)
    pairs = constant_attention.pairs(17)
    counts = torch.nn.functional.one_hot(torch.as_tensor(pairs), 17).sum(1).double()
    parts = {
        part: constant_attention.Pairs(
            counts[mask].T[None].contiguous(), torch.as_tensor(pairs[mask].sum(1) % 17)[None, None]
        )
        for part, mask in (("train", chosen), ("test", ~chosen))
    }
    data = constant_attention.Data(**parts)
    arrays = [array.requires_grad_() for array in weights.values()]
    optimiser = torch.optim.AdamW(arrays, lr=0.01, weight_decay=1)
    for _ in range(100):
        optimiser.zero_grad()
        measured = constant_attention.metrics(weights, data)
        measured["train_loss"].sum().backward()
        optimiser.step()
    for name, array in weights.items():
        end = np.reshape(live["end"][name], array.shape)
        np.testing.assert_allclose(end, array.detach(), atol=1e-6, err_msg=name)
        assert np.abs(end - np.reshape(live["start"][name], array.shape)).max() > 0.05
    for name, values in measured.items():  # before the last step, as on the page
        np.testing.assert_allclose(live["measured"][name], values[0].detach(), atol=1e-6)


def test_the_live_network_learns(page):
    fill(page, "network", weight_decay=1, seed=3)
    start = coordinates(page, "network-embedding")
    assert file_of(page, "network-embedding", "csv")[1] == "network-embedding_step_0.csv"
    page.click("#network-step")
    assert page.inner_text("#network-steps") == "1"
    train(page, 401)
    loss, accuracy = page.inner_text("#network-train").split(" nat, ")
    assert float(loss) < 2
    assert int(accuracy.split(" ")[0]) > 40
    assert page.locator("#network-losses-picture svg > g > path").count() >= 2
    end = coordinates(page, "network-embedding")
    assert np.abs(end - start).max() > 0.5
    norms = np.linalg.norm(end, axis=1)
    assert page.inner_text("#network-ratio").startswith(f"{norms.max() / norms.min():.2f}, ")
    expected = structures.count_imperfections(end)
    assert page.inner_text("#network-imperfections") == f"{expected} of 153"
    rows = numbers(page, "network-answers").query("a <= b")
    assert len(rows) == 153
    for part, n in (("train", 122), ("test", 31)):
        is_right = rows.query("set == @part").eval("answer == `class`")
        assert len(is_right) == n
        share = page.inner_text(f"#network-{part}").split(", ")[1]
        assert share == f"{100 * is_right.mean():.0f} % right"
    page.fill("#network-answers [name=a]", "1")  # this is no setting of the training
    page.fill("#network-answers [name=b]", "16")
    assert int(page.inner_text("#network-steps")) > 400
    assert "1 + 16 = 17, and 17 mod 17 = 0." in page.inner_text("#network-answers .ask")
    assert page.get_attribute("#network-embedding-picture svg > path", "d").count("M") == 2
    page.click("#network-restart")
    np.testing.assert_array_equal(coordinates(page, "network-embedding"), start)
    fill(page, "network", seed=4)
    assert np.abs(coordinates(page, "network-embedding") - start).max() > 0.1
    page.click("#live-network [data-with]:has-text('overfit')")
    page.wait_for_function("Number(document.getElementById('network-steps').textContent) > 20")
    assert page.inner_text("#network-run") == "Pause"
    page.click("#network-run")
