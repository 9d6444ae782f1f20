"""Charts of the explorer: what they draw is in the logs, and what a reader does with them."""

import numpy as np
import pytest
from browsing import file_of, numbers
from driving import CIRCLES, NETWORK, at, block_of, logged, settled, step_now, table

from circlet.systems.parameters import CROSS_ENTROPY

pytestmark = pytest.mark.browser

CHART = """id => {
  const { data, layout } = document.querySelector(`#${id}-picture .js-plotly-plot`);
  const { annotations = [], xaxis, yaxis } = layout;
  const names = annotations.map(one => [Number(one.text), one.y]);
  return { data: JSON.parse(JSON.stringify(data)), names, titles: [xaxis.title.text, yaxis.title.text] };
}"""  # noqa: E501


def test_without_survivors_all_signals_are_coloured_and_the_ode_is_that_of_the_table(
    page_of, finished
):
    page = settled(page_of(at(CIRCLES)))
    assert page.inner_text("#signals-note").startswith("no survivors")
    assert {trace["line"]["width"] for trace in page.evaluate(CHART, "signals")["data"]} == {2}
    rows = table("ode_coefficients", finished).query("run_id == @CIRCLES and method == 'lasso'")
    shown = numbers(page, "ode")
    assert list(shown) == ["on", "constant", *(f"of_{k}" for k in range(1, 7))]
    matrix = rows.pivot(index="target", columns="source", values="coefficient")
    np.testing.assert_allclose(shown.to_numpy()[:, 1:], matrix, rtol=1e-4, atol=1e-12)
    chart = page.evaluate(CHART, "ode")
    (heat,) = chart["data"]
    np.testing.assert_allclose(heat["z"], matrix.to_numpy()[:, 1:], rtol=1e-4, atol=1e-12)
    assert chart["titles"] == ["effect of frequency", "effect on frequency"]
    assert [colour for _, colour in heat["colorscale"]][::2] == ["#d55e00", "#0072b2"]


def test_signals_are_drawn_and_survivors_coloured(page_of, finished):
    run_id = "random_starts/p13_d24_hidden-16_wd0.5_keep-random-2/s00000"
    alive = table("explorer_runs", finished).set_index("run_id")["survivors"][run_id].tolist()
    page = settled(page_of(at(run_id)))
    saved = numbers(page, "signals")
    chart = page.evaluate(CHART, "signals")
    coloured = set()
    for trace in chart["data"]:
        k = int(trace["hovertemplate"].split("k = ")[1].split(":")[0])
        assert trace["x"] == saved["step"].tolist()
        np.testing.assert_allclose(trace["y"], saved[f"signal_{k}"], rtol=1e-4)
        if trace["line"]["width"] == 2:
            coloured.add(k)
    assert coloured == set(alive) != set()
    assert page.inner_text("#signals-note").startswith("coloured: survivors")
    names = dict(chart["names"])
    assert names and set(names) <= set(alive)
    for k, y in names.items():
        assert y == pytest.approx(saved[f"signal_{k}"].iloc[-1], rel=1e-4)
    box = page.locator("#signals-picture").bounding_box()
    for name in page.locator("#signals-picture .annotation-text").all():
        text = name.bounding_box()
        assert text["x"] + text["width"] <= box["x"] + box["width"]


@pytest.mark.parametrize("log", [0, 1])
def test_curves_are_those_of_the_log_and_have_their_axes(page_of, finished, log):
    page = settled(page_of(at(CIRCLES, 40, log=log)))
    shown = numbers(page, "losses").set_index("step")  # six digits
    assert [*shown] == [*CROSS_ENTROPY] and shown.index[-1] == block_of(CIRCLES)[0].point.steps
    expected = logged(finished, CIRCLES, "curves").set_index("step").loc[shown.index]
    np.testing.assert_allclose(shown, expected[[*CROSS_ENTROPY]], rtol=5e-6)
    drawn = shown[shown.index > 0] if log else shown
    chart = page.evaluate(CHART, "losses")
    assert chart["titles"] == ["step", "loss (nat)"]
    for trace, name in zip(chart["data"], CROSS_ENTROPY, strict=True):
        assert trace["x"] == drawn.index.tolist()
        np.testing.assert_allclose(trace["y"], drawn[name], rtol=1e-4)
        assert trace["name"] == name.split("_")[0]
        assert trace["yaxis"] == ("y" if name.endswith("loss") else "y2")
    area = page.locator("#losses-picture .nsewdrag").first.bounding_box()
    line = page.locator("#losses-picture .cursor").bounding_box()["x"]
    # The axis starts at the first logged step of all panels: signals are logged at step 1.
    share = np.log(40) / np.log(80) if log else 40 / 80
    assert abs(line - area["x"] - share * area["width"]) < 0.03 * area["width"]


def test_a_click_on_a_curve_goes_to_its_step(page_of):
    page = settled(page_of(at(NETWORK, 0)))
    area = page.locator("#losses-picture .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    line = page.locator("#losses-picture .cursor")
    before = line.bounding_box()["x"]
    assert abs(before - box["x"]) < 3
    place = box["x"] + box["width"] * 0.75, box["y"] + box["height"] / 2
    page.mouse.move(*place)
    settled(page)
    page.mouse.click(*place)
    assert abs(step_now(page) - 75) <= 10
    assert abs(line.bounding_box()["x"] - (box["x"] + box["width"] * step_now(page) / 100)) < 3


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
    file_of(page, "signals", "svg")
    settled(page)
    assert shown() == [enlarged, colour]
    page.locator("#run-list input:not(:checked)").first.check()
    settled(page)
    assert shown()[0] != enlarged


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
