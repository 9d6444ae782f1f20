"""The explorer of a finished study in a real Chromium, from a file, without a network."""

import csv
import io as text
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import serious
from test_workflow import STUDY

from circlet.analysis import spectrum
from circlet.collections.musat.equations import constant_attention
from circlet.collections.musat.tables import structures
from circlet.collections.odonnat.equations import sparse_transformer
from circlet.storage import parquet
from circlet.sweeps import explorer_budget

pytestmark = pytest.mark.browser

NETWORK = "decay_scan/p17_d2_wd1/s00003"
PARTICLES = "alignment/p17_d2_fa1_dtype=float64/s00000"
CIRCLES = "trajectory/p13_d24_hidden=16_wd0.5/s00001"
TRANSFORMER = (
    "heads/p2_d2_length=4_k=2_n_train=64_n_test=32_batch_size=16_learning_rate=0.02/s00002"
)
PANELS = {
    NETWORK: ["embedding", "sums", "signals", "losses"],
    PARTICLES: ["embedding", "sums", "signals"],
    CIRCLES: ["embedding", "sums", "signals", "losses", "ode"],
    TRANSFORMER: ["embedding", "sequences", "attention", "losses"],
}


@pytest.fixture
def logged(finished, monkeypatch):
    """The rows of a run in a log, as a frame."""
    monkeypatch.chdir(finished.folder)

    def logged(run_id, kind):
        block, seed = block_of(run_id)
        frame = parquet.read_log(block, kind)
        return frame[frame["seed"] == seed]

    return logged


def block_of(run_id):
    for block in STUDY.blocks:
        for seed in block.seeds:
            if block.point.run_id(seed) == run_id:
                return block, seed
    raise AssertionError(run_id)


def table(name, finished):
    return pd.read_parquet(finished.folder / f"results/smoke/tables/{name}.parquet")


def embedding_at(logged, run_id, step):
    rows = logged(run_id, "embeddings").query("step == @step").sort_values("token")
    return np.stack(rows["vector"]).astype(float)


def weights_at(finished, monkeypatch, run_id, step):
    monkeypatch.chdir(finished.folder)
    block, seed = block_of(run_id)
    logged = parquet.read_weights(block, [step])
    return {name: array[0, seed - block.first] for name, array in logged.items()}


def at(run_id, step=None, **others):
    """Fragment of an address."""
    parts = {"run": run_id, **({} if step is None else {"step": step}), **others}
    return "#" + "&".join(f"{name}={value}" for name, value in parts.items())


def download(page, panel, kind):
    with page.expect_download() as found:
        page.click(f"#{panel} [data-save={kind}]")
    return Path(found.value.path()).read_bytes(), found.value.suggested_filename


def numbers(page, panel):
    """The data of a panel: names of its columns, and its rows."""
    content, _ = download(page, panel, "csv")
    columns, *rows = csv.reader(text.StringIO(content.decode()))
    return columns, rows


def picture(page, panel):
    """What a panel shows, background and all."""
    return page.evaluate(
        """id => [...document.querySelectorAll(`#${id}-picture svg`)].map(e => e.outerHTML).join("")
        + (document.querySelector(`#${id}-picture canvas`)?.toDataURL() ?? "")""",
        panel,
    )


def settled(page):
    """Wait until regions are drawn finely, charts are there, and the address says what is seen."""
    page.evaluate("new Promise(next => requestAnimationFrame(() => requestAnimationFrame(next)))")
    page.wait_for_selector("#explore[data-rests]")


def step_now(page):
    return int(page.inner_text("#step-now").split()[1].rstrip(","))


# Choosing a run.


def choices(page, name):
    return page.eval_on_selector_all(f"#{name} option", "all => all.map(one => one.textContent)")


