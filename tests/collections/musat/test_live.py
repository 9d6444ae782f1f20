"""The explorer's live simulations in a real Chromium, from a file, without a network."""

import csv
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from conftest import config

from circlet.collections.musat.equations import constant_attention, particles
from circlet.collections.musat.tables import structures
from circlet.pages import explorer
from circlet.study import planning
from circlet.study.seeds import Seeds
from circlet.study.targets import Target
from circlet.training.optimizers import Adam

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def empty_explorer(tmp_path_factory):
    """Explorer of a study without results: the live simulations need no run."""
    study = planning.plan(config(tmp_path_factory.mktemp("empty")))
    study = replace(study, left_out=explorer.OPTIONAL_TABLES)
    path = study.results / "explorer.html"
    module = "circlet.pages.explorer"
    explorer.make(Target("pages", "explorer", module, study, (), [], [path], code=""))
    return path


@pytest.fixture
def page(visit, empty_explorer):
    opened = visit(empty_explorer)
    opened.wait_for_function("document.documentElement.dataset.ready")
    return opened


def file_of(page, panel, kind):
    """Return the file that a button of a panel saves, wherever the mouse is."""
    with page.expect_download() as download:
        page.evaluate(f"document.querySelector('#{panel} [data-save={kind}]').click()")
    return download


def saved(page, panel="particles"):
    """Return the coordinates that the page saves, (p, 2), and the name of the file."""
    download = file_of(page, panel, "csv")
    path = Path(download.value.path())
    _, *rows = csv.reader(path.read_text().splitlines())
    assert [int(row[0]) for row in rows] == list(range(len(rows)))
    return np.array(rows, dtype=float)[:, 1:], download.value.suggested_filename


def fill(page, of="particles", **values):
    for name, value in values.items():
        page.fill(f"#{of}-{name}", str(value))
        page.dispatch_event(f"#{of}-{name}", "change")


@pytest.mark.parametrize(
    "changes", [{}, {"p": 12, "f_a": 2, "g_r": 1.3}, {"p": 5, "g_a": 0.5, "step_size": 0.004}]
)
def test_live_particles_are_those_of_python(page, changes):
    fill(page, seed=7, **changes)
    start, name = saved(page)
    assert name == "particles_step_0.csv"
    for _ in range(100):
        page.click("#particles-step")
    found, name = saved(page)
    assert name == "particles_step_100.csv"
    shown = {"f_a": float(page.input_value("#particles-f_a"))}  # the page's initial values
    settings = {"system": "particles", "dtype": "float64", "parameters": shown | changes}
    parameters = planning.plan(config(**settings)).points[0].parameters
    couplings = particles.data(parameters, [], torch.float64, torch.device("cpu"))
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
    page.click("#particles-step")
    positions, _ = saved(page)
    norms = np.linalg.norm(positions, axis=1)
    assert page.inner_text("#particles-ratio") == f"{norms.max() / norms.min():.2f}, no circle"
    expected = structures.count_imperfections(positions)
    assert page.inner_text("#particles-imperfections") == f"{expected} of 153"


def test_sixty_steps_a_second(page):
    """Time is measured by the page's clock."""
    steps = page.locator("#particles-steps")
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    page.click("#particles-run")
    assert page.inner_text("#particles-run") == "Pause"
    page.clock.run_for(1000)
    assert 55 < int(steps.inner_text()) < 65
    page.click("#particles-run")
    stopped = steps.inner_text()
    page.clock.run_for(200)
    assert steps.inner_text() == stopped


def test_a_particle_can_be_dragged_by_mouse_and_keys(page):
    before, _ = saved(page)
    page.evaluate("document.getElementById('particles-picture').scrollIntoView()")
    plot = page.locator(
        "#particles-picture rect"
    ).bounding_box()  # its frame, which reaches 2.5 deviations
    unit = plot["width"] / (2 * 2.5 * 0.5)
    centre = np.array([plot["x"] + plot["width"] / 2, plot["y"] + plot["height"] / 2])
    page.mouse.move(*(centre + before[3] * unit * [1, -1]))
    page.mouse.down()
    page.mouse.move(*(centre + np.array([0.9, 0.4]) * unit * [1, -1]))
    moved, _ = saved(page)
    np.testing.assert_allclose(moved[3], [0.9, 0.4], atol=0.01)
    page.mouse.up()
    page.mouse.move(*centre)  # released: it stays where it is
    stays, _ = saved(page)
    np.testing.assert_array_equal(stays, moved)
    page.locator("#particles-picture").focus()
    page.keyboard.press("n")
    page.keyboard.press("ArrowUp")
    after, _ = saved(page)
    np.testing.assert_allclose(after[4] - before[4], [0, 0.025], atol=1e-9)
    for key, way in (
        ("ArrowLeft", [-0.025, 0]),
        ("ArrowRight", [0.025, 0]),
        ("ArrowDown", [0, -0.025]),
    ):
        page.keyboard.press(key)
        now, _ = saved(page)
        np.testing.assert_allclose(now[4] - after[4], way, atol=1e-9)
        after = now
    page.keyboard.press("Shift+N")
    page.keyboard.press("ArrowUp")
    now, _ = saved(page)
    np.testing.assert_allclose(now[3] - moved[3], [0, 0.025], atol=1e-9)
    rest = [a for a in range(17) if a not in (3, 4)]
    np.testing.assert_allclose(after[rest], before[rest])
    page.locator("#particles-picture").focus()
    page.keyboard.press(" ")
    assert page.inner_text("#particles-run") == "Pause"
    page.keyboard.press(" ")


