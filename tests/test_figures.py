import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
from conftest import ROOT, circle, config, grid
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from circlet.collections.musat import galleries, structure_panels
from circlet.collections.musat.figures import (
    imperfections_accuracy,
    projection_gallery,
    published_tables,
)
from circlet.plotting import make, panels, style
from circlet.storage import parquet
from circlet.study import planning
from circlet.study.plots import NOTHING


def test_a_classifier_is_drawn_the_right_way_up():
    """Class 2 is above, 1 below to the right, 0 below to the left; only train sums are dots."""
    axis = np.linspace(-1, 1, 4)
    x, y = (side.ravel() for side in np.meshgrid(axis, axis))
    shown = pd.DataFrame({"x": x, "y": y, "predicted": np.where(y > 0, 2, (x > 0).astype(int))})
    sums = pd.DataFrame(
        {
            "a": 0,
            "b": 0,
            "x": [0.5, -0.5],
            "y": [0.7, 0.2],
            "target": [2, 1],
            "train": [True, False],
        }
    )
    axes = Figure().subplots()
    structure_panels.classifier(axes, shown.sample(frac=1, random_state=0), sums)
    (image,), (dots,) = axes.images, axes.collections
    assert image.origin == "lower"
    assert image.get_array().tolist() == [[0, 0, 1, 1]] * 2 + [[2] * 4] * 2
    assert dots.get_offsets().tolist() == [[0.5, 0.7]]
    assert dots.get_array().tolist() == [2]


def test_numbers_stand_at_their_vectors_in_their_colours():
    axes = Figure().subplots()
    vectors = circle(17, 3)
    panels.embedding(axes, vectors)
    assert [text.get_text() for text in axes.texts] == [str(n) for n in range(17)]
    np.testing.assert_array_equal([text.get_position() for text in axes.texts], vectors)
    assert [text.get_color() for text in axes.texts] == style.classes(17, lightness=0.36)
    assert panels.best_step(vectors) == 6  # 3 * 6 = 1 mod 17: neighbours on the circle
    assert panels.best_step(grid(17, 4)) in (1, 4)


def test_labels_say_circle_or_imperfections():
    row = pd.Series({"is_circle": True, "imperfections": 80, "test_accuracy": 0.62})
    assert structure_panels.label(row) == "circle, 62 %"
    row = pd.Series({"is_circle": False, "imperfections": 80, "test_accuracy": math.nan})
    assert structure_panels.label(row) == "80 imp."


def test_galleries_show_the_papers_seeds():
    runs = pd.DataFrame({"seed": range(40), "run_id": range(40)})
    assert galleries.embeddings(runs) == list(range(10, 30))
    assert galleries.embeddings(runs[:25]) == list(range(5, 25))
    runs["weight_decay"] = [1.0, 0.6] * 20  # the one nearest to the paper's is shown
    assert galleries.classifiers(runs) == list(range(1, 29, 2))
    assert galleries.classifiers(runs[runs["weight_decay"] == 1.0])[:2] == [0, 2]


def drawn(monkeypatch, module, tables, **changes):
    """Draw a figure of a study whose tables hold these frames."""
    study = planning.plan(config(**changes) | {"reproduce": dict.fromkeys(module.ROLES, "e")})
    monkeypatch.setattr(parquet, "read_table", lambda _, name, *__, **___: tables[name].copy())
    return module.draw(study)


def test_a_figure_without_data_says_so(monkeypatch, tmp_path):
    def draw(study):
        panels.require([], "no heads")

    monkeypatch.setattr(make, "load", lambda module: SimpleNamespace(draw=draw))
    path = tmp_path / "heads.svg"
    make.make(SimpleNamespace(module="heads", study=None, outputs=[path]))
    assert "no heads" in path.read_text()
    assert NOTHING in path.read_text()