def test_it_opens_with_a_training_and_lists_what_the_study_has(page_of, finished):
    page = page_of()
    systems = [name.split(" ")[0] for name in choices(page, "system")]
    assert systems == ["constant_attention", "particles", "embedding_mlp", "sparse_transformer"]
    assert page.is_enabled("#play")
    runs = table("explorer_runs", finished)
    note = page.inner_text(".notes")
    shown = runs["shown"].value_counts()
    assert f"This page lists {len(runs)} of {len(runs)} runs" in note
    assert f"of {shown['training']} the training, in at most 101 steps of each log" in note
    assert (finished.folder / "results/smoke/explorer.html").stat().st_size < 20e6


# A point is unpacked when it is chosen.
CHOSEN = """([which, name]) => {
  const run = document.querySelector("#run-list input")?.value ?? "";
  const system = document.getElementById("system").value;
  const ready = document.querySelector("#experiment").value === run.split("/")[0];
  return ready && name === [system, run.split("/")[0]][which];
}"""


def test_every_point_and_its_runs_can_be_chosen(page_of, finished):
    page = page_of()
    listed = table("explorer_runs", finished)
    for system in choices(page, "system"):
        page.select_option("#system", label=system)
        page.wait_for_function(CHOSEN, arg=[0, system.split(" ")[0]])
        for name in choices(page, "experiment"):
            page.select_option("#experiment", label=name)
            page.wait_for_function(CHOSEN, arg=[1, name])
            points = STUDY.experiment(name)
            for point, words in zip(points, choices(page, "point"), strict=True):
                runs = [point.run_id(seed) for seed in point.every_seed]
                counts = listed[listed["run_id"].isin(runs)]["outcome"].value_counts()
                shown, outcomes = words.split(": ")
                assert shown == point.name
                assert set(outcomes.split("; ")) == {f"{n} × {name}" for name, n in counts.items()}
                page.select_option("#point", label=words)
                found = f"#run-list input[value='{point.run_id(point.every_seed[0])}']"
                page.wait_for_selector(found)
                assert page.locator("#run-list input").count() == point.count
                for seed in (point.every_seed[-1], point.every_seed[0]):
                    page.check(f"#run-list input[value='{point.run_id(seed)}']")
                    assert page.inner_text("#reading-now").startswith(f"seed {seed}: ")


def column(page, n):
    return page.eval_on_selector_all(
        f"#run-list tr td:nth-child({n})", "all => all.map(one => one.textContent)"
    )


def test_runs_can_be_sorted_and_filtered(page_of, finished):
    page = page_of(at(NETWORK))
    runs = table("explorer_runs", finished)
    runs = runs[runs["run_id"].str.startswith("decay_scan/p17_d2_wd1/")]
    page.click("[data-by=norm_ratio]")
    found = [float(value) for value in column(page, 4)]
    assert found == sorted(found)
    np.testing.assert_allclose(found, sorted(runs["norm_ratio"]), rtol=0.006)
    page.click("[data-by=norm_ratio]")
    assert [float(value) for value in column(page, 4)] == found[::-1]
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
    place = page.eval_on_selector_all("#run-head button", "all => all.map(b => b.dataset.by)")
    found = column(page, place.index("structure_epoch") + 1)
    assert found == sorted(found, key=lambda text: (text == "–", float(text.strip("–") or 0)))
    assert "–" in found  # what is not known comes last
    counts = [int(words.rsplit("(", 1)[1][:-1]) for words in choices(page, "filter")[1:]]
    assert counts == sorted(counts, reverse=True)
    assert "not done" not in page.inner_text("#run-note")


def test_a_filter_is_kept_where_it_can_be(page_of, finished):
    page = page_of(at(TRANSFORMER))
    outcome = column(page, 2)[0]
    page.select_option("#filter", outcome)
    page.select_option("#system", "particles")  # whose runs have other outcomes
    settled(page)
    assert page.input_value("#filter") == ""
    assert page.locator("#run-list input").count() > 1
    page.evaluate("hash => { location.hash = hash; }", at(TRANSFORMER))
    page.wait_for_selector(f"#run-list input[value='{TRANSFORMER}']:checked")
    assert page.input_value("#filter") == ""


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