def test_a_dragged_particle_stays_under_the_pointer_while_others_move(page):
    page.click("#particles-run")
    place = page.locator("#particles-picture rect").bounding_box()
    page.mouse.move(place["x"] + 0.9 * place["width"], place["y"] + 0.1 * place["height"])
    page.mouse.down()
    page.wait_for_function("Number(document.getElementById('particles-steps').textContent) > 5")
    page.evaluate("document.getElementById('particles-run').click()")
    positions, _ = saved(page)
    assert np.abs(positions - [0.8 * 1.25, 0.8 * 1.25]).max(1).min() < 0.02
    page.mouse.up()


def test_step_pauses(page):
    page.click("#particles-run")
    assert page.get_attribute("#particles-run", "aria-pressed") == "true"
    page.click("#particles-step")
    assert page.inner_text("#particles-run") == "Start"
    assert page.get_attribute("#particles-run", "aria-pressed") == "false"


def train(page, least, **settings):
    """Train the live network for at least so many steps, and pause."""
    fill(page, "network", **settings)
    page.select_option("#network-frame", "10")
    page.click("#network-run")
    page.wait_for_function(
        "least => Number(document.getElementById('network-steps').textContent) >= least", arg=least
    )
    page.click("#network-run")


def test_what_diverges_says_so(page):
    train(page, 150, learning_rate=1, weight_decay=10)
    assert page.inner_text("#network-ratio") == "diverged"
    assert page.inner_text("#network-imperfections") == "–"
    assert page.inner_text("#network-test").startswith("loss not finite")


def drawn(page):
    return page.inner_html("#particles-picture")


@pytest.mark.parametrize("name", ["means", "imperfect", "arrows"])
def test_what_is_shown_can_be_chosen(page, name):
    before = drawn(page)
    page.click(f"#particles-{name}")
    assert drawn(page) != before
    page.click(f"#particles-{name}")
    assert drawn(page) == before


def test_arrows_are_the_forces(page):
    """The longest arrow is 0.3 standard deviations long."""
    positions, _ = saved(page)
    page.click("#particles-arrows")
    path = page.eval_on_selector_all(
        "#particles-picture path",
        "all => all.map(one => one.getAttribute('d')).filter(d => d.includes('L'))",
    )[-1]
    ends = [
        [[float(x) for x in place.split()] for place in line.split("L")[:2]]
        for line in path.strip("M").split("M")
    ]
    shown = np.array([np.subtract(end, start) for start, end in ends]) * [1, -1]
    own = {"f_a": float(page.input_value("#particles-f_a"))}
    parameters = planning.plan(config(system="particles", parameters=own)).points[0].parameters
    couplings = particles.data(parameters, [], torch.float64, torch.device("cpu"))
    forces = particles.forces(torch.as_tensor(positions)[None], couplings)[0].numpy()
    edge = 2.5 * 0.5
    longest = np.linalg.norm(forces, axis=1).max()
    expected = 0.3 * 0.5 * forces / longest * 310 / (2 * edge)
    np.testing.assert_allclose(shown, expected, atol=0.11)  # places have a tenth of a pixel


