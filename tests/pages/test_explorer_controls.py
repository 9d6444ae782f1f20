"""The explorer's controls, files and links, and whether all readers can use it."""

import json

import pytest
from browsing import screenshot, serious
from driving import (
    CIRCLES,
    NETWORK,
    PANELS,
    PARTICLES,
    TRANSFORMER,
    at,
    block_of,
    download,
    picture,
    settled,
    step_now,
)

pytestmark = pytest.mark.browser


def test_controls_change_the_pictures(page_of):
    page = settled(page_of(at(NETWORK, 50)))

    def changes(panel, act, back):
        before = picture(page, panel)
        act()
        settled(page)
        changed = picture(page, panel) != before
        back()
        settled(page)
        assert picture(page, panel) == before
        return changed

    def select(name, value):
        return lambda: page.select_option(f"#{name}", value)

    def dimension(name, index):  # labels of dimensions count from 1
        return lambda: page.select_option(f"#{name}", index=index)

    assert changes("embedding", dimension("x", 1), dimension("x", 0))
    assert changes("sums", dimension("y", 0), dimension("y", 1))
    assert changes("embedding", select("plane", "3"), select("plane", "0"))
    assert changes("sums", lambda: page.check("#fit"), lambda: page.uncheck("#fit"))
    assert changes("losses", lambda: page.check("#log"), lambda: page.uncheck("#log"))


@pytest.mark.parametrize("run_id", [CIRCLES, TRANSFORMER])
def test_every_panel_can_be_saved(page_of, run_id):
    page = settled(page_of(at(run_id), scheme="dark"))
    for panel in PANELS[run_id]:
        svg, name = download(page, panel, "svg")
        assert name.startswith(run_id.replace("/", "_")) and name.endswith(f"_{panel}.svg")
        assert svg.startswith(b"<svg") and svg.rstrip().endswith(b"</svg>")
        assert len(svg) > 1500
        assert b"#1a1a1a" in svg or b"rgb(26, 26, 26)" in svg  # colours for white paper
        assert b"#f0f0f0" not in svg and b"rgb(240, 240, 240)" not in svg
    # Only a plane and a chart, as Chromium asks for permission after ten downloads of a page.
    for panel in (PANELS[run_id][1], PANELS[run_id][-1]):
        png, name = download(page, panel, "png")
        assert name.endswith(".png")
        assert png.startswith(b"\x89PNG")
        width, height = (int.from_bytes(png[i : i + 4]) for i in (16, 20))
        assert width > 600 and height > 600
    _, name = download(page, panel, "csv")
    assert name.endswith(".csv")


def test_saving_a_curve_keeps_what_is_enlarged(page_of):
    page = settled(page_of(at(CIRCLES, 0), scheme="dark"))

    def shown():
        axis = "document.querySelector('#signals-picture .js-plotly-plot').layout.xaxis"
        return page.evaluate(f"[{axis}.range, {axis}.gridcolor]")

    area = page.locator("#signals-picture .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    whole, colour = shown()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    settled(page)
    enlarged, _ = shown()
    assert enlarged[1] - enlarged[0] < 0.6 * (whole[1] - whole[0])
    download(page, "signals", "svg")
    settled(page)
    assert shown() == [enlarged, colour]
    page.locator("#run-list input:not(:checked)").first.check()
    settled(page)
    assert shown()[0] != enlarged


def test_the_browsers_back_goes_to_the_run_before(page_of):
    page = settled(page_of(at(NETWORK, 7)))
    start = page.url
    other = page.locator("#run-list input:not(:checked)").first
    run_id = other.get_attribute("value")
    other.check()
    settled(page)
    page.locator("#step-slider").press("ArrowLeft")  # adds no entry to the history
    settled(page)
    assert run_id in page.url
    page.go_back()
    page.wait_for_selector(f"#run-list input[value='{NETWORK}']:checked")
    settled(page)
    assert (page.url, step_now(page)) == (start, 7)
    page.go_forward()
    page.wait_for_selector(f"#run-list input[value='{run_id}']:checked")


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


CONTROLS = ("plane", "x", "y")
BOXES = ("fit", "log")


def controls(page):
    return {name: page.input_value(f"#{name}") for name in CONTROLS} | {
        name: page.is_checked(f"#{name}") for name in BOXES
    }


def test_the_address_names_every_control(page_of):
    page = page_of(at(CIRCLES, 40))
    page.select_option("#plane", "0")
    page.select_option("#x", index=1)
    page.select_option("#y", index=0)
    page.check("#fit")
    page.check("#log")
    settled(page)
    chosen, shown = controls(page), picture(page, "embedding")
    again = settled(page_of(page.url[page.url.index("#") :]))
    assert controls(again) == chosen
    assert picture(again, "embedding") == shown
    usual = settled(page_of(at(CIRCLES, 40)))
    assert not any(controls(usual)[name] == chosen[name] for name in BOXES)


def test_a_box_unticked_where_it_is_usual_stays_so(page_of):
    page = page_of(at(TRANSFORMER))
    assert page.is_checked("#fit")
    page.uncheck("#fit")
    settled(page)
    again = settled(page_of(page.url[page.url.index("#") :]))
    assert not again.is_checked("#fit")
    again.check("#run-list tr:nth-child(1) input")
    assert not again.is_checked("#fit")
