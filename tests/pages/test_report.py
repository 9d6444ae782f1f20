"""The report in a real Chromium: for all readers, on a phone, on paper."""

import json

import pandas as pd
import pytest
from conftest import serious

from circlet.analysis.claims import VERDICTS

pytestmark = pytest.mark.browser


@pytest.fixture
def report(finished):
    return finished.folder / "results/smoke/report.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_it_is_accessible_and_fits(visit, report, screenshot, size, scheme):
    page = visit(report, size=size, scheme=scheme)
    screenshot(page, f"report_{size}_{scheme}")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not (found := serious(page)), json.dumps(found, indent=1)
    assert page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
    assert page.locator("img").count() >= 30


def test_its_links_lead_somewhere(visit, report):
    page = visit(report)
    for link in page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href'))"):
        if link.startswith("#"):
            assert page.locator(link).count() == 1, link
        else:
            assert (report.parent / link).exists(), link


def test_its_counts_are_those_of_the_scorecard(visit, report, finished):
    page = visit(report)
    card = pd.read_parquet(finished.folder / "results/smoke/tables/scorecard.parquet")
    counts = card[card["tally"] == "test"]["verdict"].value_counts()
    words = page.inner_text(".tally").split()
    for verdict in VERDICTS:
        at = words.index(verdict.split("_")[0])
        assert int(words[at - 1]) == counts.get(verdict, 0)


def test_it_can_be_printed(visit, report, tmp_path):
    """On paper no table is cut at the right, and no figure is larger than a page."""
    page = visit(report)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1047})  # A4 without its margins
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = page.eval_on_selector_all("img", "all => all.map(one => one.clientHeight)")
    assert max(heights) < 1000
    wide = page.eval_on_selector_all(
        ".wide", "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    )
    assert wide == 0
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 100_000