def test_keys_in_fields_are_for_the_fields(page_of):
    page = page_of(at(NETWORK, 0))
    page.locator("#particles-step_size").focus()
    page.keyboard.press(".")
    page.keyboard.press("k")
    assert (step_now(page), page.inner_text("#play")) == (0, "Play")


def test_colours_follow_the_page(page_of):
    page = page_of(at(NETWORK, 0))
    settled(page)
    for panel in ("embedding", "particles", "network-embedding"):
        light = picture(page, panel)
        page.emulate_media(color_scheme="dark")
        settled(page)
        assert picture(page, panel) != light
        page.emulate_media(color_scheme="light")
        settled(page)
        assert picture(page, panel) == light


def test_the_last_of_two_choices_counts(page_of):
    page = page_of(at(NETWORK))
    page.evaluate(
        """() => {
          const select = document.getElementById("system");
          for (const name of ["embedding_mlp", "sparse_transformer"]) {
            select.value = name;
            select.dispatchEvent(new Event("change"));
          }
        }"""
    )
    settled(page)
    run = page.input_value("#run-list input:checked")
    assert STUDY.experiment(run.split("/")[0])[0].system == "sparse_transformer"


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


def test_survivors_and_heads_can_be_filtered(page_of, finished):
    runs = table("explorer_runs", finished)
    for name in ("decay_circles", "heads"):
        own = runs[runs["experiment"] == name]
        page = page_of(at(own["run_id"].iloc[0]))
        for outcome, count in own["outcome"].value_counts().items():
            page.select_option("#filter", outcome)
            assert page.locator("#run-list input").count() == count
    survival = table("survival", finished).query("experiment == 'decay_circles' and survived")
    counts = survival.groupby("run_id").size()
    for run_id, outcome in runs[runs["experiment"] == "decay_circles"][
        ["run_id", "outcome"]
    ].values:
        n = counts.get(run_id, 0)
        assert outcome == f"{n} survivor{'' if n == 1 else 's'}"


# Training.


@pytest.mark.parametrize("run_id", [NETWORK, PARTICLES, CIRCLES, TRANSFORMER])
def test_training_can_be_scrubbed_stepped_and_played(page_of, run_id):
    page = page_of(at(run_id))
    settled(page)
    last, end = step_now(page), picture(page, "embedding")
    assert last == block_of(run_id)[0].point.steps
    page.locator("#step-slider").fill("0")
    settled(page)
    assert step_now(page) == 0
    for panel in PANELS[run_id]:
        assert page.is_visible(f"#{panel}-picture"), panel
    assert picture(page, "embedding") != end
    page.click("#forward")
    second = step_now(page)
    assert 0 < second < last
    page.keyboard.press(".")
    assert step_now(page) > second
    page.keyboard.press(",")
    assert step_now(page) == second
    page.click("#back")
    assert step_now(page) == 0
    page.locator("#step-slider").press("ArrowRight")
    assert step_now(page) == second
    page.select_option("#speed", "60")
    page.click("#play")
    assert page.inner_text("#play") == "Pause"
    page.wait_for_function("document.getElementById('play').textContent === 'Play'")
    assert step_now(page) == last
    settled(page)
    assert picture(page, "embedding") == end
    page.select_option("#speed", "5")
    page.locator("#numbers").click()  # where keys work, too
    page.keyboard.press("k")  # from the beginning
    page.wait_for_function("Number(document.getElementById('step-slider').value) > 0")
    assert page.inner_text("#play") == "Pause"
    page.keyboard.press("k")
    assert page.inner_text("#play") == "Play"
    assert 0 < step_now(page) < last


SCRUB = """async () => {
  const slider = document.getElementById("step-slider");
  const frame = () => new Promise(requestAnimationFrame);
  const last = Number(slider.max);
  slider.value = 0;
  await frame();
  const begun = performance.now();
  for (let i = 1; i <= 100; i++) {
    slider.value = Math.round(i * last / 100);
    slider.dispatchEvent(new Event("input"));
    await frame();
  }
  return 100 / ((performance.now() - begun) / 1000);
}"""


