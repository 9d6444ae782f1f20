"""The explorer of odd studies in a real Chromium: diverged, sparse, partial, large, forged ones."""

import re

import numpy as np
import pytest
from browsing import each, file_of, numbers
from conftest import experiment, planned
from driving import column, explorer_of, settled, step_now

from circlet import cli
from circlet.storage import parquet
from circlet.sweeps import explorer_budget
from circlet.training import job

pytestmark = pytest.mark.browser


WILD = {"learning_rate": 1e30}
DIVERGING = {
    "network": experiment(parameters=WILD, steps=20, log={"parameters": {"every": 5}}),
    "mlp": experiment("embedding_mlp", parameters={"p": 7, "d": 6, "hidden": 8} | WILD, steps=20),
    "transformer": experiment(
        "sparse_transformer",
        parameters={"length": 4, "k": 2, "n_train": 64, "n_test": 32, "batch_size": 64} | WILD,
        steps=10,
        log={"parameters": {"every": 2}},
    ),
}


@pytest.mark.parametrize("name", DIVERGING)
def test_diverged_runs_are_listed_and_drawn_as_far_as_they_go(explore, tmp_path, name):
    path = explorer_of({"experiments": {name: DIVERGING[name]}}, tmp_path)
    page = explore(path)
    assert each(page, "#filter option") == ["all (2)", "diverged (2)"]
    for step in range(int(page.get_attribute("#step-slider", "max")) + 1):
        page.locator("#step-slider").fill(str(step))
    settled(page)
    assert "seed 0: diverged at the end" in page.inner_text("#reading-now")
    assert page.inner_text("#embedding-note").endswith("some values are not finite")
    page.locator("#step-slider").fill("0")
    study = planned(tmp_path, **{name: DIVERGING[name]})
    p = next(study.blocks).point.parameters["p"]
    assert page.locator("#embedding-picture svg > g + g text").count() >= p  # without texts of axes
    assert "finite" not in page.inner_text("#embedding-note")
    if name == "transformer":
        assert page.inner_text("#attention-note") != "background: 0; full colour: 0"
    if name == "network":  # later steps do not coarsen the first one
        log = parquet.read_log(next(study.blocks), "embeddings", [0]).query("seed == 0")
        expected = np.stack(log.sort_values("token")["vector"])
        shown = numbers(page, "embedding").to_numpy()[:, 1:]
        np.testing.assert_allclose(shown, expected, atol=1e-4)


TINY = {"p": 2, "k": 2, "d": 2, "length": 4, "vocabulary": 2, "bias": False}
TINY |= {"n_train": 64, "n_test": 32, "batch_size": 64}
SPARSE = {
    "no curves": experiment(log={"curves": None}),
    "no parameters": experiment(log={"parameters": None, "embeddings": {"every": 1}}),
    "one dimension": experiment(parameters={"d": 1}),
    "three": experiment(
        "sparse_transformer", parameters=TINY | {"p": 3, "k": 4, "d": 3, "vocabulary": 7}
    ),
    "no curves of particles": experiment("particles", log={"embeddings": {"every": 1}}),
    "one run": experiment(seeds={"count": 1}, block=1, steps=1),
}


@pytest.mark.parametrize("name", SPARSE)
def test_whatever_is_logged_can_be_seen(explore, tmp_path, name):
    page = settled(explore(explorer_of({"experiments": {"e": SPARSE[name]}}, tmp_path)))
    assert page.is_hidden("#problem")
    assert page.is_visible("#embedding-picture")
    assert page.is_visible("#losses-picture") == ("curves" not in name)
    if "particles" in name:
        assert each(page, "#tour-panels .panel:not([hidden])", "id") == ["embedding-tour"]
    if name == "one run":
        assert page.locator("#run-list input").count() == 1
        assert "You can replay the training of the run, in" in page.inner_text(".notes")
    page.click("#back")
    assert step_now(page) < 5
    assert len(numbers(page, "embedding"))


def test_a_network_of_another_step_is_not_drawn(explore, tmp_path):
    """Embeddings are logged at every step, the network at the ends: no regions in between."""
    often = experiment(steps=6, log={"embeddings": {"every": 1}, "curves": {"every": 3}})
    page = explore(explorer_of({"experiments": {"e": often}}, tmp_path))
    empty = "() => document.querySelector('#sums-picture canvas').toDataURL().length < 3000"
    answers = {}
    for step, is_logged in ((6, True), (4, False), (0, True)):
        page.locator("#step-slider").fill(str(step))
        settled(page)
        assert page.evaluate(empty) != is_logged
        assert ("not logged at this step" in page.inner_text("#sums-note")) != is_logged
        assert ("as logged at step 0" in page.inner_text("#answers-note")) != is_logged
        answers[step] = numbers(page, "answers")
    assert answers[4].equals(answers[0]) and not answers[4].equals(answers[6])
    page.locator("#step-slider").fill("4")
    assert "train loss" in page.inner_text("#reading-now")
    assert "(step 3)" in page.inner_text("#reading-now")  # the last step before with logged losses
    _, name = file_of(page, "embedding", "csv")
    assert name.endswith("_step_4_dimensions_1_2_embedding.csv")


