"""The explorer's live particles in a real Chromium."""

import numpy as np
import pytest
import torch
from browsing import coordinates, file_of, fill
from conftest import CPU, point_of

from circlet.collections.musat.equations import particles
from circlet.collections.musat.tables import structures

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    "changes", [{}, {"p": 12, "f_a": 2, "g_r": 1.3, "g_a": 0.5, "step_size": 0.004}]
)
def test_live_particles_are_those_of_python(page, changes):
    fill(page, seed=8, **changes)
    other = coordinates(page)
    fill(page, seed=7)
    start = coordinates(page)
    np.testing.assert_allclose(start.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(start.std(0), 0.5)
    assert np.abs(start - other).max() > 0.1
    for _ in range(100):
        page.click("#particles-step")
    end = coordinates(page)
    assert file_of(page, "particles", "csv")[1] == "particles_step_100.csv"
    shown = {"f_a": float(page.input_value("#particles-f_a"))}  # the page's initial values
    settings = {"system": "particles", "dtype": "float64", "parameters": shown | changes}
    parameters = point_of(**settings).parameters
    couplings = particles.data(parameters, [], torch.float64, CPU)
    state = {"embedding": torch.as_tensor(start)[None].clone()}
    for _ in range(100):
        particles.step(state, couplings)
    np.testing.assert_allclose(end, state["embedding"][0], atol=1e-6)
    assert np.abs(end - start).max() > 0.1
    norms, pairs = np.linalg.norm(end, axis=1), len(end) * (len(end) + 1) // 2
    assert page.inner_text("#particles-ratio").startswith(f"{norms.max() / norms.min():.2f}, ")
    expected = structures.count_imperfections(end)
    assert page.inner_text("#particles-imperfections") == f"{expected} of {pairs}"
    assert page.inner_html("#particles-picture").count("l5 5m-5 0l5-5") == expected  # crosses


def test_sixty_steps_a_second(page):
    """Time is measured by the page's clock."""
    steps = page.locator("#particles-steps")
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    page.click("#particles-run")
    assert page.inner_text("#particles-run") == "Pause"
    page.clock.run_for(1000)
    assert 55 < int(steps.inner_text()) < 65
    assert page.get_attribute("#particles-run", "aria-pressed") == "true"
    page.click("#particles-step")  # which pauses, too
    assert page.inner_text("#particles-run") == "Start"
    assert page.get_attribute("#particles-run", "aria-pressed") == "false"
    stopped = steps.inner_text()
    page.clock.run_for(200)
    assert steps.inner_text() == stopped
    page.click("#particles-restart")
    assert steps.inner_text() == "0"
    page.select_option("#particles-frame", "4")
    page.click("#particles-run")
    page.clock.run_for(1000)
    assert 220 < int(steps.inner_text()) < 260


def test_a_particle_can_be_moved_by_keys_and_dragged(page):
    moved = coordinates(page)
    stage = page.locator("#particles-picture")
    stage.focus()
    for n, key, way in (
        (1, "n", [0, 0]),
        (1, "ArrowUp", [0, 0.025]),
        (1, "ArrowLeft", [-0.025, 0]),
        (1, "ArrowRight", [0.025, 0]),
        (1, "ArrowDown", [0, -0.025]),
        (0, "Shift+N", [0, 0]),
        (0, "ArrowUp", [0, 0.025]),
    ):
        page.keyboard.press(key)
        moved[n] += way
        np.testing.assert_allclose(coordinates(page), moved, atol=1e-9)
    stage.evaluate("one => one.scrollIntoView()")
    # Its frame reaches 2.5 deviations.
    plot = stage.locator("rect").bounding_box()
    unit = plot["width"] / (2 * 2.5 * 0.5)
    centre = np.array([plot["x"] + plot["width"] / 2, plot["y"] + plot["height"] / 2])
    page.mouse.move(*(centre + moved[3] * unit * [1, -1]))
    page.mouse.down()
    page.mouse.move(*(centre + np.array([0.9, 0.4]) * unit * [1, -1]))
    page.keyboard.press(" ")  # it stays under the pointer while others move
    page.wait_for_function("Number(document.getElementById('particles-steps').textContent) > 5")
    page.keyboard.press(" ")
    ended = coordinates(page)
    np.testing.assert_allclose(ended[3], [0.9, 0.4], atol=0.01)
    assert np.abs(ended[4:] - moved[4:]).max() > 0.01
    page.mouse.up()
    page.mouse.move(*centre)  # released: it stays where it is
    np.testing.assert_array_equal(coordinates(page), ended)


def test_bad_numbers_are_left_out(page):
    page.click("#particles-step")
    before = coordinates(page)
    for value in ("", "2", "400", "3.5"):
        fill(page, p=value)
        np.testing.assert_array_equal(coordinates(page), before)  # not restarted
        assert page.inner_text("#particles-wrong").startswith("p, number of particles: ")
    fill(page, p=17)
    assert page.inner_text("#particles-wrong") == ""
    page.click("#particles-step")
    np.testing.assert_array_equal(coordinates(page), before)  # restarted
    page.click("#particles-restart")
    fill(page, step_size="-1")
    assert page.inner_text("#particles-wrong").startswith("step size: ")
    page.click("#particles-step")
    np.testing.assert_array_equal(coordinates(page), before)  # with the previous step size