@pytest.mark.alone
@pytest.mark.parametrize("run_id", [NETWORK, PARTICLES, CIRCLES, TRANSFORMER])
def test_scrubbing_stays_above_30_frames_a_second(page_of, run_id):
    page = page_of(at(run_id))
    settled(page)
    rates = [page.evaluate(SCRUB) for _ in range(3)]
    print(f"{run_id}: {', '.join(f'{rate:.0f}' for rate in rates)} frames a second")
    assert max(rates) > 30  # of three, as others use this machine, too


# Starts with some clicks at once, and pauses after a second; frames it went, by that second.
PLAY = """async (clicks) => {
  const play = document.getElementById("play");
  const begun = performance.now();
  for (let i = 0; i < clicks; i++) play.click();
  await new Promise(ready => setTimeout(ready, 1000));
  play.click();
  const seconds = (performance.now() - begun) / 1000;
  return Number(document.getElementById("step-slider").value) / seconds;
}"""


@pytest.mark.alone
def test_speeds_differ(page_of):
    page = page_of(at(NETWORK))
    rates = []
    for speed in ("5", "60"):
        page.locator("#step-slider").fill("0")
        page.select_option("#speed", speed)
        rates.append(page.evaluate(PLAY, 1))
    assert 2 <= rates[0] <= 7
    assert rates[1] > 3 * rates[0]


@pytest.mark.alone
def test_clicks_at_once_do_not_add_up(page_of):
    """Three clicks in one task start it once."""
    page = page_of(at(NETWORK, 0))
    page.select_option("#speed", "15")
    assert 8 <= page.evaluate(PLAY, 3) <= 22
    settled(page)
    assert f"step={step_now(page)}" in page.url  # of where it was paused


def test_another_system_can_be_chosen_while_it_plays(page_of):
    page = page_of(at(NETWORK, 0))
    for system in ("sparse_transformer", "particles", "embedding_mlp", "constant_attention"):
        page.click("#play")
        page.evaluate(
            """system => {
              const select = document.getElementById("system");
              select.value = system;
              select.dispatchEvent(new Event("change"));
              document.getElementById("back").click();
            }""",
            system,
        )
        settled(page)
        run = page.input_value("#run-list input:checked")
        assert STUDY.experiment(run.split("/")[0])[0].system == system
        assert page.inner_text("#play") == "Play"
        assert page.input_value("#system") == system


def test_a_chosen_plane_does_not_stick_to_other_spaces(page_of):
    page = page_of(at(CIRCLES, dimensions="6,8"))
    assert (page.input_value("#x"), page.input_value("#y")) == ("5", "7")
    page.select_option("#system", "constant_attention")
    settled(page)
    assert (page.input_value("#x"), page.input_value("#y")) == ("0", "1")


@pytest.mark.parametrize("part", ["live-particles", "live-network"])
def test_links_within_the_page_keep_the_run(page_of, part):
    page = page_of(at(PARTICLES, 20))
    page.click(f"a[href='#{part}']")
    settled(page)
    assert page.locator(f"#run-list input[value='{PARTICLES}']").is_checked()
    assert abs(page.locator(f"#{part}").bounding_box()["y"]) < 300


def test_a_click_on_a_curve_goes_to_its_step(page_of):
    page = page_of(at(CIRCLES, 0))
    settled(page)
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
    assert abs(step_now(page) - 60) <= 10
    assert abs(line.bounding_box()["x"] - (box["x"] + box["width"] * step_now(page) / 80)) < 3


# What the panels show is what the logs have.


