"""The explorer in a real Chromium: what it tells a reader who is new to the subject."""

import re

import numpy as np
import pytest
from browsing import serious
from driving import CIRCLES, NETWORK, at, finished_block_of, settled, step_now, table

pytestmark = pytest.mark.browser


def drawn(page, panel):
    """Return the drawing in a panel."""
    return page.inner_html(f"#{panel}-picture svg")


def stops(page):
    return page.eval_on_selector_all("#tour-stops a", "all => all.map(one => one.hash)")


def test_it_opens_with_what_is_learned(page_of):
    page = settled(page_of())
    assert "modular addition" in page.inner_text("#introduction")
    assert page.url.endswith(stops(page)[0])
    assert step_now(page) == 0
    page.click("#terms summary")
    assert "remainder" in page.inner_text("#terms dl")
    page.click("#embedding .help summary")
    assert "places each number" in page.inner_text("#embedding .help p")
    assert not serious(page)


def test_every_stop_of_the_tour_is_an_address_with_two_sentences(page_of, finished):
    page = settled(page_of())
    runs = table("explorer_runs", finished).set_index("run_id")
    hashes = stops(page)
    assert len(hashes) >= 3
    texts = set()
    for _ in hashes:
        fragment = page.evaluate("location.hash")
        run_id, step = re.fullmatch(r"#run=(.+)&step=(\d+)(?:&.*)?", fragment).groups()
        assert runs["shown"][run_id] == "training"
        assert step_now(page) == int(step)
        assert page.locator("#tour-stops [aria-current]").count() == 1
        text = page.inner_text("#tour-text")
        assert len(re.findall(r"[.!?](?: |$)", text)) >= 2
        texts.add(text)
        page.click("#tour-next")
        page.wait_for_function("before => location.hash !== before", arg=fragment)
        settled(page)
    assert len(texts) == len(hashes)
    assert page.evaluate("location.hash") == hashes[0]  # after the last stop comes the first
    page.goto(page.url.replace(hashes[0], f"{hashes[1]}&log=1"))  # an address that was sent
    settled(page)
    assert page.get_attribute("#tour-stops [aria-current]", "href") == hashes[1]


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_a_stop_is_on_one_screen_with_its_picture(page_of, size):
    page = page_of(size=size)
    for fragment in stops(page)[1:]:
        page.click("#tour-next")
        page.wait_for_function("hash => location.hash.startsWith(hash)", arg=fragment)
        settled(page)
        first = page.locator("#tour-panels .panel:visible").first
        pictured = first.bounding_box()
        screen = page.evaluate("innerHeight")
        assert pictured["y"] >= 0
        assert pictured["y"] + pictured["height"] <= screen
        assert page.locator("#tour-text").bounding_box()["y"] < screen
    assert not serious(page)


def test_the_picture_of_a_stop_moves_with_the_training_and_leaves_with_its_run(page_of):
    page = settled(page_of())
    before = drawn(page, "embedding-tour")
    assert before == drawn(page, "embedding")
    page.locator("#step-slider").fill(page.get_attribute("#step-slider", "max"))
    settled(page)
    assert before != drawn(page, "embedding")
    assert drawn(page, "embedding-tour") == drawn(page, "embedding")
    assert page.inner_text("#tour-step") == page.inner_text("#step-now")
    assert "random place" in page.inner_text("#tour-text")
    for word in ("Pause", "Play this training"):
        page.click("#tour-play")
        assert page.inner_text("#tour-play") == word
    page.locator("#run-list input:not(:checked)").first.check()
    page.wait_for_function("document.getElementById('tour-text').textContent.startsWith('Pick')")
    assert page.locator("#tour-stops [aria-current], #tour-panels .panel:visible").count() == 0
    assert not page.is_visible("#tour-play")


def test_two_phases_are_played_until_the_network_fits(page_of):
    page = settled(page_of())
    page.click("#tour-stops a[aria-label$='Two phases']")
    page.wait_for_selector("#tour-words:has-text('First the clusters')")
    settled(page)
    forms = step_now(page)
    page.select_option("#speed", "60")
    page.click("#tour-play")
    page.wait_for_selector("#tour-play:text('Play this training')")
    settled(page)
    assert forms < step_now(page) < int(page.inner_text("#step-now").split(" of ")[1].split(",")[0])
    assert "Two phases" in page.get_attribute("#tour-stops [aria-current]", "aria-label")


