"""The explorer in a real Chromium, from a file, without a network."""

import csv
import json
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT, config

from circlet.analysis import structures
from circlet.pages import explorer
from circlet.plan import Study
from circlet.products import Product
from circlet.systems import particles

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

pytestmark = pytest.mark.browser
CHROMIUM = "/usr/bin/chromium"
SCREENSHOTS = ROOT / "tests/screenshots"
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield started
        started.close()


@pytest.fixture
def address(tmp_path):
    study = Study(config(tmp_path / "results"))
    path = study.results / "explorer.html"
    explorer.make(Product("explorer", "circlet.pages.explorer", study, [], [path]))
    return path.as_uri()


@pytest.fixture
def page(browser, address):
    """The page, just opened; whatever it said, asked for or threw by the end is a failure."""
    opened = browser.new_page(
        viewport=dict(zip(("width", "height"), SIZES["desktop"], strict=True))
    )
    wrong = []
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda request: wrong.append(request.url))
    opened.goto(address)
    assert wrong.pop(0) == address  # it asks for itself alone
    yield opened
    opened.close()
    assert not wrong


def saved(page):
    """Positions as the page gives them away, (p, 2), and the name of the file."""
    with page.expect_download() as download:
        page.evaluate("document.getElementById('save').click()")  # wherever the mouse is
    path = Path(download.value.path())
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [int(row["particle"]) for row in rows] == list(range(len(rows)))
    positions = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    return positions, download.value.suggested_filename


def fill(page, **values):
    for name, value in values.items():
        page.fill(f"#{name}", str(value))
        page.dispatch_event(f"#{name}", "change")


@pytest.mark.parametrize(
    "changes", [{}, {"p": 12, "f_a": 2, "g_r": 1.3}, {"p": 5, "g_a": 0.5, "step_size": 0.004}]
)
def test_live_particles_are_those_of_python(page, changes):
    fill(page, seed=7, **changes)
    start, name = saved(page)
    assert name == "particles_step_0.csv"
    for _ in range(100):
        page.click("#step")
    found, name = saved(page)
    assert name == "particles_step_100.csv"
    settings = {"system": "particles", "dtype": "float64", "parameters": changes}
    parameters = Study(config(**settings)).points[0].parameters
    couplings = particles.problem(parameters, [], torch.float64, torch.device("cpu"))
    state = {"embedding": torch.as_tensor(start)[None].clone()}
    for _ in range(100):
        particles.step(state, couplings)
    np.testing.assert_allclose(found, state["embedding"][0], atol=1e-6)
    assert np.abs(found - start).max() > 0.1


def test_starts_are_standard_and_differ_by_seed(page):
    starts = []
    for seed in (0, 1):
        fill(page, seed=seed)
        positions, _ = saved(page)
        np.testing.assert_allclose(positions.mean(0), 0, atol=1e-12)
        np.testing.assert_allclose(positions.std(0), 0.5)
        starts.append(positions)
    assert np.abs(starts[0] - starts[1]).max() > 0.1


def test_readings_are_those_of_python(page):
    page.click("#step")
    positions, _ = saved(page)
    norms = np.linalg.norm(positions, axis=1)
    assert page.inner_text("#ratio") == f"{norms.max() / norms.min():.2f}"
    assert page.inner_text("#shape") == "no circle"
    expected = structures.count_imperfections(positions)
    assert page.inner_text("#imperfections") == f"{expected} of 153"


def test_sixty_steps_a_second(page):
    page.click("#run")
    assert page.inner_text("#run") == "Pause"
    page.wait_for_function("Number(document.getElementById('steps').textContent) > 10")
    first, started = int(page.inner_text("#steps")), time.perf_counter()
    time.sleep(3)
    rate = (int(page.inner_text("#steps")) - first) / (time.perf_counter() - started)
    page.click("#run")
    stopped = page.inner_text("#steps")
    time.sleep(0.2)
    assert page.inner_text("#steps") == stopped
    assert rate > 50  # a frame in six may be late on a shared machine
    print(f"{rate:.0f} steps a second")


def test_a_particle_can_be_dragged_by_mouse_and_keys(page):
    before, _ = saved(page)
    box = page.locator("#stage").bounding_box()
    unit = box["width"] / (2 * 2.5 * 0.5)
    centre = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    page.mouse.move(*(centre + before[3] * unit * [1, -1]))
    page.mouse.down()
    page.mouse.move(*(centre + np.array([0.9, 0.4]) * unit * [1, -1]))
    moved, _ = saved(page)
    np.testing.assert_allclose(moved[3], [0.9, 0.4], atol=0.01)
    page.mouse.up()
    page.locator("#stage").focus()
    page.keyboard.press("n")
    page.keyboard.press("ArrowUp")
    after, _ = saved(page)
    np.testing.assert_allclose(after[4] - before[4], [0, 0.025], atol=1e-9)
    rest = [a for a in range(17) if a not in (3, 4)]
    np.testing.assert_allclose(after[rest], before[rest])
    page.locator("#stage").focus()
    page.keyboard.press(" ")
    assert page.inner_text("#run") == "Pause"
    page.keyboard.press(" ")


def pixels(page):
    return page.evaluate("document.getElementById('stage').toDataURL()")


@pytest.mark.parametrize("name", ["sums", "imperfect", "arrows"])
def test_what_is_shown_can_be_chosen(page, name):
    before = pixels(page)
    page.click(f"#{name}")
    assert pixels(page) != before
    page.click(f"#{name}")
    assert pixels(page) == before


def test_bad_numbers_are_left_out(page):
    before, _ = saved(page)
    for value in ("", "2", "400", "3.5"):
        fill(page, p=value)
        positions, _ = saved(page)
        np.testing.assert_array_equal(positions, before)
    fill(page, step_size="-1")
    page.click("#step")
    stepped, _ = saved(page)
    assert np.isfinite(stepped).all()


def test_more_steps_a_frame(page):
    page.select_option("#per_frame", "4")
    page.click("#run")
    page.wait_for_function("Number(document.getElementById('steps').textContent) >= 8")
    page.click("#run")
    assert int(page.inner_text("#steps")) % 4 == 0
    page.click("#restart")
    assert page.inner_text("#steps") == "0"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_is_accessible_and_fits(page, size, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(dict(zip(("width", "height"), SIZES[size], strict=True)))
    fill(page, seed=2)
    page.check("#arrows")
    for _ in range(30):
        page.click("#step")
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"explorer_{size}_{scheme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = axe.Axe().run(page).response["violations"]
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert not serious, json.dumps(serious, indent=1)
