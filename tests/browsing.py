"""Fixtures and functions that open pages in Chromium."""

import io
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from circlet import build
from circlet.study import planning, targets

CHROMIUM = "/usr/bin/chromium"
SCREENSHOTS = Path(__file__).with_name("screenshots")
SIZES = {"desktop": (1440, 900), "phone": (390, 844)}


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield started
        started.close()


@pytest.fixture
def visit(browser):
    """Open a file; any error, console message or request of its page fails the test."""
    opened, wrong = [], []

    def visit(path, fragment="", size="desktop", scheme="light", expected=None):
        page = browser.new_page(viewport=dict(zip(("width", "height"), SIZES[size], strict=True)))
        page.emulate_media(color_scheme=scheme)
        page.set_default_timeout(60_000)
        opened.append(page)
        address = path.as_uri()
        beside = f"{path.parent.as_uri()}/figures/"  # reports check whether these files exist
        allowed = (address, beside, "data:", "blob:")
        permitted = expected or "\0"  # message that its console may show
        page.on("console", lambda m: None if permitted in m.text else wrong.append(m.text))
        page.on("pageerror", lambda error: wrong.append(f"{error}\n{error.stack}"))
        page.on("request", lambda r: None if r.url.startswith(allowed) else wrong.append(r.url))
        page.goto(address + fragment)
        return page

    yield visit
    for page in opened:
        page.close()
    assert not wrong


@pytest.fixture
def explore(visit):
    """Open an explorer, and wait until it is set up."""

    def explore(path, fragment="", **options):
        page = visit(path, fragment, **options)
        page.wait_for_function("document.documentElement.dataset.ready")
        return page

    return explore


@pytest.fixture
def page_of(explore, finished):
    """Open the smoke study's explorer at a fragment."""
    path = finished.folder / "results/smoke/explorer.html"
    return lambda fragment="", **options: explore(path, fragment, **options)


def serious(page):
    """Return serious and critical accessibility problems of a page, found by axe."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    violations = axe.Axe().run(page).response["violations"]
    return [v for v in violations if v["impact"] in ("serious", "critical")]


def screenshot(page, name):
    """Save a picture of a whole page for inspection."""
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


@pytest.fixture(scope="module")
def empty_explorer(tmp_path_factory):
    """Explorer of a study without results: the live simulations need no run."""
    from circlet.pages import explorer  # takes a second, in every process of tests

    experiment = {"system": "constant_attention", "steps": 1, "seeds": {"count": 1}}
    results = str(tmp_path_factory.mktemp("empty"))
    study = planning.plan({"results": results, "experiments": {"e": experiment}})
    page = targets.explorer(replace(study, left_out=explorer.OPTIONAL_TABLES))
    build.make(page)
    return page.outputs[0]


@pytest.fixture
def page(explore, empty_explorer):
    """The opened explorer of a study without results."""
    return explore(empty_explorer)


def file_of(page, panel, kind):
    """Return the content of the file that a button of a panel saves, and its name."""
    with page.expect_download() as download:  # wherever the mouse is
        page.evaluate(f"document.querySelector('#{panel} [data-save={kind}]').click()")
    return Path(download.value.path()).read_bytes(), download.value.suggested_filename


def numbers(page, panel):
    """Return the data of a panel as a frame."""
    content, _ = file_of(page, panel, "csv")
    return pd.read_csv(io.BytesIO(content))


def coordinates(page, panel="particles"):
    """Return the coordinates that a live simulation saves, (p, 2)."""
    return numbers(page, panel).to_numpy()[:, 1:]


def each(page, selector, name="textContent"):
    """Return a property of all elements that a selector finds."""
    return page.eval_on_selector_all(selector, "(all, name) => all.map(one => one[name])", name)


def fill(page, of="particles", **values):
    """Type values into the fields of a live simulation."""
    for name, value in values.items():
        page.fill(f"#{of}-{name}", str(value))
        page.dispatch_event(f"#{of}-{name}", "change")