@pytest.mark.parametrize("run_id", [NETWORK, PARTICLES, CIRCLES])
def test_embeddings_sums_and_signals_are_those_of_the_logs(page_of, logged, run_id):
    step = 40
    page = page_of(at(run_id, step, dimensions="2,1"))
    expected = embedding_at(logged, run_id, step)
    precise = {"atol": 2e-4 * np.abs(expected).max()}
    columns, rows = numbers(page, "embedding")
    assert columns == ["token", *(f"dimension_{i + 1}" for i in range(expected.shape[1]))]
    np.testing.assert_allclose(np.array(rows, float)[:, 1:], expected, **precise)
    p = len(expected)
    columns, rows = numbers(page, "sums")
    assert columns == ["a", "b", "class", "x", "y"]
    assert len(rows) == p * (p + 1) // 2
    a, b, c = np.array(rows, float)[:, :3].astype(int).T
    np.testing.assert_array_equal(c, (a + b) % p)
    sums = (expected[a] + expected[b])[:, [1, 0]]
    np.testing.assert_allclose(np.array(rows, float)[:, 3:], sums, **precise)
    signals = logged(run_id, "signals").pivot(index="step", columns="frequency", values="signal")
    columns, rows = numbers(page, "signals")
    shown = np.array(rows, float)
    assert columns == ["step", *(f"signal_{k}" for k in signals)]
    assert shown[:, 0].tolist() == explorer_budget.evenly(signals.index.tolist(), 101)
    wanted = signals.loc[shown[:, 0]].to_numpy()
    np.testing.assert_allclose(shown[:, 1:], wanted, atol=1e-4 * wanted.max())


@pytest.mark.parametrize("run_id", [NETWORK, CIRCLES, TRANSFORMER])
def test_curves_are_those_of_the_log(page_of, logged, run_id):
    columns, rows = numbers(page_of(at(run_id)), "losses")  # with six digits
    frame = logged(run_id, "curves").set_index("step")
    shown = np.array(rows, float)
    assert columns == ["step", *explorer_budget.MEASURED]
    assert shown[-1, 0] == block_of(run_id)[0].point.steps
    np.testing.assert_allclose(
        shown[:, 1:], frame.loc[shown[:, 0], list(explorer_budget.MEASURED)], rtol=5e-6
    )


def test_planes_of_frequencies_are_those_of_python(page_of, logged):
    embedding = embedding_at(logged, CIRCLES, 40)
    for k in (1, 4, 6):
        page = page_of(at(CIRCLES, 40, frequency=k))
        assert page.input_value("#plane") == str(k)
        assert not page.is_visible("#x")
        _, rows = numbers(page, "sums")
        doubled = np.array([row[3:] for row in rows if row[0] == row[1]], float)
        expected = spectrum.plane(embedding, k)
        np.testing.assert_allclose(doubled / 2, expected, atol=1e-3 * np.abs(expected).max())


REGIONS = """async ([weights, d, points, module]) => {
  const { classesAt } = await import(`circlet/${module}`);
  return [...classesAt(weights, d, points)];
}"""


def test_regions_are_the_classifiers(page_of, finished, monkeypatch):
    page = page_of()
    points = np.random.default_rng(0).normal(size=(400, 2)) * 2
    for run_id, module in ((NETWORK, "network"), (TRANSFORMER, "transformer")):
        weights = weights_at(finished, monkeypatch, run_id, block_of(run_id)[0].point.steps)
        flat = {name: array.ravel().tolist() for name, array in weights.items()}
        found = page.evaluate(REGIONS, [flat, 2, points.ravel().tolist(), module])
        tensors = {name: torch.as_tensor(array)[None].double() for name, array in weights.items()}
        x = torch.as_tensor(points.T)[None]
        if module == "network":
            scores = constant_attention.logits(tensors, x)[0]
        else:
            scores = sparse_transformer.classify(tensors, x)[0]
        expected = scores.argmax(0).numpy()
        assert len(set(expected)) > 1
        assert (found == expected).mean() > 0.995  # but where two classes are equal


