"""Pages and their tables for networks of a user who wrote no code for pages."""

import itertools
import shutil

import pandas as pd
import pytest
from browsing import each, serious
from conftest import NETWORKS, experiment, make_all, run_blocks
from driving import at, explorer_of, settled

from circlet.storage import parquet
from circlet.study import planning, targets
from circlet.sweeps import explorer_budget

# Panels of each network, and headings in the list of its runs.
SHOWN = {
    "letters": (
        ["embedding", "losses"],
        ["train loss (bit)", "test loss (bit)", "test accuracy", "weight norm", "margin (logit)"],
    ),
    "quadratic": (
        ["embedding", "signals", "losses"],
        ["train loss (nat)", "test loss (nat)", "train accuracy", "test accuracy"],
    ),
    "teacher": (["losses"], ["train loss", "test loss"]),
}


def system(name, **changes):
    return experiment(f"networks.{name}", steps=60, seeds={"count": 3}, block=3, **changes)


EXPERIMENTS = {
    "letters": system("letters", log={"embeddings": {"every": 20}}),
    "single": system("letters", parameters={"letters": 1, "size": 1}),
    "quadratic": system("quadratic", sweep={"width": [1, 8]}),
    "teacher": system("teacher"),
}


def settings_of(experiments, collection=NETWORKS):
    """Return a config without results."""
    return {"collections": [str(collection)], "experiments": experiments}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a study of three networks, with its pages."""
    results = {"results": str(tmp_path_factory.mktemp("networks"))}
    study = run_blocks(planning.plan(settings_of(EXPERIMENTS) | results))
    make_all(study)
    return study


@pytest.fixture
def page_of(explore, study):
    """Open the explorer with the first run of an experiment."""

    def page_of(experiment):
        run_id = study.experiment(experiment)[-1].run_id(0)
        return settled(explore(targets.explorer(study).outputs[0], at(run_id)))

    return page_of


def test_runs_have_the_metrics_of_their_system(study):
    tables = (parquet.read_table(study, name) for name in ("explorer_runs", "runs"))
    listed, runs = (table.set_index("run_id") for table in tables)
    metrics = {name for system in study.systems for name in study.specs[system].metrics}
    assert metrics < set(listed.columns)
    for name, rows in listed.groupby("system"):
        names = list(study.specs[name].metrics)
        pd.testing.assert_frame_equal(rows[names], runs.loc[rows.index, names])
        assert rows[list(metrics - set(names))].isna().all(axis=None)
    assert set(listed["outcome"]) == {"finished"}
    assert set(listed["shown"]) == {"training"}


def test_the_report_speaks_of_this_study(study):
    text = targets.report(study).outputs[0].read_text()
    body = text.split("<body>")[1]
    assert "15 runs of networks.letters, networks.quadratic, networks.teacher." in body
    assert "A network without an embedding that learns a function of five numbers." in body
    assert "Unless an experiment says otherwise: p = 7; width = 8; learning_rate = 0.01; " in body
    assert "width = 1, 8; 60 steps of AdamW" in body
    assert "trains on batches" not in body  # only the first paragraph of a docstring
    for other in ("modular addition", "published claims", "simulations"):
        assert other not in body
    assert "test loss, bit" in body and "3 of 3" in body


@pytest.mark.browser
@pytest.mark.parametrize("name", SHOWN)
def test_panels_are_of_what_a_system_has(page_of, study, name):
    page = page_of(name)
    panels, heads = SHOWN[name]
    assert each(page, "#panels figure:not([hidden])", "id") == panels
    assert page.locator("#panels .picture:visible, #panels .chart:visible").count() == len(panels)
    chart = "document.querySelector('#losses-picture .js-plotly-plot')"
    hovers = page.evaluate(f"{chart}.data.map(trace => trace.hovertemplate)")
    metrics = study.specs[f"networks.{name}"].metrics
    for hover, (metric, says) in zip(hovers, metrics.items(), strict=True):
        assert hover.startswith(metric.replace("_", " ")) and says.meaning in hover
    assert each(page, "#run-head button")[1:] == heads
    reading = page.inner_text("#reading-now")
    assert reading.startswith("seed 0: finished · now train loss ")
    assert ("accuracy" in reading) == (name != "teacher")
    assert page.inner_text("#outcome-word") == "status"
    assert not serious(page)


MANY = """

