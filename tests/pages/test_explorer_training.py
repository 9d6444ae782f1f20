"""The explorer in a real Chromium: scrubbing through a training, and playing it."""

import itertools

import pytest
from driving import (
    CIRCLES,
    NETWORK,
    PARTICLES,
    STUDY,
    TRANSFORMER,
    at,
    block_of,
    picture,
    settled,
    step_now,
)

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("run_id", [NETWORK, TRANSFORMER])
def test_training_can_be_scrubbed_and_stepped(page_of, run_id):
    page = settled(page_of(at(run_id)))
    last, end = step_now(page), picture(page, "embedding")
    assert last == block_of(run_id)[0].point.steps
    steps = []
    for place in range(int(page.get_attribute("#step-slider", "max")) + 1):
        page.locator("#step-slider").fill(str(place))
        steps.append(step_now(page))
    assert steps == sorted({*steps}) and steps[-1] == last
    page.locator("#step-slider").press("Home")
    settled(page)
    assert picture(page, "embedding") != end
    for act, place in (("#back", 0), ("#forward", 1), ("#back", 0)):
        page.click(act)
        assert step_now(page) == steps[place]
    page.locator("#step-slider").press("ArrowRight")
    assert step_now(page) == steps[1]
    page.locator("#step-slider").press("End")
    page.click("#forward")
    settled(page)
    assert step_now(page) == last and picture(page, "embedding") == end


SCRUB = """async () => {
  const slider = document.getElementById("step-slider");
  const last = Number(slider.max);
  for (let i = 0; i <= 100; i++) {
    slider.value = Math.round(i * last / 100);
    slider.dispatchEvent(new Event("input"));
    await new Promise(requestAnimationFrame);
  }
}"""
# Work that takes three times as long as a frame of the slowest run did, on any machine.
FRAME = "() => { let x = 0; for (let i = 0; i < 12e6; i++) x = (31 * x + i) % 1000003; return x; }"


@pytest.mark.parametrize("run_id", [NETWORK, CIRCLES, TRANSFORMER])
def test_a_frame_of_scrubbing_is_little_work(page_of, run_id):
    """Measured in CPU time of the page, to which no other process adds."""
    page = settled(page_of(at(run_id)))
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds(code, times=1):
        before = spent()
        for _ in range(times):
            page.evaluate(code)
        return spent() - before

    def spent():
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    frames = seconds(SCRUB) / seconds(FRAME, 10) / 10
    print(f"{run_id}: {frames:.2f} of a frame")
    assert frames < 1


def test_it_plays_as_fast_as_it_says(page_of):
    """The page's clock is simulated: playing takes no time, however slow the machine."""
    page = page_of(at(NETWORK, 0))
    places = int(page.get_attribute("#step-slider", "max"))
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    page.click("#play")
    for share, word in ((0.5, "Pause"), (1, "Play")):  # all of it takes long enough to be seen
        page.clock.run_for(share * (1000 * min(8, places / 2) + 500))
        assert page.inner_text("#play") == word
    assert page.input_value("#step-slider") == f"{places}"
    for speed, expected in (("60", 58), ("5", 4)):
        page.locator("#step-slider").press("End")  # from where it begins anew
        page.select_option("#speed", speed)
        # Three clicks in one task start the simulation once.
        page.evaluate("() => { for (let n = 3; n--; ) document.getElementById('play').click(); }")
        page.clock.run_for(1000)
        page.click("#play")
        assert page.inner_text("#play") == "Play"
        assert int(page.input_value("#step-slider")) == pytest.approx(expected, abs=2)
    page.clock.resume()
    settled(page)
    assert f"step={step_now(page)}" in page.url  # the step at which it was paused


def test_another_system_can_be_chosen_while_it_plays(page_of):
    """The last of two choices counts."""
    page = page_of(at(NETWORK, 0))
    for other, system in itertools.pairwise([STUDY.systems[0], *reversed(STUDY.systems)]):
        page.click("#play")
        page.evaluate(
            """systems => {
              const select = document.getElementById("system");
              for (const system of systems) {
                select.value = system;
                select.dispatchEvent(new Event("change"));
              }
              document.getElementById("back").click();
            }""",
            [other, system],
        )
        settled(page)
        run = page.input_value("#run-list input:checked")
        assert STUDY.experiment(run.split("/")[0])[0].system.name == system
        assert page.inner_text("#play") == "Play"
        assert page.input_value("#system") == system


def test_a_chosen_plane_does_not_stick_to_other_spaces(page_of):
    page = page_of(at(CIRCLES, dimensions="6,8"))
    assert (page.input_value("#x"), page.input_value("#y")) == ("5", "7")
    page.select_option("#system", "constant_attention")
    settled(page)
    assert (page.input_value("#x"), page.input_value("#y")) == ("0", "1")


def test_links_within_the_page_keep_the_run(page_of):
    page = page_of(at(PARTICLES, 20))
    page.click("a[href='#live-network']")
    settled(page)
    assert page.locator(f"#run-list input[value='{PARTICLES}']").is_checked()
    assert abs(page.locator("#live-network").bounding_box()["y"]) < 300
