"""The explorer in a real Chromium: what it tells a reader who is new to the subject."""

import re

import numpy as np
import pytest
from browsing import SIZES, each, serious
from driving import (
    CIRCLES,
    NETWORK,
    STUDY,
    TRANSFORMER,
    at,
    block_of,
    picture,
    settled,
    step_now,
    table,
)

pytestmark = pytest.mark.browser


def stops(page):
    return each(page, "#tour-stops a", "hash")


def test_it_opens_with_what_is_learned_and_what_the_study_has(page_of, finished):
    page = settled(page_of())
    assert "modular addition" in page.inner_text("#introduction")
    assert page.url.endswith(stops(page)[0])
    assert step_now(page) == 0
    page.click("#terms summary")
    assert "remainder" in page.inner_text("#terms dl")
    page.click("#embedding .help summary")
    assert "places each number" in page.inner_text("#embedding .help p")
    assert not serious(page)
    assert [name.split(" ")[0] for name in each(page, "#system option")] == STUDY.systems
    n = len(table("explorer_runs", finished))
    most = table("explorer_states", finished).groupby(["run_id", "name"]).size().max()
    words = f"You can replay the training of each of the {n} runs, in at most {most} steps."
    assert words in page.inner_text(".notes")
    assert (finished.folder / "results/smoke/explorer.html").stat().st_size < 20e6


@pytest.mark.parametrize("size", SIZES)
def test_every_stop_of_the_tour_is_on_one_screen_and_an_address(page_of, finished, size):
    page = settled(page_of(size=size))
    runs = table("explorer_runs", finished).set_index("run_id")
    first, *others = stops(page)
    texts = set()
    for fragment in (*others, first):  # after the last stop comes the first
        page.click("#tour-next")
        page.wait_for_function("hash => location.hash.startsWith(hash)", arg=fragment)
        settled(page)
        run_id, step = re.fullmatch(r"#run=(.+)&step=(\d+)", fragment).groups()
        assert runs["shown"][run_id] == "training"
        assert step_now(page) == int(step)
        assert each(page, "#tour-stops [aria-current]", "hash") == [fragment]
        text = page.locator("#tour-text")
        assert len(re.findall(r"[.!?](?: |$)", text.inner_text())) >= 2
        texts.add(text.inner_text())
        pictured = page.locator("#tour-panels .panel:visible").first.bounding_box()
        screen = page.evaluate("innerHeight")
        assert 0 <= pictured["y"] <= screen - pictured["height"]
        assert text.bounding_box()["y"] < screen
    assert len(texts) == 1 + len(others) >= 3
    assert not serious(page)
    page.goto(page.url.replace(first, f"{others[0]}&log=1"))  # an address that was sent
    settled(page)
    assert each(page, "#tour-stops [aria-current]", "hash") == [others[0]]


def test_a_stop_has_a_picture_that_moves_and_is_played_until_its_end(page_of):
    page = settled(page_of())
    before = picture(page, "embedding-tour")
    assert before == picture(page, "embedding")
    page.locator("#step-slider").fill(page.get_attribute("#step-slider", "max"))
    settled(page)
    assert before != picture(page, "embedding")
    assert picture(page, "embedding-tour") == picture(page, "embedding")
    assert page.inner_text("#tour-step") == page.inner_text("#step-now")
    assert "random place" in page.inner_text("#tour-text")
    page.click("#tour-stops a[aria-label$='Two phases']")
    page.wait_for_selector("#tour-words:has-text('First the clusters')")
    settled(page)
    forms = step_now(page)
    for word in ("Pause", "Play this training"):
        page.click("#tour-play")
        assert page.inner_text("#tour-play") == word
    page.select_option("#speed", "60")
    page.click("#tour-play")
    page.wait_for_selector("#tour-play:text('Play this training')")
    settled(page)
    assert forms < step_now(page) < int(page.inner_text("#step-now").split(" of ")[1].split(",")[0])
    assert "Two phases" in page.get_attribute("#tour-stops [aria-current]", "aria-label")
    page.locator("#run-list input:not(:checked)").first.check()
    page.wait_for_function("document.getElementById('tour-text').textContent.startsWith('Pick')")
    assert page.locator("#tour-stops [aria-current], #tour-panels .panel:visible").count() == 0
    assert not page.is_visible("#tour-play")


def test_a_run_is_kept_beside_another(page_of):
    page = settled(page_of(at(NETWORK, 40)))
    page.click("#keep")
    settled(page)
    assert picture(page, "embedding-kept") == picture(page, "embedding")
    other = NETWORK.replace("s00003", "s00001")
    page.check(f"#run-list input[value='{other}']")
    settled(page)
    kept = picture(page, "embedding-kept")
    assert kept != picture(page, "embedding")
    assert f"beside={NETWORK}" in page.url
    page.locator("#step-slider").fill("0")
    settled(page)
    assert picture(page, "embedding-kept") != kept
    assert "seed 3" in page.inner_text("#kept-words")
    again = settled(page_of(page.url[page.url.index("#") :]))
    assert picture(again, "embedding-kept") == picture(page, "embedding-kept")
    for name in "ab":
        page.fill(f"#answers [name={name}]", "4")
    for panel in ("answers", "answers-kept"):
        assert "4 + 4 = 8." in page.inner_text(f"#{panel} .ask p >> nth=1")
    assert page.get_attribute("#embedding-kept-picture svg > path", "d").count("M") == 2
    page.click("#release")
    settled(page)
    assert page.locator(".kept:not([hidden])").count() == 0
    assert "beside" not in page.url


def test_buttons_lead_to_what_happens_in_a_training(page_of, finished):
    """Each button goes to the logged state nearest to its moment, which the page has."""
    moments = table("explorer_runs", finished).set_index("run_id")["moments"][TRANSFORMER]
    page = settled(page_of(at(TRANSFORMER)))
    logged = np.array(block_of(TRANSFORMER)[0].point.steps_logged("parameters"))
    buttons = page.locator("#moments button")
    assert buttons.count() == len(moments) > 0
    for i, moment in enumerate(moments):
        assert moment["text"] in buttons.nth(i).inner_text()
        buttons.nth(i).click()
        assert step_now(page) == logged[np.abs(logged - moment["step"]).argmin()]
    assert not serious(page)
    page.goto(page.url.partition("#")[0] + at(CIRCLES))
    settled(page)
    assert not page.is_visible("#moments")
