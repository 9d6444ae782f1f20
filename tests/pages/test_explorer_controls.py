"""The explorer's controls, files and links, and whether all readers can use it."""

import json
from xml.etree import ElementTree

import pytest
from browsing import each, file_of, screenshot, serious
from driving import (
    CIRCLES,
    NETWORK,
    PANELS,
    PARTICLES,
    TRANSFORMER,
    at,
    block_of,
    picture,
    settled,
    step_now,
)

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    "run_id, live", [(CIRCLES, []), (TRANSFORMER, ["particles", "network-sums"])]
)
def test_every_panel_can_be_saved_as_on_white_paper(page_of, run_id, live):
    page = settled(page_of(at(run_id), scheme="dark"))
    for name in "ab" if run_id == CIRCLES else "":
        page.fill(f"#ordered_answers [name={name}]", "4")
    for panel in [*PANELS[run_id], *live]:
        before = picture(page, panel)
        svg = file_of(page, panel, "svg")[0].decode()
        ElementTree.fromstring(svg)
        assert len(svg) > 1500
        for on_paper in ("#ffffff", "#1a1a1a"):
            assert on_paper in svg or rgb(on_paper) in svg
        assert "#f0f0f0" not in svg and rgb("#f0f0f0") not in svg
        if panel == "ordered_answers":
            assert "M46 " in svg.split("<path")[-1]  # from the left edge to the cell
        settled(page)
        assert picture(page, panel) == before
    # Only a plane and a chart, as Chromium asks for permission after ten downloads of a page.
    for panel in (*live[:1], PANELS[run_id][1], PANELS[run_id][-1]):
        png, name = file_of(page, panel, "png")
        assert name.endswith(".png")
        assert png.startswith(b"\x89PNG")
        width, height = (int.from_bytes(png[i : i + 4]) for i in (16, 20))
        assert width > 600 and height > 600
    _, name = file_of(page, panel, "csv")
    assert name.startswith(run_id.replace("/", "_")) and name.endswith(f"_{panel}.csv")


def rgb(colour):
    """Return a colour as the plotting library writes it."""
    return f"rgb({', '.join(str(part) for part in bytes.fromhex(colour[1:]))})"


def test_another_point_keeps_the_seed_and_the_step_and_back_goes_to_the_one_before(page_of):
    page = settled(page_of(at(NETWORK, 7)))
    start = page.url
    page.click("#points input:not(:checked)", force=True)
    page.wait_for_selector("#run-list input:checked[value*='_wd0/s00003']")
    assert step_now(page) == 7
    page.locator("#step-slider").press("ArrowLeft")  # adds no entry to the history
    settled(page)
    assert "_wd0/s00003" in page.url
    page.go_back()
    page.wait_for_selector(f"#run-list input[value='{NETWORK}']:checked")
    settled(page)
    assert (page.url, step_now(page)) == (start, 7)
    page.go_forward()
    page.wait_for_selector("#run-list input:checked[value*='_wd0/s00003']")


@pytest.mark.parametrize(
    "fragment",
    [
        "#run=nothing/like/this",
        "#run=" + CIRCLES + "&step=x&frequency=99",
        "#run=" + NETWORK + "&dimensions=9,-1&step=1e9",
    ],
)
def test_bad_links_do_no_harm(page_of, fragment):
    page = settled(page_of(fragment))
    assert page.locator("#run-list input:checked").count() == 1
    assert page.is_visible("#embedding-picture")
    assert page.is_visible("#not-here") == ("nothing" in fragment)


@pytest.mark.parametrize("size, scheme", [("desktop", "light"), ("phone", "dark")])
@pytest.mark.parametrize("run_id", [NETWORK, PARTICLES, CIRCLES, TRANSFORMER])
def test_it_is_accessible_and_fits(page_of, run_id, size, scheme):
    page = settled(page_of(at(run_id), size=size, scheme=scheme))
    system = block_of(run_id)[0].point.system.name
    screenshot(page, f"explorer_{system}_{size}_{scheme}")
    for panel in PANELS[run_id]:
        assert page.is_visible(f"#{panel}-picture"), panel
    assert not (problems := serious(page)), json.dumps(problems, indent=1)
    page.add_style_tag(content=".points label { min-width: 40rem }")  # as for many settings
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


CONTROLS = "#plane, #x, #y, #fit, #log"


def test_controls_change_the_pictures_and_are_in_the_address(page_of):
    page = settled(page_of(at(CIRCLES, 20, frequency=6)))
    assert page.input_value("#plane") == "6" and page.is_hidden("#x")
    pictures = {panel: picture(page, panel) for panel in PANELS[CIRCLES]}

    def changes(panel, act):
        before = picture(page, panel)
        act()
        settled(page)
        return picture(page, panel) != before

    assert changes("embedding", lambda: page.select_option("#plane", "0"))
    assert changes("embedding", lambda: page.select_option("#x", index=1))
    assert changes("sums", lambda: page.select_option("#y", index=0))
    assert changes("embedding", lambda: page.check("#fit"))
    assert changes("losses", lambda: page.check("#log"))
    again = settled(page_of(page.url[page.url.index("#") :]))
    for state in ("value", "checked"):
        assert each(again, CONTROLS, state) == each(page, CONTROLS, state)
    assert picture(again, "embedding") == picture(page, "embedding")
    page.select_option("#plane", "6")
    for name in ("#fit", "#log"):
        page.uncheck(name)
    settled(page)
    assert {panel: picture(page, panel) for panel in PANELS[CIRCLES]} == pictures


def test_a_box_unticked_where_it_is_usual_stays_so(page_of):
    page = page_of(at(TRANSFORMER))
    assert page.is_checked("#fit")
    page.uncheck("#fit")
    settled(page)
    again = settled(page_of(page.url[page.url.index("#") :]))
    assert not again.is_checked("#fit")
    again.check("#run-list tr:nth-child(1) input")
    assert not again.is_checked("#fit")
