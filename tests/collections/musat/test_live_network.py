"""The explorer's live networks in a real Chromium."""

import csv

import numpy as np
import pytest
import torch
from browsing import file_of, fill, saved
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
    start, name = saved(page, "network-embedding")
    assert name == "network-embedding_step_0.csv"
    page.click("#network-step")
    assert page.inner_text("#network-steps") == "1"
    train(page, 401)
    loss, accuracy = page.inner_text("#network-train").split(" nat, ")
    assert float(loss) < 2
    assert int(accuracy.split(" ")[0]) > 40
    end, _ = saved(page, "network-embedding")
    assert np.abs(end - start).max() > 0.5
    norms = np.linalg.norm(end, axis=1)
    assert page.inner_text("#network-ratio").startswith(f"{norms.max() / norms.min():.2f}, ")
    expected = structures.count_imperfections(end)
    assert page.inner_text("#network-imperfections") == f"{expected} of 153"
    page.click("#network-restart")
    again, _ = saved(page, "network-embedding")
    np.testing.assert_array_equal(again, start)
    fill(page, "network", seed=4)
    other, _ = saved(page, "network-embedding")
    assert np.abs(other - start).max() > 0.1


def test_the_live_table_has_the_accuracies(page):
    train(page, 21, weight_decay=1, seed=3)
    path, _ = file_of(page, "network-answers", "csv")
    saved_rows = csv.DictReader(path.read_text().splitlines())
    rows = [row for row in saved_rows if int(row["a"]) <= int(row["b"])]
    assert len(rows) == 153
    for part in ("train", "test"):
        is_right = [row["answer"] == row["class"] for row in rows if row["set"] == part]
        assert len(is_right) == {"train": 122, "test": 31}[part]
        share = page.inner_text(f"#network-{part}").split(", ")[1]
        assert share == f"{100 * np.mean(is_right):.0f} % right"
    page.fill("#network-answers [name=a]", "1")  # this is no setting of the training
    page.fill("#network-answers [name=b]", "16")
    assert int(page.inner_text("#network-steps")) > 20
    assert "1 + 16 = 17, and 17 mod 17 = 0." in page.inner_text("#network-answers .ask")
    ringed = "document.querySelector('#network-embedding-picture svg > path').getAttribute('d')"
    assert page.evaluate(ringed).count("M") == 2
