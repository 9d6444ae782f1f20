"""The explorer of a user's collection in a real Chromium: texts of its systems and its folder."""

import pytest
from browsing import each
from conftest import experiment
from driving import explorer_of

pytestmark = pytest.mark.browser

SYSTEM = """
from dataclasses import replace
from circlet.collections.musat.systems import constant_attention
SYSTEM = replace(
    constant_attention.SYSTEM,
    outcomes=(),
    explorer_weights=False,
    run_columns={"test_loss": "final loss"},
    panels=("signals", "sums", "mine.spread", "mine.lost"),
)
"""
FILES = {
    "systems/net.py": SYSTEM,
    "equations/net.py": "from circlet.collections.musat.equations.constant_attention import *\n",
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


@pytest.fixture
def page(explore, tmp_path):
    """The explorer of a study with a collection of these files."""
    for name, text in FILES.items():
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text(text)
    experiments = {"e": experiment("mine.net")}
    settings = {"collections": [str(tmp_path / "mine")], "experiments": experiments}
    return explore(explorer_of(settings, tmp_path / "results"))


def test_a_collection_has_its_own_panels_words_and_live_sections(page):
    shown = each(page, "#panels figure:not([hidden])", "id")
    assert shown == ["signals", "sums", "mine-spread", "mine-lost"]
    assert page.inner_text("#system") == "mine.net (Mine)"
    assert page.inner_text("#run-head").split("\n")[-1].endswith("final loss")
    assert "All of them are fine." in page.inner_text(".notes")
    assert "spread 7" in page.inner_text("#reading-now")
    assert page.inner_text("#mine-spread b") == "Spread"
    assert float(page.inner_text("#mine-spread-picture")) > 0
    assert page.inner_text("#mine-lost b") == "mine.lost"
    assert page.inner_text("#mine-lost-missing") == "There is no panel of this name."
    assert page.inner_text("#links") == " Mine, live."
    assert page.inner_text("#live-mine").split() == ["Mine,", "live", "7", "<b>"]
    colour = page.eval_on_selector("#mine-now", "one => getComputedStyle(one).color")
    assert colour == "rgb(1, 2, 3)"