def test_readings_are_those_of_python(page_of, logged):
    page = page_of(at(NETWORK, 50))
    embedding = embedding_at(logged, NETWORK, 50)
    reading = page.inner_text("#reading-now")
    assert f"norm ratio {structures.norm_ratio(embedding):.2f}" in reading
    assert f"imperfections {structures.count_imperfections(embedding)} of 153" in reading
    curves = logged(NETWORK, "curves").set_index("step").loc[50]
    assert f"train loss {float(f'{curves.train_loss:.3g}'):g}" in reading


def test_sequences_and_attention_are_those_of_python(page_of, finished, monkeypatch):
    step = 240
    page = page_of(at(TRANSFORMER, step))
    _, rows = numbers(page, "sequences")
    tokens = np.array([[int(token) for token in row[0].split(" ")] for row in rows])
    assert tokens.shape[1] == 4
    assert {tuple(row[:2]) for row in tokens} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert [int(row[1]) for row in rows] == (tokens[:, :2].sum(1) % 2).tolist()
    weights = weights_at(finished, monkeypatch, TRANSFORMER, step)
    tensors = {name: torch.as_tensor(array)[None].double() for name, array in weights.items()}
    chosen = sparse_transformer.encode(tokens[None], 2, 2, torch.float64, torch.device("cpu"))
    xi = sparse_transformer.embed(tensors, chosen, 2)[0].T.numpy()
    found = np.array([row[2:] for row in rows], float)
    np.testing.assert_allclose(found, xi, atol=1e-3 * np.abs(xi).max())
    _, _, score, _ = sparse_transformer.tables(tensors, 2)
    attention = sparse_transformer.attention(score, chosen)[0].unflatten(0, (2, 4)).sum(0).T
    _, rows = numbers(page, "attention")
    np.testing.assert_allclose(np.array([row[2:] for row in rows], float), attention, atol=1e-3)


def test_coefficients_are_those_of_the_table(page_of, finished):
    page = page_of(at(CIRCLES))
    rows = table("ode_coefficients", finished).query("run_id == @CIRCLES")
    for method in ("lasso", "least_squares"):
        page.select_option("#method", method)
        columns, found = numbers(page, "ode")
        assert columns == ["on", "constant", *(f"of_{k}" for k in range(1, 7))]
        matrix = rows[rows["method"] == method].pivot(
            index="target", columns="source", values="coefficient"
        )
        np.testing.assert_allclose(np.array(found, float)[:, 1:], matrix, rtol=1e-4, atol=1e-12)


# Controls of the picture.


def test_controls_change_the_pictures(page_of):
    page = page_of(at(NETWORK, 50))
    settled(page)

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

    def dimension(name, index):  # whose labels count from 1
        return lambda: page.select_option(f"#{name}", index=index)

    assert changes("embedding", dimension("x", 1), dimension("x", 0))
    assert changes("sums", dimension("y", 0), dimension("y", 1))
    assert changes("embedding", select("plane", "3"), select("plane", "0"))
    assert changes("embedding", select("lines", "none"), select("lines", "successive"))
    assert changes("sums", lambda: page.uncheck("#numbers"), lambda: page.check("#numbers"))
    assert changes("sums", lambda: page.check("#fit"), lambda: page.uncheck("#fit"))
    assert changes("losses", lambda: page.check("#log"), lambda: page.uncheck("#log"))
    page = page_of(at(CIRCLES))
    settled(page)
    assert page.input_value("#lines") == "neighbours"
    assert changes("embedding", select("lines", "successive"), select("lines", "neighbours"))
    before = picture(page, "ode")
    page.select_option("#method", "least_squares")
    settled(page)
    assert picture(page, "ode") != before


def test_neighbours_of_a_circle_are_joined_round_it(page_of):
    page = page_of()
    module = """async () => {
      const { around, delta } = await import("circlet/geometry");
      const xy = Array.from({ length: 26 }, (_, i) => i);  // places 2 a, 2 a + 1 stand for a
      const name = (line) => line.filter((_, i) => i % 2 === 0).map((x) => x / 2);
      const rings = [around(xy, 8), around(xy.slice(0, 24), 3)];
      return [delta(5, 13), delta(2, 12), ...rings.map((ring) => ring.map(name))];
    }"""
    inverse, none, ring, rings = page.evaluate(module)
    assert inverse == 8  # 5 * 8 = 40 = 1 mod 13
    assert ring == [[8 * i % 13 for i in range(14)]]
    assert none is None
    assert rings == [[i, i + 3, i + 6, i + 9, i] for i in range(3)]


