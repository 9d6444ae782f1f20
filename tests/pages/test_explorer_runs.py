"""The explorer of a finished study in a real Chromium: choosing a run."""

import numpy as np
import pytest
from driving import (
    NETWORK,
    STUDY,
    TRANSFORMER,
    at,
    block_of,
    choices,
    column,
    picture,
    settled,
    step_now,
    table,
    values,
)

pytestmark = pytest.mark.browser


def test_it_opens_with_a_training_and_lists_what_the_study_has(page_of, finished):
    page = page_of()
    systems = [name.split(" ")[0] for name in choices(page, "system")]
    assert systems == STUDY.systems
    assert page.is_enabled("#play")
    runs = table("explorer_runs", finished)
    note = page.inner_text(".notes")
    assert (runs["shown"] == "training").all()
    states = table("explorer_states", finished)
    most = states.groupby(["run_id", "name"]).size().max()
    assert 101 <= most <= 101 + runs["moments"].dropna().map(len).max()
    each = f"You can replay the training of each of the {len(runs)} runs, in at most {most} steps."
    assert each in note
    assert (finished.folder / "results/smoke/explorer.html").stat().st_size < 20e6


# A point is unpacked when it is chosen.
CHOSEN = """([which, name]) => {
  const run = document.querySelector("#run-list input")?.value ?? "";
  const system = document.getElementById("system").value;
  const ready = document.querySelector("#experiment").value === run.split("/")[0];
  return ready && name === [system, run.split("/")[0]][which];
}"""


READS = "words => document.getElementById('reading-now').textContent.startsWith(words)"


def test_every_point_and_its_runs_can_be_chosen(page_of, finished):
    page, names = page_of(), []
    listed = table("explorer_runs", finished)
    for system in choices(page, "system"):
        page.select_option("#system", label=system)
        page.wait_for_function(CHOSEN, arg=[0, system.split(" ")[0]])
        for name in values(page, "experiment"):
            names.append(name)
            page.select_option("#experiment", name)
            page.wait_for_function(CHOSEN, arg=[1, name])
            points = STUDY.experiment(name)
            assert page.locator("#points input").count() == len(points)
            for point in points:
                runs = [point.run_id(seed) for seed in point.all_seeds]
                counts = listed[listed["run_id"].isin(runs)]["outcome"].value_counts()
                if page.is_visible("#points"):  # a single point is chosen already
                    page.check(f"#points input[value='{STUDY.points.index(point)}']", force=True)
                page.wait_for_selector(f"#run-list input[value='{runs[0]}']")
                words = page.inner_text("#point-note").split(": ")[1].split("; ")
                assert set(words) >= {f"{k} ({n} of {counts.sum()})" for k, n in counts.items()}
                assert page.locator("#run-list input").count() == point.count
                for i in (-1, 0):
                    page.check(f"#run-list input[value='{runs[i]}']")
                    page.wait_for_function(READS, arg=f"seed {point.all_seeds[i]}: ")
    assert len(names) == len({*names}) == 24


def test_runs_can_be_sorted_and_filtered(page_of, finished):
    page = page_of(at(NETWORK))
    runs = table("explorer_runs", finished)
    runs = runs[runs["run_id"].str.startswith("decay_scan/p17_d2_wd1/")]
    page.click("[data-by=norm_ratio]")
    ratios = [float(value) for value in column(page, 4)]
    assert ratios == sorted(ratios)
    np.testing.assert_allclose(ratios, sorted(runs["norm_ratio"]), rtol=0.006)
    page.click("[data-by=norm_ratio]")
    assert [float(value) for value in column(page, 4)] == ratios[::-1]
    assert page.get_attribute("th[aria-sort]", "aria-sort") == "descending"
    counts = runs["outcome"].value_counts()
    for outcome, count in counts.items():
        page.select_option("#filter", label=f"{outcome} ({count})")
        assert column(page, 2) == [outcome] * count
        assert page.locator("#run-list input:checked").count() == 1
    page.select_option("#filter", "")
    assert page.locator("#run-list input").count() == len(runs)