def test_accuracies_are_drawn_at_their_weight_decay(monkeypatch):
    runs = pd.DataFrame(
        {"experiment": "e", "weight_decay": [0.0, 0.0, 1.0], "is_circle": [True, False, False],
         "imperfections": [80, 20, 30], "test_accuracy": [0.9, 0.4, 0.7]}
    )  # fmt: skip
    rows = pd.DataFrame(
        {
            "weight_decay": [0.0, 1.0],
            "sample": "all",
            "correlation": math.nan,
            "correlation_n": [1, 1],
            "n_runs": [2, 1],
        }
    )
    figure = drawn(
        monkeypatch, imperfections_accuracy, {"structures": runs, "table1": rows},
        sweep={"weight_decay": [0, 1]},
    )  # fmt: skip
    left, right = figure.axes
    assert left.collections[0].get_offsets().tolist() == [[80, 90], [20, 40]]
    assert right.collections[0].get_offsets().tolist() == [[30, 70]]
    circle_, other = left.collections[0].get_facecolors()
    assert to_hex(circle_) == style.ORANGE
    assert to_hex(other) == style.BLUE


def test_projections_are_of_the_dimensions_in_their_title(monkeypatch):
    vectors = np.random.default_rng(0).normal(size=(17, 3))
    runs = pd.DataFrame(
        {"experiment": "e", "run_id": ["e/x/s0"], "seed": 0, "d": 3, "is_circle": False,
         "imperfections": 9, "test_accuracy": 0.5}
    )  # fmt: skip
    embeddings = pd.DataFrame({"run_id": "e/x/s0", "token": range(17), "vector": list(vectors)})
    figure = drawn(
        monkeypatch, projection_gallery, {"structures": runs, "embeddings": embeddings},
        parameters={"d": 3},
    )  # fmt: skip
    for axes, (i, j) in zip(figure.axes[:3], [(0, 1), (0, 2), (1, 2)], strict=True):
        assert f"dimensions {i + 1}, {j + 1}" in axes.get_title()
        np.testing.assert_allclose([t.get_position() for t in axes.texts], vectors[:, [i, j]])


def test_published_and_measured_are_not_mixed_up():
    axes = Figure().subplots()
    claims = pd.DataFrame(
        {
            "value": [0.3],
            "verdict": ["deviates"],
            "measured_low": 1.0,
            "measured_high": 3.0,
            "same_low": 7.0,
            "same_high": 11.0,
            "measured": 2.0,
            "published": 9.0,
        }
    )
    published_tables._panel(axes, claims, {0.3: 0})
    interval, here, paper = axes.lines
    assert interval.get_xdata().tolist() == [1, 3]
    assert (here.get_xdata().tolist(), here.get_color()) == ([2], style.ORANGE)
    assert (paper.get_xdata().tolist(), paper.get_marker()) == ([9], "D")
    assert published_tables._COLOURS["reproduced"] == style.BLUE


def test_a_band_closes_where_all_runs_agree_instead_of_breaking_off():
    rows = pd.DataFrame({"x": [0, 1, 2], "y": [1.0, 2, 3], "y_n": 5})
    rows = rows.assign(y_low=[0, math.nan, 2], y_high=[2, math.nan, 4])
    axes = Figure().subplots()
    panels.band(axes, rows, "x", "y", style.BLUE)
    band, bars = axes.collections
    (outline,) = band.get_paths()  # one piece
    corners = [{float(y) for at, y in outline.vertices if at == x} for x in range(3)]
    assert corners == [{0, 2}, {2}, {2, 4}]
    assert not bars.get_paths()
    panels.band(axes, rows.assign(y_low=[0, 1, 2], y_n=[5, 2, 9]), "x", "y", style.BLUE)
    ends = [path.vertices.tolist() for path in axes.collections[-1].get_paths()]
    assert ends == [[[0, 0], [0, 2]], [[2, 2], [2, 4]]]  # for points without neighbours in a band


def test_signs_have_the_colours_of_the_explorer():
    text = (ROOT / "src/circlet/pages/explorer/panels.js").read_text(encoding="utf-8")
    colours = re.search(r'\[FIRST, SECOND\] = \["(.*?)", "(.*?)"\]', text)
    assert (to_hex(style.DIVERGING(1.0)), to_hex(style.DIVERGING(0.0))) == colours.groups()