@pytest.mark.parametrize("panel", ["particles", "network-embedding", "network-sums"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_are_given_away_as_on_white_paper(visit, empty_explorer, panel, scheme):
    page = visit(empty_explorer, scheme=scheme)
    page.wait_for_function("document.documentElement.dataset.ready")
    ink = page.locator(f"#{panel}-picture text").first
    before = ink.get_attribute("fill")
    assert before == {"light": "#1a1a1a", "dark": "#f0f0f0"}[scheme]
    svg = Path(file_of(page, panel, "svg").value.path()).read_text()
    ElementTree.fromstring(svg)
    assert 'fill="#ffffff"' in svg and 'fill="#1a1a1a"' in svg
    assert "#f0f0f0" not in svg
    assert Path(file_of(page, panel, "png").value.path()).read_bytes()[:4] == b"\x89PNG"
    assert ink.get_attribute("fill") == before


def test_bad_numbers_are_left_out(page):
    page.click("#particles-step")
    before, _ = saved(page)
    for value in ("", "2", "400", "3.5"):
        fill(page, p=value)
        positions, _ = saved(page)
        np.testing.assert_array_equal(positions, before)  # not restarted
        assert page.inner_text("#particles-wrong").startswith("p, number of particles: ")
    fill(page, p=17)
    assert page.inner_text("#particles-wrong") == ""
    page.click("#particles-step")
    page.click("#particles-step")
    usual, _ = saved(page)
    page.click("#particles-restart")
    fill(page, step_size="-1")
    assert page.inner_text("#particles-wrong").startswith("step size: ")
    page.click("#particles-step")
    page.click("#particles-step")
    stepped, _ = saved(page)
    np.testing.assert_array_equal(stepped, usual)  # with the previous step size


def test_more_steps_a_frame(page):
    page.select_option("#particles-frame", "4")
    page.click("#particles-run")
    page.wait_for_function("Number(document.getElementById('particles-steps').textContent) >= 8")
    page.click("#particles-run")
    assert int(page.inner_text("#particles-steps")) % 4 == 0
    page.click("#particles-restart")
    assert page.inner_text("#particles-steps") == "0"


# Return a network's initial weights on the page, and its weights after some steps.
TRAIN = """async ([settings, steps]) => {
  const network = await import("circlet/musat/network");
  const sizes = { p: 17, d: 2, hidden: 32 };
  const weights = network.initial(sizes, 5);
  const trained = network.split(17, 0.8, 5);
  const training = network.begin(sizes, weights, trained);
  const copy = () => Object.fromEntries(network.NAMES.map((name) => [name, [...weights[name]]]));
  const start = copy();
  let measured;
  for (let i = 0; i < steps; i++) measured = network.step(training, settings);
  const points = [0.5, -1, 2, 2, -3, 0.1];
  const classes = [...network.classesAt(weights, 2, points)];
  return { start, end: copy(), trained, measured, points, classes };
}"""


@pytest.mark.parametrize("weight_decay", [0, 1])
def test_the_live_network_is_that_of_python(page, weight_decay):
    settings = {"learning_rate": 0.01, "weight_decay": weight_decay}
    found = page.evaluate(TRAIN, [settings, 100])
    parameters = planning.plan(config()).points[0].parameters
    shapes = {
        k: v.shape for k, v in constant_attention.initial(parameters, Seeds(0, 0, 0, 0)).items()
    }
    weights = {
        name: torch.tensor(found["start"][name], dtype=torch.float64).reshape(1, *shape)
        for name, shape in shapes.items()
    }
    chosen = np.array(found["trained"])
    assert chosen.sum() == int(0.8 * 153)
    pairs = constant_attention.pairs(17)
    counts = torch.nn.functional.one_hot(torch.as_tensor(pairs), 17).sum(1).double()
    own = {
        part: constant_attention.Pairs(
            counts[mask].T[None].contiguous(), torch.as_tensor(pairs[mask].sum(1) % 17)[None, None]
        )
        for part, mask in (("train", chosen), ("test", ~chosen))
    }
    data = constant_attention.Data(**own)
    gradients = {name: torch.empty_like(array) for name, array in weights.items()}
    optimisers = {
        name: Adam({(1, 1): array}, 0.01, weight_decay) for name, array in weights.items()
    }
    for _ in range(100):
        measured = constant_attention.metrics(weights, data)
        constant_attention.gradients(weights, data, gradients)
        for name, optimiser in optimisers.items():
            optimiser.step({(1, 1): gradients[name]})
    for name, array in weights.items():
        end = np.reshape(found["end"][name], array.shape)
        np.testing.assert_allclose(end, array, atol=1e-6, err_msg=name)
        assert np.abs(end - np.reshape(found["start"][name], array.shape)).max() > 0.05
    for name, values in measured.items():  # before the last step, as on the page
        np.testing.assert_allclose(found["measured"][name], values[0], atol=1e-6)
    points = torch.tensor(found["points"], dtype=torch.float64).reshape(1, -1, 2).mT
    expected = constant_attention.logits(weights, points)[0].argmax(0)
    assert found["classes"] == expected.tolist()


def test_the_live_network_learns(page):
    fill(page, "network", weight_decay=1, seed=3)
    start, name = saved(page, "network-embedding")
    assert name == "network-embedding_step_0.csv"
    page.click("#network-step")
    assert page.inner_text("#network-steps") == "1"
    page.select_option("#network-frame", "10")
    page.click("#network-run")
    page.wait_for_function("Number(document.getElementById('network-steps').textContent) > 400")
    page.click("#network-run")
    loss, accuracy = page.inner_text("#network-train").split(" nat, ")
    assert float(loss) < 2
    assert int(accuracy.split(" ")[0]) > 40
    end, _ = saved(page, "network-embedding")
    assert np.abs(end - start).max() > 0.5
    norms = np.linalg.norm(end, axis=1)
    assert page.inner_text("#network-ratio").startswith(f"{norms.max() / norms.min():.2f}, ")
    assert (
        page.inner_text("#network-imperfections") == f"{structures.count_imperfections(end)} of 153"
    )
    page.click("#network-restart")
    again, _ = saved(page, "network-embedding")
    np.testing.assert_array_equal(again, start)
    fill(page, "network", seed=4)
    other, _ = saved(page, "network-embedding")
    assert np.abs(other - start).max() > 0.1


ANSWERS = """async (p) => {
  const network = await import("circlet/musat/network");
  const weights = network.initial({ p, d: 2, hidden: 32 }, 3);
  const { given, probability } = network.answersTo(weights, p);
  return { weights: network.NAMES.map((name) => [...weights[name]]), given: [...given],
           probability: [...probability] };
}"""


def test_answers_are_those_of_python(page):
    p = 11
    found = page.evaluate(ANSWERS, p)
    shapes = {"embedding": (p, 2), "hidden.weight": (32, 2), "hidden.bias": (32, 1)}
    shapes |= {"output.weight": (p, 32), "output.bias": (p, 1)}
    weights = {
        name: torch.tensor(values, dtype=torch.float64).reshape(shape)
        for (name, shape), values in zip(shapes.items(), found["weights"], strict=True)
    }
    embedding = weights["embedding"]
    left, right = embedding[:, None].expand(p, p, 2), embedding[None].expand(p, p, 2)
    _, logits = constant_attention.forward(weights, {}, left, right)
    probabilities, best = logits.softmax(-1).max(-1)
    assert found["given"] == best.ravel().tolist()
    np.testing.assert_allclose(found["probability"], probabilities.ravel(), rtol=1e-9)


def answers(page, name):
    """Return the table of answers that the page saves."""
    download = file_of(page, f"{name}-answers", "csv")
    return list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))