def metrics(network, parts):
    names = [f"share_of_the_errors_above_{n}_units" for n in range(6)] + ["gain_of_the_loss_in_all"]
    losses = {f"{name}_loss": loss(network, part) for name, part in parts.items()}
    return losses | dict.fromkeys(names, losses["test_loss"].exp().neg())
"""
DECLARED = """    metrics={
        "train_loss": Metric("the squared error", "unit^2"),
        "test_loss": Metric("the squared error", "unit^2"),
        **{f"share_of_the_errors_above_{n}_units": Metric("a share", "0..1") for n in range(6)},
        "gain_of_the_loss_in_all": Metric("a number"),
    },
)
"""


LAYOUT = """() => {
  const chart = document.querySelector("#losses-picture .js-plotly-plot");
  const box = (one) => one.getBoundingClientRect();
  const all = (selector) => [...chart.querySelectorAll(selector)].map(box);
  return {
    legend: all(".legend").map(({ bottom }) => bottom),
    top: box(chart).top + chart._fullLayout.yaxis._offset,
    height: chart._fullLayout.yaxis._length,
    titles: all(".infolayer > [class^=g-y] text").map(({ top, bottom }) => [top, bottom]),
    right: Math.max(...all(".infolayer > [class^=g-y] text").map(({ right }) => right)),
    ticks: Math.min(...all("[class^=y][class$=tick] text").map(({ left }) => left)),
  };
}"""


@pytest.mark.browser
def test_curves_and_titles_of_many_metrics_leave_room_for_each_other(explore, tmp_path):
    folder = shutil.copytree(NETWORKS, tmp_path / "many")
    with (folder / "equations/teacher.py").open("a") as equations:
        equations.write(MANY)
    file = folder / "systems/teacher.py"
    text = file.read_text().replace("import SystemSpec", "import Metric, SystemSpec")
    file.write_text(text.removesuffix(")\n") + DECLARED)
    settings = settings_of({"e": system("teacher") | {"system": "many.teacher"}}, folder)
    page = explore(explorer_of(settings, tmp_path / "results"))
    for width in (500, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()  # the layout is made when the page opens
        layout = settled(page).evaluate(LAYOUT)
        assert layout["legend"] and max(layout["legend"]) <= layout["top"] + 1
        assert layout["height"] > 60
        titles = sorted(layout["titles"])
        assert len(titles) == 3
        assert all(bottom <= top for (_, bottom), (top, _) in itertools.pairwise(titles))
        assert layout["right"] <= layout["ticks"] + 1


@pytest.mark.browser
def test_tokens_that_are_no_numbers_are_seen_along_their_principal_components(page_of):
    page = page_of("letters")
    assert each(page, "#plane option") == ["principal components", "dimensions"]
    words = page.text_content("#embedding-picture svg")
    assert "component 1: " in words and "of the final variance" in words
    page.select_option("#y", label="3")
    page.wait_for_function("location.hash.includes('components=1,3')")
    page.reload()
    settled(page)
    assert [page.input_value(f"#{name}") for name in ("plane", "x", "y")] == ["-1", "0", "2"]
    page.select_option("#plane", label="dimensions")
    page.wait_for_function("location.hash.includes('dimensions=1,2')")


@pytest.mark.browser
@pytest.mark.parametrize("name", ["single", "quadratic"])
def test_one_token_or_one_dimension_can_be_seen(page_of, name):
    page = page_of(name)
    if name == "quadratic":  # the first point has one dimension
        page.check("#points input >> nth=0", force=True)
        settled(page)
        assert len(each(page, "#plane option")) == 1 + 3  # frequencies
    assert page.is_hidden("#problem") and page.is_visible("#embedding-picture")
    assert page.locator("#embedding-picture text", has_text="0").count()


@pytest.mark.browser
def test_runs_of_which_the_page_has_numbers_alone_say_so(explore, tmp_path, monkeypatch):
    monkeypatch.setattr(explorer_budget, "TRAININGS", 0)
    monkeypatch.setattr(explorer_budget, "ENDS", 0)
    page = explore(explorer_of(settings_of({name: system(name) for name in SHOWN}), tmp_path))
    for name in SHOWN:
        page.select_option("#system", f"networks.{name}")
        settled(page)
        assert page.is_hidden("#problem")
        assert page.inner_text("#losses-missing") == "This page has only the outcome of this run."
        assert page.inner_text("#reading-now") == "seed 0: finished"