def test_the_list_keeps_its_choice_and_is_in_order(page_of):
    page = page_of(at(TRANSFORMER))
    chosen = page.locator("#run-list tr:not(:has(input:checked))").first
    wanted = chosen.locator("input").get_attribute("value")
    chosen.locator("td").nth(1).click()  # anywhere in its row
    page.click("[data-by=structure_epoch]")
    assert page.input_value("#run-list input:checked") == wanted
    counts = [int(words.rsplit("(", 1)[1][:-1]) for words in choices(page, "filter")[1:]]
    assert counts == sorted(counts, reverse=True)
    assert "not finished" not in page.inner_text("#run-note")


def test_a_filter_is_kept_where_it_can_be(page_of):
    page = page_of(at(TRANSFORMER))
    outcome = column(page, 2)[0]
    page.select_option("#filter", outcome)
    page.select_option("#system", "particles")  # particles have other outcomes
    settled(page)
    assert page.input_value("#filter") == ""
    assert page.locator("#run-list input").count() > 1


def test_at_the_ends_steps_stop(page_of):
    page = page_of(at(NETWORK, 0))
    page.click("#back")
    assert step_now(page) == 0
    steps = set()
    for place in range(int(page.get_attribute("#step-slider", "max")) + 1):
        page.locator("#step-slider").fill(str(place))
        steps.add(step_now(page))
    assert len(steps) == place + 1
    page.click("#forward")
    assert step_now(page) == block_of(NETWORK)[0].point.steps


def test_colours_follow_the_page(page_of):
    page = settled(page_of(at(NETWORK, 0)))
    for panel in ("embedding", "particles", "network-embedding"):
        light = picture(page, panel)
        page.emulate_media(color_scheme="dark")
        settled(page)
        assert picture(page, panel) != light
        page.emulate_media(color_scheme="light")
        settled(page)
        assert picture(page, panel) == light


def test_a_filter_that_drops_the_run_goes_to_the_same_step_of_another(page_of, finished):
    runs = table("explorer_runs", finished).set_index("run_id")
    page = page_of(at(TRANSFORMER))
    page.locator("#step-slider").fill("3")
    step = step_now(page)
    other = next(name for name in column(page, 2) if name != runs["outcome"][TRANSFORMER])
    page.select_option("#filter", other)
    assert not page.locator(f"#run-list input[value='{TRANSFORMER}']").count()
    assert step_now(page) == step
    assert f": {other} at the end" in page.inner_text("#reading-now")


def test_a_link_to_a_run_outside_of_the_filter_shows_all(page_of, finished):
    runs = table("explorer_runs", finished)
    runs = runs[runs["run_id"].str.startswith(TRANSFORMER.rsplit("/", 1)[0] + "/")]
    outcomes = runs.drop_duplicates("outcome")
    inside, outside = outcomes.iloc[0], outcomes.iloc[1]
    page = page_of(at(inside["run_id"]))
    page.select_option("#filter", inside["outcome"])
    page.evaluate("hash => { location.hash = hash; }", at(outside["run_id"]))
    page.wait_for_selector(f"#run-list input[value='{outside['run_id']}']:checked")
    assert page.input_value("#filter") == ""
    assert page.locator("#run-list input").count() == len(runs)


def test_a_link_followed_just_before_the_page_rests_is_not_lost(page_of):
    first, other = (f"{TRANSFORMER.rsplit('/', 1)[0]}/s0000{n}" for n in (1, 2))
    page = settled(page_of(at(first)))
    page.evaluate(  # afterwards the new address and the writing of the old one are both due
        """hash => {
          document.getElementById("back").click();
          setTimeout(() => { location.hash = hash; }, 50);
          for (const start = performance.now(); performance.now() < start + 500; );
        }""",
        at(other),
    )
    page.wait_for_selector(f"#run-list input[value='{other}']:checked")
    settled(page)
    assert other.rsplit("/", 1)[1] in page.evaluate("location.hash")