def test_the_seed_and_the_step_stay_when_the_point_changes(page_of):
    page = settled(page_of(at(NETWORK, 7)))
    (other,) = page.locator("#points input:not(:checked)").all()
    place = other.get_attribute("value")
    page.check(f"#points input[value='{place}']", force=True)
    page.wait_for_selector("#run-list input:checked[value*='_wd0/s00003']")
    assert step_now(page) == 7


def test_a_run_is_kept_beside_another(page_of):
    page = settled(page_of(at(NETWORK, 40)))
    page.click("#keep")
    settled(page)
    assert drawn(page, "embedding-kept") == drawn(page, "embedding")
    other = NETWORK.replace("s00003", "s00001")
    page.check(f"#run-list input[value='{other}']")
    settled(page)
    kept = drawn(page, "embedding-kept")
    assert kept != drawn(page, "embedding")
    assert f"beside={NETWORK}" in page.url
    page.locator("#step-slider").fill("0")
    settled(page)
    assert drawn(page, "embedding-kept") != kept
    assert "seed 3" in page.inner_text("#kept-words")
    again = settled(page_of(page.url[page.url.index("#") :]))
    assert drawn(again, "embedding-kept") == drawn(page, "embedding-kept")
    page.click("#release")
    settled(page)
    assert page.locator(".kept:not([hidden])").count() == 0
    assert "beside" not in page.url


def test_a_button_starts_a_live_network(page_of):
    page = page_of()
    page.click("#live-network [data-with]:has-text('overfit')")
    page.wait_for_function("Number(document.getElementById('network-steps').textContent) > 20")
    assert page.inner_text("#network-run") == "Pause"
    page.click("#network-run")
    assert page.locator("#network-losses-picture svg > g > path").count() >= 2


TOUCH = """() => {
  const area = document.querySelector("#losses-picture .nsewdrag");
  const { x, y, width, height } = area.getBoundingClientRect();
  const isTaken = (type, up) => {
    const place = { clientX: x + width / 2, clientY: y + height / 2 - up };
    const fingers = [new Touch({ identifier: 1, target: area, ...place })];
    const how = { bubbles: true, cancelable: true, touches: fingers, changedTouches: fingers };
    const event = new TouchEvent(type, { ...how, targetTouches: fingers });
    area.dispatchEvent(event);
    return event.defaultPrevented;
  };
  const taken = [["touchstart", 0], ["touchmove", 40], ["touchend", 40]].map((e) => isTaken(...e));
  return [...taken, getComputedStyle(area).touchAction];
}"""


def test_a_touch_on_a_curve_is_left_to_the_page(page_of):
    """The page then scrolls: no handler takes the touch, and the style allows scrolling."""
    page = settled(page_of(at(NETWORK), size="phone"))
    assert page.evaluate(TOUCH) == [False, False, False, "pan-y pinch-zoom"]


def test_buttons_lead_to_what_happens_in_a_training(page_of, finished):
    """Each button goes to the logged state nearest to its moment, which the page has."""
    runs = table("explorer_runs", finished).set_index("run_id")
    runs = runs[(runs["experiment"] == "heads") & (runs["shown"] == "training")]
    run = runs[runs["moments"].notna()].iloc[0]
    page = settled(page_of(f"#run={run.name}"))
    logged = np.array(finished_block_of(finished, run.name)[0].point.steps_logged("parameters"))
    buttons = page.locator("#moments button")
    assert buttons.count() == len(run["moments"]) > 0
    for i, moment in enumerate(run["moments"]):
        assert moment["text"] in buttons.nth(i).inner_text()
        buttons.nth(i).click()
        assert step_now(page) == logged[np.abs(logged - moment["step"]).argmin()]
    assert not serious(page)
    page.goto(page.url.partition("#")[0] + at(CIRCLES))
    settled(page)
    assert not page.is_visible("#moments")


def test_a_training_is_played_as_a_whole_in_some_seconds(page_of):
    """Playing takes long enough to be seen, even with few pictures."""
    page = page_of(at(NETWORK, 0))
    places = int(page.get_attribute("#step-slider", "max"))
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    page.click("#play")
    for share, word in ((0.5, "Pause"), (1, "Play")):
        page.clock.run_for(share * (1000 * min(8, places / 2) + 500))
        assert page.inner_text("#play") == word
