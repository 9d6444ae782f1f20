"""The panels of the explorer show the values of the logs."""

import numpy as np
import pandas as pd
import pytest
import torch
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
    numbers,
    settled,
    step_now,
    table,
    weights_at,
)

from circlet.analysis import spectrum
from circlet.collections.musat.tables import structures
from circlet.collections.odonnat.equations import sparse_transformer
from circlet.sweeps import explorer_budget
from circlet.systems.parameters import CROSS_ENTROPY

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("run_id", [NETWORK, PARTICLES, CIRCLES])
def test_embeddings_sums_and_signals_are_those_of_the_logs(page_of, finished, run_id):
    step = 40
    page = page_of(at(run_id, step, dimensions="2,1"))
    expected = embedding_at(finished, run_id, step)
    precise = {"atol": 2e-4 * np.abs(expected).max()}
    columns, rows = numbers(page, "embedding")
    assert columns == ["token", *(f"dimension_{i + 1}" for i in range(expected.shape[1]))]
    np.testing.assert_allclose(np.array(rows, float)[:, 1:], expected, **precise)
    p = len(expected)
    columns, rows = numbers(page, "sums")
    assert columns == ["a", "b", "class", "x", "y"]
    assert len(rows) == p * (p + 1) // 2
    a, b, c = np.array(rows, float)[:, :3].astype(int).T
    np.testing.assert_array_equal(c, (a + b) % p)
    sums = (expected[a] + expected[b])[:, [1, 0]]
    np.testing.assert_allclose(np.array(rows, float)[:, 3:], sums, **precise)
    signals = logged(finished, run_id, "signals").pivot(
        index="step", columns="frequency", values="signal"
    )
    columns, rows = numbers(page, "signals")
    shown = np.array(rows, float)
    assert columns == ["step", *(f"signal_{k}" for k in signals)]
    assert shown[:, 0].tolist() == explorer_budget.evenly(signals.index.tolist(), 101)
    wanted = signals.loc[shown[:, 0]].to_numpy()
    np.testing.assert_allclose(shown[:, 1:], wanted, atol=1e-4 * wanted.max())


@pytest.mark.parametrize("run_id", [NETWORK, CIRCLES, TRANSFORMER])
def test_curves_are_those_of_the_log(page_of, finished, run_id):
    columns, rows = numbers(page_of(at(run_id)), "losses")  # six digits
    frame = logged(finished, run_id, "curves").set_index("step")
    shown = np.array(rows, float)
    assert columns == ["step", *CROSS_ENTROPY]
    assert shown[-1, 0] == block_of(run_id)[0].point.steps
    np.testing.assert_allclose(shown[:, 1:], frame.loc[shown[:, 0], list(CROSS_ENTROPY)], rtol=5e-6)


def test_planes_of_frequencies_are_those_of_python(page_of, finished):
    embedding = embedding_at(finished, CIRCLES, 40)
    page = page_of(at(CIRCLES, 40, frequency=6))
    assert page.input_value("#plane") == "6"
    assert not page.is_visible("#x")
    for k in (6, 4, 1):
        page.select_option("#plane", str(k))
        _, rows = numbers(page, "sums")
        doubled = np.array([row[3:] for row in rows if row[0] == row[1]], float)
        expected = spectrum.plane(embedding, k)
        np.testing.assert_allclose(doubled / 2, expected, atol=1e-3 * np.abs(expected).max())


REGIONS = """async ([weights, points]) => {
  const { classesAt } = await import("circlet/odonnat/transformer");
  return [...classesAt(weights, 2, points)];
}"""


def test_regions_of_the_transformer_are_those_of_its_classifier(page_of, finished):
    points = np.random.default_rng(0).normal(size=(400, 2)) * 2
    weights = weights_at(finished, TRANSFORMER, block_of(TRANSFORMER)[0].point.steps)
    flat = {name: array.ravel().tolist() for name, array in weights.items()}
    classes = page_of().evaluate(REGIONS, [flat, points.ravel().tolist()])
    tensors = {name: torch.as_tensor(array)[None].double() for name, array in weights.items()}
    expected = sparse_transformer.classify(tensors, torch.as_tensor(points.T)[None])[0].argmax(0)
    assert len(set(expected.tolist())) > 1
    assert (np.array(classes) == expected.numpy()).mean() > 0.995  # except where two classes tie


def test_readings_are_those_of_python(page_of, finished):
    page = page_of(at(NETWORK, 50))
    embedding = embedding_at(finished, NETWORK, 50)
    reading = page.inner_text("#reading-now")
    assert f"norm ratio {structures.norm_ratio(embedding):.2f}" in reading
    assert f"imperfections {structures.count_imperfections(embedding)} of 153" in reading


def test_sequences_and_attention_are_those_of_python(page_of, finished):
    step = 240
    page = page_of(at(TRANSFORMER, step))
    _, rows = numbers(page, "sequences")
    tokens = np.array([[int(token) for token in row[0].split(" ")] for row in rows])
    assert tokens.shape[1] == 4
    assert {tuple(row[:2]) for row in tokens} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert [int(row[1]) for row in rows] == (tokens[:, :2].sum(1) % 2).tolist()
    weights = weights_at(finished, TRANSFORMER, step)
    tensors = {name: torch.as_tensor(array)[None].double() for name, array in weights.items()}
    chosen = sparse_transformer.encode(tokens[None], 2, 2, torch.float64, torch.device("cpu"))
    xi = sparse_transformer.embed(tensors, chosen, 2)[0].T.numpy()
    shown = np.array([row[2:] for row in rows], float)
    np.testing.assert_allclose(shown, xi, atol=1e-3 * np.abs(xi).max())
    _, _, score, _ = sparse_transformer.tables(tensors, 2)
    attention = sparse_transformer.attention(score, chosen)[0].unflatten(0, (2, 4)).sum(0).T
    _, rows = numbers(page, "attention")
    np.testing.assert_allclose(np.array([row[2:] for row in rows], float), attention, atol=1e-3)


def test_coefficients_are_those_of_the_table(page_of, finished):
    page = page_of(at(CIRCLES))
    rows = table("ode_coefficients", finished).query("run_id == @CIRCLES and method == 'lasso'")
    columns, shown = numbers(page, "ode")
    assert columns == ["on", "constant", *(f"of_{k}" for k in range(1, 7))]
    matrix = rows.pivot(index="target", columns="source", values="coefficient")
    np.testing.assert_allclose(np.array(shown, float)[:, 1:], matrix, rtol=1e-4, atol=1e-12)


def test_the_reading_is_of_the_step(page_of, finished):
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


def test_epochs_of_the_list_are_those_of_the_table(page_of, finished):
    runs = table("explorer_runs", finished).set_index("run_id")
    page = page_of(at(TRANSFORMER))
    heads = page.eval_on_selector_all("#run-head button", "all => all.map(b => b.dataset.by)")
    ids = page.eval_on_selector_all("#run-list input", "all => all.map(one => one.value)")
    assert len(ids) == 4
    epochs = block_of(TRANSFORMER)[0].point.steps_per_epoch
    for name, of in (("structure_epoch", "structure_step"), ("fit_epoch", "fit_step")):
        shown = column(page, heads.index(name) + 1)
        for run_id, text in zip(ids, shown, strict=True):
            step = runs[of][run_id]
            assert text == ("–" if pd.isna(step) else f"{step / epochs:.3g}")
