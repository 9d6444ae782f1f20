"""Results of a reader that are dropped into the explorer, read in the page, without a server."""

import json
import shutil

import numpy as np
import pytest
from browsing import serious
from conftest import ROOT, config, run_blocks
from driving import (
    NETWORK,
    PARTICLES,
    TRANSFORMER,
    choices,
    embedding_at,
    finished_block_of,
    logged,
    numbers,
    settled,
    step_now,
)

from circlet.pages.explorer import packing
from circlet.study import planning

pytestmark = pytest.mark.browser


def folder_of(finished, run_id):
    return finished_block_of(finished, run_id)[0].log("runs").parent


def note(page):
    """Return what the page says about the files after reading them."""
    page.wait_for_function(
        "!['', 'Reading …'].includes(document.getElementById('own-note').textContent)"
    )
    return page.inner_text("#own-note")


def pick(page, *folders):
    """Pick all files in some folders."""
    page.set_input_files("#own-files", [file for folder in folders for file in folder.iterdir()])
    said = note(page)
    settled(page)
    return said


def drop(page, path):
    """Drop a file or a folder, as a file manager does."""
    devtools = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        event = {"type": kind, "x": 200, "y": 20, "data": data}
        devtools.send("Input.dispatchDragEvent", event)


def go_to(page, run_id, step):
    page.evaluate("hash => { location.hash = hash }", f"#run=yours/{run_id}&step={step}")
    page.wait_for_function(
        "run => document.querySelector('#run-list input:checked').value === run",
        arg=f"yours/{run_id}",
    )
    settled(page)
    assert step_now(page) == step


@pytest.mark.parametrize("run_id", [NETWORK, PARTICLES])
def test_a_picked_run_is_drawn_as_it_is_logged(page_of, finished, run_id):
    page = page_of()
    block, _ = finished_block_of(finished, run_id)
    assert pick(page, folder_of(finished, run_id)) == f"Opened {block.count} runs at 1 setting."
    assert page.input_value("#system") == f"your {block.point.system.name}"
    middle = sorted(logged(finished, run_id, "embeddings")["step"].unique())[3]
    go_to(page, run_id, middle)
    _, rows = numbers(page, "embedding")
    found = np.array(rows, float)[:, 1:]
    np.testing.assert_allclose(found, embedding_at(finished, run_id, middle), rtol=1e-5)
    _, rows = numbers(page, "signals")
    signals = logged(finished, run_id, "signals").pivot(
        index="step", columns="frequency", values="signal"
    )
    np.testing.assert_allclose(np.array(rows, float)[:, 1:], signals, rtol=1e-5)
    assert page.locator("#sums-picture text").count() > 100
    steps = logged(finished, run_id, "embeddings")["step"].nunique()
    assert page.locator("#step-slider").get_attribute("max") == str(steps - 1)
    if run_id == NETWORK:
        _, rows = numbers(page, "losses")
        losses = logged(finished, run_id, "curves").sort_values("step")[["step", "train_loss"]]
        np.testing.assert_allclose(np.array(rows, float)[:, :2], losses, rtol=1e-5)


def test_a_transformer_has_its_own_panels(page_of, finished):
    page = page_of()
    pick(page, folder_of(finished, TRANSFORMER))
    for panel in ("sequences", "attention", "losses"):
        assert page.locator(f"#{panel}-picture svg").first.is_visible(), panel


def test_a_dropped_folder_is_searched(page_of, finished):
    page = page_of()
    drop(page, finished.folder / "results/smoke/logs/decay_scan")
    points = list((finished.folder / "results/smoke/logs/decay_scan").iterdir())
    assert note(page).endswith(f"at {len(points)} settings.")
    settled(page)
    assert page.locator("#points input").count() == len(points)
    assert choices(page, "experiment")[0].startswith("your decay scan: weight decay")
    (label,) = page.eval_on_selector_all(
        "#points label:has(input:checked)", "all => all.map(one => one.textContent)"
    )
    accuracies = page.eval_on_selector_all(
        "#run-list tr", "all => all.map(row => Number(row.cells[1].textContent))"
    )
    assert float(label) == pytest.approx(np.mean(accuracies), abs=0.01)


def test_own_results_fit_on_a_phone(page_of, finished):
    page = page_of(size="phone")
    drop(page, finished.folder / "results/smoke/logs")
    assert note(page).startswith("Opened")
    settled(page)
    page.select_option("#system", "your constant_attention")
    settled(page)
    page.add_style_tag(content=".points label { min-width: 12rem }")  # as for many settings
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert not serious(page)


def test_dropped_again_it_is_there_once(page_of, finished):
    page = page_of()
    systems = len(choices(page, "system"))
    for _ in range(2):
        pick(page, folder_of(finished, NETWORK), folder_of(finished, PARTICLES))
    assert len(choices(page, "system")) == systems + 2


def test_a_network_that_the_page_does_not_know_is_drawn(page_of, tmp_path):
    own = config(tmp_path, system="networks.letters", steps=60, log={"embeddings": {"every": 20}})
    study = planning.plan(own | {"collections": [str(ROOT / "tests/networks")]})
    (block,) = run_blocks(study).blocks
    page = page_of()
    assert pick(page, block.log("runs").parent) == "Opened 2 runs at 1 setting."
    shown = "#panels .panel:not([hidden]) .picture, #panels .panel:not([hidden]) .chart"
    assert page.eval_on_selector_all(shown, "all => all.map(one => one.id)") == [
        "embedding-picture",
        "losses-picture",
    ]
    columns, rows = numbers(page, "losses")
    assert "train_loss" in columns and len(rows) > 5


@pytest.mark.parametrize("what", ["a table", "half a log"])
def test_what_is_no_log_is_refused_in_a_sentence(page_of, finished, tmp_path, what):
    page = settled(page_of())
    before = page.url
    log = folder_of(finished, NETWORK) / "curves.parquet"
    file = tmp_path / "mine.parquet"
    if what == "a table":
        shutil.copy(finished.folder / "results/smoke/tables/runs.parquet", file)
    else:
        file.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    page.set_input_files("#own-files", file)
    assert note(page).startswith("“mine.parquet” is not a log of circlet: drop the folder “logs”")
    settled(page)
    assert page.url == before


def test_a_page_without_runs_opens_them_too(explore, finished, tmp_path):
    """The page of a study whose runs are still waiting."""
    content = (finished.folder / "results/smoke/explorer.html").read_text()
    page = explore(finished.folder / "results/smoke/explorer.html")
    catalogue = page.evaluate(
        """async () => {
          const { arrived, unpackText } = await import("circlet/catalogue");
          return JSON.parse(await unpackText(await arrived("catalogue")));
        }"""
    )
    empty = packing.text(json.dumps(catalogue | {"points": [], "tour": []}))
    start = content.index('id="catalogue">') + len('id="catalogue">')
    end = content.index("<", start)
    (tmp_path / "explorer.html").write_text(content[:start] + empty + content[end:])
    page = explore(tmp_path / "explorer.html")
    assert page.locator("#no-runs").is_visible() and not page.locator("#explore").is_visible()
    pick(page, folder_of(finished, NETWORK))
    assert page.locator("#explore").is_visible() and not page.locator("#no-runs").is_visible()