EVIL = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'>\"'&"


def test_nothing_from_data_is_html(explore, tmp_path):
    """Even tables that were forged; names in a config cannot contain such letters."""
    settings = {"experiments": {"e": experiment()}}
    path = explorer_of(settings, tmp_path, explorer_runs=lambda frame: frame.assign(outcome=EVIL))
    page = settled(explore(path))
    assert column(page, 2) == [EVIL, EVIL]
    assert f"{EVIL} at the end" in page.inner_text("#reading-now")
    assert each(page, "#filter option")[1] == f"{EVIL} (2)"
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0


def test_runs_that_are_not_in_the_page_say_so(explore, tmp_path, monkeypatch):
    """If there is little room, most runs have only their end, or only their outcome."""
    monkeypatch.setattr(explorer_budget, "LISTED", 5)
    monkeypatch.setattr(explorer_budget, "ENDS", 2 * 2 * (691 + 8 + 40))
    monkeypatch.setattr(explorer_budget, "TRAININGS", 4000)
    many = experiment(seeds={"count": 6}, block=6)
    page = explore(explorer_of({"experiments": {"e": many}}, tmp_path))
    assert "This page lists 5 of 6 runs and shows the final state of 3" in page.inner_text(".notes")
    assert "not on this page: 1" in page.inner_text("#run-note")
    counts = re.findall(r"\((\d+) of 6\)", page.inner_text("#point-note"))  # with unlisted ones
    assert sum(map(int, counts)) == 6
    assert sorted(each(page, "#run-list tr", "className")) == [
        "end",
        "end",
        "outcome",
        "outcome",
        "training",
    ]
    page.check("tr.end input")
    page.wait_for_selector("#losses-picture", state="hidden")
    assert page.is_visible("#embedding-picture")
    assert not page.is_visible("#losses-picture")
    assert "only the end of this run" in page.inner_text("#losses-missing")
    assert page.is_disabled("#play")
    assert page.is_disabled("#losses [data-save=csv]")
    page.check("tr.outcome input")
    said = page.inner_text("#nothing")
    assert "only the numbers of this run" in said and "can be played: 1 of this setting" in said
    assert not page.is_visible("#panels")
    page.check("tr.training input")
    assert not page.is_visible("#nothing") and page.is_visible("#panels")
    assert page.is_enabled("#play")
    settled(page)
    chart, panel = page.locator("#signals-picture .main-svg").first, page.locator("#signals")
    assert chart.bounding_box()["width"] <= panel.bounding_box()["width"]


def test_a_run_that_cannot_be_shown_leaves_the_others(explore, tmp_path):
    settings = {"experiments": {"e": experiment("sparse_transformer", parameters=TINY)}}

    def without_query(states):
        return states[~states["run_id"].str.endswith("s00000") | (states["name"] != "query")]

    path = explorer_of(settings, tmp_path, explorer_states=without_query)
    page = explore(path, expected="cannot be shown")
    assert "s00000 cannot be shown: " in page.inner_text("#problem")
    assert not page.is_visible("#embedding-picture")
    page.check("#run-list tr:nth-child(2) input")
    settled(page)
    assert page.is_hidden("#problem")
    assert page.is_visible("#attention-picture")
    page.check("#run-list tr:nth-child(1) input")
    assert page.is_visible("#problem")


def test_a_partial_study_has_its_explorer(explore, tmp_path):
    whole = planned(tmp_path, e=experiment(seeds={"count": 4}))
    job.run_block(next(whole.blocks), "cpu")
    cli.main(["partial", "--study", whole.json])
    page = explore(tmp_path / "partial/explorer.html")
    assert "Partial" in page.inner_text(".notice:not([hidden])")
    assert "not finished: 2 of 4" in page.inner_text("#run-note")


def test_missing_tables_are_named(page):
    """A partial study leaves out tables that cannot be made."""
    said = page.inner_text(".notice:not([hidden])")
    assert "explorer_runs and explorer_states and outcome_summary could not be made" in said
    assert page.is_visible("#no-runs")
    assert page.is_visible("#particles-picture")
