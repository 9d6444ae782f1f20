"""The law that all runs of a setting share, in a real Chromium: the same as in Python."""

import itertools

import numpy as np
import pytest
from conftest import experiment
from driving import at, explorer_of, numbers, settled

from circlet.collections.findings import shared_laws
from circlet.collections.findings.explorer import data
from circlet.storage import parquet
from circlet.study import planning

pytestmark = pytest.mark.browser

SMALL = {"p": 13, "d": 24, "hidden": 16}
EVERY = {"signals": {"every": 1}, "curves": None}
SETTINGS = {
    "reproduce": {"shared_law": "shared_law"},
    "experiments": {
        "shared_law": experiment(
            "embedding_mlp", parameters=SMALL, steps=60, block=8, seeds={"count": 8}, log=EVERY
        ),
        "other": experiment("embedding_mlp", parameters=SMALL, log=EVERY),
    },
}
LAWS = ("three_numbers", "mean_field", "equivariant")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a finished study with its explorer."""
    folder = tmp_path_factory.mktemp("law")
    explorer_of(SETTINGS, folder)
    return planning.plan(SETTINGS | {"results": str(folder)})


@pytest.fixture
def page_at(explore, study):
    def page_at(run_id, step):
        return settled(explore(study.results / "explorer.html", at(run_id, step)))

    return page_at


def laws_of(study, name):
    """Return the law of each window, from the coefficients in the table."""
    rows = parquet.read_table(study, "shared_law_terms").query("law == @name")
    found = []
    for window, own in rows.groupby(["first_step", "last_step"]):
        terms = tuple(own["term"])
        form = shared_laws.form(name, 6) if name == "equivariant" else shared_laws.mean_field(terms)
        assert form.terms == terms
        found.append((window, shared_laws.Law(form, own["coefficient"].to_numpy()[:, None])))
    assert [window for window, _ in found] == [(0, 10), (10, 50), (50, 60)]
    return found


def signals_of(study, seed):
    """Return the signals of a run by step, (61, 6)."""
    block = next(study.blocks)
    rows = parquet.read_log(block, "signals").query("seed == @seed")
    return rows.pivot(index="step", columns="frequency", values="signal").to_numpy(float)


ROLLOUT = """async ([windows, signals, first]) => {
  const { rollout, survivors } = await import("circlet/findings/law");
  return rollout(windows, signals, first).map(s => [[...s], survivors(s)]);
}"""


def test_the_page_goes_on_as_python_does(page_at, study):
    page = page_at(next(study.blocks).point.run_id(0), 0)
    tables = {"shared_law_terms": parquet.read_table(study, "shared_law_terms")}
    (laws,) = data.data(tables, set()).values()
    for law, (seed, first) in itertools.product(LAWS, ((0, 0), (5, 0), (0, 7), (5, 30), (5, 60))):
        x = signals_of(study, seed)
        path = page.evaluate(ROLLOUT, [laws[law], x[first].tolist(), first])
        found, alive = zip(*path, strict=True)
        expected = shared_laws.rollout(laws_of(study, law), x[None], first)[:, 0]
        assert len(found) == 61 - first
        assert first == 60 or np.abs(expected[-1] - expected[0]).max() > 0.01
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        survivors = shared_laws.survivors(expected)
        assert list(alive) == [(np.flatnonzero(row) + 1).tolist() for row in survivors]


def test_the_panel_starts_at_the_step_shown(page_at, study):
    run_id = next(study.blocks).point.run_id(2)
    page = page_at(run_id, 20)
    page.select_option("#law", "mean_field")
    settled(page)
    x = signals_of(study, 2)
    expected = shared_laws.rollout(laws_of(study, "mean_field"), x[None], 20)[:, 0]
    columns, rows = numbers(page, "shared_law")
    found = np.array(rows, float)
    assert columns == ["step", *(f"law_{k}" for k in range(1, 7))]
    assert found[:, 0].tolist() == list(range(20, 61))
    np.testing.assert_allclose(found[:, 1:], expected, atol=2e-3 * x.max())
    alive, lived = (set(np.flatnonzero(shared_laws.survivors(s))) for s in (expected[-1], x[60]))
    right = len(alive & lived)
    said = f"it identifies {right} of {len(lived)} winners and wrongly adds {len(alive - lived)}"
    assert said in page.inner_text("#shared_law-note")
    before = page.inner_html("#shared_law-picture")
    page.click("#forward")
    settled(page)
    assert page.inner_html("#shared_law-picture") != before
    page.locator("#step-slider").press("End")
    assert page.inner_text("#shared_law-note") == "the law ends at step 60"


def test_where_no_law_was_fitted_there_is_no_panel(page_at, study):
    page = page_at(next(study.blocks).point.run_id(0), 20)
    assert page.is_visible("#shared_law-picture")
    page.select_option("#experiment", "other")
    settled(page)
    assert page.is_hidden("#shared_law")
    assert page.is_visible("#signals-picture")
