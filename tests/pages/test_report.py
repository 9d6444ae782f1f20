"""The report in a real Chromium: for all readers, on a phone, on paper."""

import io
import json
import re
import shutil
from pathlib import Path

import pytest
from browsing import each, screenshot, serious
from conftest import ROOT
from driving import table
from PIL import Image

from circlet import frozen
from circlet.analysis.claims import VERDICTS
from circlet.storage import parquet
from circlet.study import planning

pytestmark = pytest.mark.browser

OPEN = "document.querySelectorAll('details').forEach(one => { one.open = true })"
CUT = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"


@pytest.fixture
def report(finished):
    return finished.folder / "results/smoke/report.html"


@pytest.mark.parametrize("size, scheme", [("desktop", "light"), ("phone", "dark")])
def test_it_is_accessible_and_fits(visit, report, size, scheme):
    page = visit(report, size=size, scheme=scheme)
    screenshot(page, f"report_{size}_{scheme}")
    page.evaluate(OPEN)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if size == "phone":
        assert page.eval_on_selector_all(".wide, table, figure", CUT) == 0
        assert page.locator("table").count() > 20
    assert not (problems := serious(page)), json.dumps(problems, indent=1)
    assert page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
    assert page.locator("img").count() >= 30
    figure = page.locator("#weight_magnitudes img")
    figure.scroll_into_view_if_needed()
    image = Image.open(io.BytesIO(figure.screenshot())).convert("RGB")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    expected = [int(n) for n in re.findall(r"\d+", paper)]
    assert (max(expected) < 64) == (scheme == "dark")
    most = max(image.getcolors(image.width * image.height))[1]  # white becomes the page's colour
    assert max(abs(a - b) for a, b in zip(most, expected, strict=True)) <= 3


def links(page):
    """Return the targets of links, and the number of links without an address."""
    addresses = page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href'))")
    targets = [link for link in addresses if link is not None]
    for link in targets:
        if link.startswith("#"):
            assert page.locator(f"[id='{link[1:]}']").count() == 1, link
    others = [link for link in targets if not link.startswith(("#", "https://arxiv.org/abs/"))]
    return others, addresses.count(None)


def test_its_links_lead_somewhere_and_what_is_missing_is_said(visit, report, finished):
    page = visit(report)
    page.wait_for_selector("a[href^=explorer]")
    others, without = links(page)
    assert without == 0
    assert all((report.parent / link.partition("#")[0]).exists() for link in others)
    played = {link.partition("#run=")[2].partition("&")[0] for link in others if "#run=" in link}
    runs = table("explorer_runs", finished)
    assert played <= set(runs.loc[runs["shown"].isin(["training", "end"]), "run_id"])
    assert len(played) > 20
    text = page.inner_text("main")
    assert page.locator("#initialisations").count() == 0  # it has nothing to draw
    why = "no initialisation has 100 runs at every weight decay"
    assert f"Which initialisation fits table 1 ({why})" in text
    assert re.search(r"None of the papers’ \d\d tests was run", text)
    assert page.locator(".tally, .papers").count() == 0  # in place of counts of zero


def test_sent_alone_it_has_no_dead_link(visit, report, tmp_path):
    alone = shutil.copy(report, tmp_path)
    page = visit(Path(alone), expected="ERR_FILE_NOT_FOUND")
    page.wait_for_function("probe.complete")  # the page has looked for files beside it
    others, without = links(page)
    assert others == []
    assert without > 50  # links without a target are text
    assert page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")


def test_its_contents_stay_in_sight(visit, report):
    page = visit(report, "#two_phases")
    assert page.evaluate("document.querySelector('nav').getBoundingClientRect().top") >= 0
    phone = visit(report, "#two_phases", size="phone")
    assert phone.locator(".to-contents").bounding_box()["y"] >= 0


def test_of_a_judged_study_agreement_comes_first_and_all_else_is_folded(visit, tmp_path):
    """A quarter is visible; a link into a closed part opens it."""
    study = planning.plan_file(ROOT / "docs/studies/full_length/config.yaml")
    page = visit(frozen.report(study, tmp_path / "page"))
    card = parquet.read_table(study, "scorecard")
    counts = card[card["tally"] == "test"]["verdict"].value_counts()
    expected = [f"{counts[verdict]}" for verdict in VERDICTS if verdict in counts]
    assert each(page, ".tally b") == expected
    ids = each(page, "main [id]", "id")
    first = ids.index("ding-agrees")
    assert ids[first - 1] == "ding"
    assert page.locator(f"figure[id='{ids[first + 1]}']").count() == 1
    assert ids.index("ding-differs") == first + 2
    visible = len(page.inner_text("main").split())
    claim = page.locator(".claims tr[id]").first
    assert not claim.is_visible()
    page.evaluate("id => { location.hash = id }", claim.get_attribute("id"))
    claim.wait_for(state="visible")
    page.locator("a[href='#verdicts']").first.click()
    page.locator("#verdicts + details li").first.wait_for(state="visible")
    page.evaluate(OPEN)
    assert visible < len(page.inner_text("main").split()) / 4


def test_it_can_be_printed(visit, report, tmp_path):
    """On paper no table is cut at the right, and no figure is larger than a page."""
    page = visit(report)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1047})  # A4 without its margins
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = page.eval_on_selector_all("img", "all => all.map(one => one.clientHeight)")
    assert max(heights) < 1000
    assert page.eval_on_selector_all(".wide", CUT) == 0
    content = page.pdf(path=tmp_path / "report.pdf", format="A4")
    n_figures = page.locator("figure").count()
    n_pages = len(re.findall(rb"/Type */Page\b", content))
    assert n_figures / 4 < n_pages < 0.7 * n_figures
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.locator(".claims td:first-child").first.inner_text() in VERDICTS
    assert page.locator("details.more[open]").count() == 0  # details point by point stay closed