def test_the_live_table_has_the_accuracies(page):
    train(page, 201, weight_decay=1, seed=3)
    rows = [row for row in answers(page, "network") if int(row["a"]) <= int(row["b"])]
    assert len(rows) == 153
    for part in ("train", "test"):
        own = [row["answer"] == row["class"] for row in rows if row["set"] == part]
        assert len(own) == {"train": 122, "test": 31}[part]
        share = page.inner_text(f"#network-{part}").split(", ")[1]
        assert share == f"{100 * np.mean(own):.0f} % right"
    page.fill("#network-answers [name=a]", "1")  # this is no setting of the training
    page.fill("#network-answers [name=b]", "16")
    assert int(page.inner_text("#network-steps")) > 200
    assert "1 + 16 = 17, and 17 mod 17 = 0." in page.inner_text("#network-answers .ask")
    ringed = "document.querySelector('#network-embedding-picture svg > path').getAttribute('d')"
    assert page.evaluate(ringed).count("M") == 2


def ends_of(page, steps):
    """Return the embeddings of both live networks after some steps."""
    for _ in range(steps):
        page.click("#network-step")
    return [saved(page, f"{name}-embedding")[0] for name in ("network", "other")]


def test_a_second_network_differs_in_one_knob(page):
    fill(page, "network", weight_decay=0.5, seed=2)
    page.click("#network-step")
    assert page.is_hidden("#other-embedding")
    page.select_option("#network-knob", "weight_decay")
    assert page.is_visible("#other-embedding-picture") and page.is_visible("#other-test")
    assert page.inner_text("#network-steps") == "0"  # both restart
    fill(page, "network", other=0.5)
    one, same = ends_of(page, 10)
    np.testing.assert_array_equal(one, same)
    fill(page, "network", other=3)
    again, other = ends_of(page, 10)
    np.testing.assert_array_equal(again, one)
    assert np.abs(other - one).max() > 0.05
    page.select_option("#network-knob", "seed")
    fill(page, "network", other=4)
    _, other = ends_of(page, 10)
    page.select_option("#network-knob", "")
    assert page.is_hidden("#other-embedding")
    fill(page, "network", seed=4)
    for _ in range(10):
        page.click("#network-step")
    alone, _ = saved(page, "network-embedding")
    np.testing.assert_array_equal(alone, other)
