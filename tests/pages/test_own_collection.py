"""The explorer of a user's collection in a real Chromium: texts of its systems and its folder."""

import driving
import pytest
from conftest import experiment

pytestmark = pytest.mark.browser

SYSTEM = """
from dataclasses import replace
from circlet.collections.musat.systems import constant_attention
SYSTEM = replace(constant_attention.SYSTEM, outcomes=(), explorer_weights=False, {declares})
"""
EQUATIONS = "from circlet.collections.musat.equations.constant_attention import *\n"
FILES = {
    "collection.yaml": "short: Mine\noutcomes: All of them are fine.\n",
    "explorer/spread.js": "export const spread = (values) => Math.max(...values.map(Math.abs));",
    "explorer/main.js": """
        import { spread } from "circlet/mine/spread";
        export const panels = {
          spread: {
            title: "Spread",
            make: (holder, { data }) => ({
              source: "embedding",
              picture: {},
              missing: () => "",
              reading: (scene, step) => ({ step, words: `spread ${data.seven}` }),
              draw(scene, step) {
                const values = scene.arrays.embedding.at(step);
                holder.textContent = spread(values);
              },
            }),
          },
        };
        export const live = (data) => {
          document.getElementById("mine-now").textContent = data.seven;
        };""",
    "explorer/page.html": '<section id="live-mine" tabindex="-1"><h2>Mine, live</h2>'
    '<p id="mine-now"></p><p>{{ data.text }}</p></section>',
    "explorer/style.css": "#mine-now { color: rgb(1, 2, 3); }",
    "explorer/data.py": "TABLES = ()\ndef data(tables, trained):\n"
    '    return {"seven": 7, "text": "<b>", "none": float("nan"), "runs": len(trained)}\n',
}


def explorer_of(folder, declares, files=()):
    """Return the explorer of a study with a collection in a folder."""
    parts = {"systems/net.py": SYSTEM.format(declares=declares), "equations/net.py": EQUATIONS}
    for name, text in (parts | dict(files)).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    settings = {"collections": [str(folder)], "experiments": {"e": experiment("mine.net")}}
    return driving.explorer_of(settings, folder.parent / "results")


def panels(page):
    return page.eval_on_selector_all(
        "#panels figure:not([hidden])", "all => all.map(one => one.id)"
    )


def test_a_collection_has_its_own_panels_words_and_live_sections(explore, tmp_path):
    says = 'run_columns={"test_loss": "final loss"}, panels=("signals", "sums", "mine.spread")'
    page = explore(explorer_of(tmp_path / "mine", says, FILES))
    assert panels(page) == ["signals", "sums", "mine-spread"]
    assert page.inner_text("#system") == "mine.net (Mine)"
    assert page.inner_text("#run-head").split("\n")[-1].endswith("final loss")
    assert "All of them are fine." in page.inner_text(".notes")
    assert "spread 7" in page.inner_text("#reading-now")
    assert page.inner_text("#mine-spread b") == "Spread"
    assert float(page.inner_text("#mine-spread-picture")) > 0
    assert page.inner_text("#links") == " Mine, live."
    assert page.inner_text("#live-mine").split() == ["Mine,", "live", "7", "<b>"]
    colour = page.eval_on_selector("#mine-now", "one => getComputedStyle(one).color")
    assert colour == "rgb(1, 2, 3)"


def test_a_panel_that_there_is_not_is_named(explore, tmp_path):
    says = 'run_columns={}, panels=("embedding", "mine.lost")'
    page = explore(explorer_of(tmp_path / "mine", says))
    assert page.is_visible("#embedding-picture")
    assert page.inner_text("#mine-lost b") == "mine.lost"
    assert page.inner_text("#mine-lost-missing") == "There is no panel of this name."