@pytest.mark.parametrize("run_id", [CIRCLES, TRANSFORMER])
def test_every_panel_can_be_saved(page_of, run_id):
    stem = run_id.replace("/", "_")
    for panel in PANELS[run_id]:
        # Chromium asks after ten files of one page.
        page = page_of(at(run_id), scheme="dark")
        settled(page)
        svg, name = download(page, panel, "svg")
        assert name.startswith(stem) and name.endswith(f"_{panel}.svg")
        assert svg.startswith(b"<svg") and svg.rstrip().endswith(b"</svg>")
        assert len(svg) > 1500
        assert b"#1a1a1a" in svg or b"rgb(26, 26, 26)" in svg  # as on white paper
        assert b"#f0f0f0" not in svg and b"rgb(240, 240, 240)" not in svg
        png, name = download(page, panel, "png")
        assert name.endswith(".png")
        assert png.startswith(b"\x89PNG")
        width, height = (int.from_bytes(png[i : i + 4]) for i in (16, 20))
        assert width > 600 and height > 600
        _, name = download(page, panel, "csv")
        assert name.endswith(".csv")


def test_saving_a_curve_keeps_what_is_enlarged(page_of):
    page = page_of(at(CIRCLES, 0), scheme="dark")
    settled(page)

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


# Links.


def test_a_link_shows_the_same_view(page_of):
    page = page_of(at(CIRCLES, 40))
    page.select_option("#plane", "2")
    page.select_option("#lines", "successive")
    page.check("#log")
    page.locator("#step-slider").press("ArrowLeft")
    settled(page)
    fragment = "#" + page.url.split("#")[1]
    assert CIRCLES in fragment
    other = page_of(fragment)
    settled(other)
    assert step_now(other) == step_now(page)
    for panel in ("embedding", "sums"):
        assert picture(other, panel) == picture(page, panel)
    assert other.is_checked("#log")
    other.evaluate("fragment => { location.hash = fragment }", at(NETWORK, 7))
    other.wait_for_selector(f"#run-list input[value='{NETWORK}']:checked")
    assert step_now(other) == 7


def test_the_browsers_back_goes_to_the_run_before(page_of):
    page = page_of(at(NETWORK, 7))
    settled(page)
    start = page.url
    other = page.locator("#run-list input:not(:checked)").first
    run_id = other.get_attribute("value")
    other.check()
    settled(page)
    page.locator("#step-slider").press("ArrowLeft")  # of the same run: no place of its own
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
        "#%",
        "#run=%22%3E%3Cb%3E",
        "#run=" + NETWORK + "&dimensions=9,-1&lines=odd&step=1e9",
    ],
)
def test_bad_links_do_no_harm(page_of, fragment):
    page = page_of(fragment)
    settled(page)
    assert page.locator("#run-list input:checked").count() == 1
    assert page.is_visible("#embedding-picture")
    unknown = "nothing" in fragment or "%22" in fragment
    assert page.is_visible("#not-here") == unknown


# For all readers.


@pytest.mark.parametrize("size, scheme", [("desktop", "light"), ("phone", "dark")])
@pytest.mark.parametrize("run_id", [NETWORK, PARTICLES, CIRCLES, TRANSFORMER])
def test_it_is_accessible_and_fits(page_of, screenshot, run_id, size, scheme):
    page = page_of(at(run_id), size=size, scheme=scheme)
    settled(page)
    system = block_of(run_id)[0].point.system
    screenshot(page, f"explorer_{system}_{size}_{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not (found := serious(page)), json.dumps(found, indent=1)
