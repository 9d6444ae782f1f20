"""Shared parts of the plots of sweeps."""

import numpy as np
import pandas as pd
import pytest
from conftest import config
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from circlet.study import planning
from circlet.study.swept import Swept
from circlet.sweeps import panels
from circlet.sweeps.plots import curves, heat, trajectories
from circlet.sweeps.plots.forest import forest
from circlet.systems.spec import Outcome


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0, 0.1, 0.3, 1.0, 3.0), ["0", "", "0.3", "1", "3"]),
        ((0.1, 0.3, 1.0, 3.0, 10.0), ["0.1", "0.3", "1", "3", "10"]),  # on a logarithmic axis
        ((0.0014, 0.001809, 0.02, 0.05), ["0.0014", "", "0.02", "0.05"]),
    ],
)
def test_values_beside_each_other_are_written_where_they_fit(values, texts):
    assert panels._apart(Swept("x", values), side_by_side=True) == texts


def test_colours_have_a_scale_also_of_equal_values_and_of_none():
    ends = {}
    for kind, values in (("count", [0.0, 0.0]), ("count", [6.0]), ("time", []), ("mean", [2.0])):
        norm = panels.shades(Outcome("x", "x", kind), np.array(values))
        ends[kind, len(values)] = (norm.vmin, norm.vmax)
    assert ends == {("count", 2): (0, 1), ("count", 1): (0, 6), ("time", 0): (0, 1),
                    ("mean", 1): (2, 3)}  # fmt: skip
    wide = panels.shades(Outcome("x", "x", "time"), np.array([1.0, np.nan, 100.0]))
    assert wide(10.0) == pytest.approx(0.5)


def test_a_difference_of_which_one_end_is_known_is_drawn_to_an_arrow():
    alike = {"parameter": "rate", "first": "1", "second": "2", "outcome": "x", "label": "x"}
    rows = pd.DataFrame([
        alike | {"at": "d 1", "estimate": None, "low": None, "high": -800.0},
        alike | {"at": "d 2", "estimate": 3.0, "low": 1.0, "high": None},
        alike | {"at": "d 3", "estimate": 3.0, "low": None, "high": None},
    ])  # fmt: skip
    (axes,) = forest(rows, ["x"]).axes
    (lines,) = (artist for artist in axes.collections if isinstance(artist, LineCollection))
    first, second = (line[:, 0] for line in lines.get_segments() if len(line))
    assert first[0] < -900 and first[1] == -800 and second[0] == 1 and second[1] > 100
    assert not axes.texts


@pytest.mark.parametrize(
    ("estimate", "low", "high", "text"),
    [
        (0.5, 0.24, 0.55, "0.50\n[0.24, 0.55]"),
        (1.0, 0.61, 1.0, "1.00\n[0.61, 1.00]"),  # all runs are equal
        (2.0, np.nan, np.nan, "2.00"),
        (2.0, 1.0, np.nan, "2.00\n≥ 1.00"),
        (2.0, 0.0, np.nan, "2.00"),  # a lower bound of 0 says nothing
        (np.nan, 7.0, np.nan, "> 7.00"),
        (np.nan, np.nan, np.nan, "–"),
    ],
)
def test_a_cell_shows_its_interval_as_it_is(estimate, low, high, text):
    row = {"estimate": estimate, "low": low, "high": high, "n_runs": 8}
    assert heat._text(row, 2, False) == text
    assert heat._text(row, 2, True) == f"{text}\nn 8"


def runs(value, after):
    """Return a run that reached a milestone at a step, or had not by a step."""
    return pd.DataFrame({"value": [value], "after": [after]}, dtype=float)


def test_marks_are_explained_below_the_panels():
    figure = Figure(figsize=(3, 2), layout="constrained")
    outcomes = [Outcome("x", "x", "time"), Outcome("y", "y", "share")]
    marks = panels.run_marks("blue", runs(None, 2)) | panels.estimate_marks(outcomes, "blue")
    panels.explain(figure, marks)
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["run", "not reached by the last step", "median or share", "95 % interval"]
    assert [line.get_marker() for line in legend.get_lines()][:2] == ["o", "^"]
    assert figure.get_figheight() > 2.3
    assert "not reached by the last step" not in panels.run_marks("blue", runs(3, 2))


@pytest.mark.parametrize(
    ("metrics", "names"),
    [
        (("train_loss", "test_loss"), {"--": "train", "-": "test"}),
        (("train_loss", "norm"), {"--": "train", "-": "test or other metric"}),
        (("norm",), {"-": "mean"}),
        (("train_loss",), {"--": "train"}),
    ],
)
def test_line_styles_are_named(metrics, names):
    marks = trajectories._marks(trajectories._groups(metrics), few=False)
    assert {line.get_linestyle(): name for name, line in marks.items()} == names


def test_steps_at_which_interventions_begin_are_those_of_the_rows():
    forks = {"change": {"step": [10, 20], "weight_decay": 1}}
    clamped = config(interventions=[forks, {"clamp": {"step": 5}}], steps=40)
    sweep = panels.Sweep(planning.plan(clamped | {"figures": [{"trajectories": "e"}]}))
    rows = pd.DataFrame({"point": [point.name for point in sweep.points]})
    assert trajectories._begins(sweep, rows) == {5, 10, 20}
    assert trajectories._begins(sweep, rows[:1]) == {5, 10}


def test_long_titles_have_several_lines():
    axes = Figure().subplots()
    panels.title(axes, "the mean number of steps until the loss has halved\nd 2", 1.5)
    lines = axes.get_title().splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 24 and lines[-1] == "d 2"


@pytest.mark.parametrize("values", [(1, 2), (0.1, 1, 100), (0.0, 0.3, 1.0)])
def test_dots_of_runs_are_within_the_axes(values):
    x = Swept("weight_decay", values)
    runs = pd.DataFrame({"weight_decay": np.arange(300) % len(values), "seed": np.arange(300)})
    axes = Figure().subplots()
    panels.scale(axes, x)
    low, high = axes.get_xlim()
    at = curves._spread(x, runs)
    assert low < at.min() and at.max() < high
