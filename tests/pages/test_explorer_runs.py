"""The explorer of a finished study in a real Chromium: choosing a run."""

import numpy as np
import pytest
from browsing import each
from driving import (
    PARTICLES,
    STUDY,
    TRANSFORMER,
    at,
    column,
    picture,
    settled,
    step_now,
    table,
)

pytestmark = pytest.mark.browser

READS = "words => document.getElementById('reading-now').textContent.startsWith(words)"


def test_every_point_and_its_runs_can_be_chosen(page_of, finished):
    page = page_of()
    listed = table("explorer_runs", finished)
    for system in STUDY.systems:
        names = dict.fromkeys(p.experiment for p in STUDY.points if p.system.name == system)
        page.select_option("#system", system)
        page.wait_for_selector(f"#experiment option[value='{next(iter(names))}']", state="attached")
        assert {*each(page, "#experiment option", "value")} == {*names}
        for name in names:
            page.select_option("#experiment", name)
            page.wait_for_selector(f"#run-list input[value^='{name}/']")
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


def test_runs_can_be_sorted_filtered_and_chosen(page_of, finished):
    run_id = PARTICLES.replace("fa1", "fa2")
    runs = table("explorer_runs", finished).set_index("run_id")
    runs = runs[runs.index.str.startswith(run_id.rsplit("/", 1)[0])]
    page = page_of(at(run_id))
    for order in ("ascending", "descending"):
        page.click("[data-by=norm_ratio]")
        assert page.get_attribute("th[aria-sort]", "aria-sort") == order
        ratios = runs["norm_ratio"].sort_values(ascending=order == "ascending")
        np.testing.assert_allclose(np.array(column(page, 3), float), ratios, rtol=0.006)
    counts = runs["outcome"].value_counts()  # the most frequent first
    offered = [f"{outcome} ({n})" for outcome, n in counts.items()]
    assert each(page, "#filter option") == [f"all ({len(runs)})", *offered]
    page.locator("#step-slider").fill("3")
    step = step_now(page)
    (other,) = counts.index.drop(runs["outcome"][run_id])
    page.select_option("#filter", other)
    assert column(page, 2) == [other] * counts[other]
    page.wait_for_function(READS, arg="seed " + column(page, 1)[0].split()[0])
    assert f": {other} at the end" in page.inner_text("#reading-now")
    assert step_now(page) == step
    chosen = page.locator("#run-list tr:not(:has(input:checked))").first
    wanted = chosen.locator("input").get_attribute("value")
    chosen.locator("td").nth(1).click()  # anywhere in its row
    page.click("[data-by=imperfections]")
    assert each(page, "#run-list input:checked", "value") == [wanted]
    page.evaluate("hash => { location.hash = hash; }", at(run_id))  # it is outside of the filter
    page.wait_for_selector(f"#run-list input[value='{run_id}']:checked")
    assert page.input_value("#filter") == ""
    assert page.locator("#run-list input").count() == len(runs)


def test_colours_follow_the_page(page_of):
    page = settled(page_of(at(PARTICLES, 0)))
    for panel in ("embedding", "particles", "network-embedding"):
        light = picture(page, panel)
        page.emulate_media(color_scheme="dark")
        settled(page)
        assert picture(page, panel) != light
        page.emulate_media(color_scheme="light")
        settled(page)
        assert picture(page, panel) == light


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
