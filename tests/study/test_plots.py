"""Plots that an experiment has by rule, plots that a config can ask for, and refused ones."""

import pytest
from conftest import config, experiment, planned, refused

from circlet.study import contributions, planning, plots, targets

DECAYS, DIMENSIONS = {"weight_decay": [0, 0.5, 1]}, {"d": [2, 3]}
BOTH = DECAYS | DIMENSIONS
FOUR = BOTH | {"p": [5, 7], "hidden": [4, 8]}
DTYPES = {"dtype": ["float32", "float64"]}


def of(figures=None, **changes):
    return plots.of(planning.plan(config(**changes) | {"figures": figures}))


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({}, ["distributions", "trajectories"]),
        ({"sweep": DECAYS}, ["curves", "trajectories"]),
        ({"sweep": BOTH}, ["heat", "trajectories"]),
        ({"sweep": FOUR}, ["heat", "trajectories"]),
        ({"sweep": FOUR | DTYPES}, ["marginals", "trajectories"]),
        ({"cases": [{"p": 5, "d": 2}, {"p": 7, "d": 3}]}, ["points", "trajectories"]),
        ({"seeds": {"count": 2, "embedding": [1, 2]}}, ["points", "trajectories"]),
        (
            {"sweep": {"weight_decay": {"uniform": [0, 1]}, "p": {"uniform": [5, 9]}}, "sample": 4},
            ["marginals", "pairs", "trajectories"],
        ),
        (
            {"sweep": DECAYS, "compare": {"weight_decay": [0, 1]}},
            ["curves", "forest", "trajectories"],
        ),
        ({"system": "particles"}, ["distributions"]),  # particles have no curves
    ],
)  # fmt: skip
def test_an_experiment_has_what_suits_its_sweep(changes, kinds):
    drawn = of(**changes)
    assert [plot.kind for plot in drawn] == kinds
    assert [plot.name for plot in drawn] == [f"e_{kind}" for kind in kinds]


def test_parameters_take_the_places_left():
    sweep = BOTH | {"initialisation": ["torch", "glorot"]}
    (heat, lines) = of(sweep=sweep)
    assert heat.places == {"x": ("weight_decay",), "y": ("d",), "facet": ("initialisation",)}
    assert lines.place("by") == "weight_decay"
    (asked,) = of([{"heat": "e", "y": "weight_decay", "show": ["delay"]}], sweep=sweep)
    assert asked.places == {"y": ("weight_decay",), "x": ("d",), "facet": ("initialisation",)}
    assert asked.show == ("delay",)


def test_a_picture_is_of_its_experiment_alone():
    """An edit of another experiment or plot does not redraw it."""
    two = {"a": experiment(sweep=DECAYS), "b": experiment()}

    def keys(**changes):
        figures = targets.figures(planned("results", changes, **two))
        return {target.name: target.study.json for target in figures}

    before = keys()
    asked = keys(figures=[{"curves": "a"}, {"curves": "a", "show": ["delay"]}, {"points": "b"}])
    assert asked["a_curves"] == before["a_curves"]
    assert {"a_curves", "a_curves_2", "b_points"} <= asked.keys()
    assert '"b"' not in before["a_curves"]


def test_captions_say_what_of_which_runs():
    study = planning.plan(config(sweep=DECAYS, seeds={"count": 4}))
    caption = contributions.caption("e_curves", study)
    assert caption.startswith(
        "e: ends as a circle, test accuracy, imperfections of grids and delay of generalising "
        "(steps) over weight decay; 3 settings with 4 runs each, 5 steps. Each dot is a run"
    )
    assert plots.title(plots.of(study)[0]) == "e: curves"


@pytest.mark.parametrize(
    ("sweep", "figure", "said"),
    [
        (BOTH, {"heat": "f"}, "figures.0.heat: there is no experiment 'f' (there are: e)"),
        (BOTH, {"heats": "e"}, "there is no kind of plot 'heats' (did you mean 'heat'?"),
        (BOTH, {"heat": "e", "curves": "e"}, "must have one kind of plot"),
        (BOTH, {"heat": "e", "shwo": "delay"}, "there is no option 'shwo' (did you mean 'show'?"),
        (BOTH, {"heat": "e", "facet": ["d", "d"]}, "['d', 'd'] has non-unique elements"),
        (BOTH, {"x": "p"}, "must have one kind of plot"),
        (BOTH, {"heat": "e", "x": "weight_decai"}, "did you mean 'weight_decay'?"),
        (BOTH, {"heat": "e", "x": "d", "y": "d"}, "d is given two places"),
        (BOTH, {"heat": "e", "by": "d"}, "figures.0.by: a plot of kind heat takes x, y, facet"),
        (BOTH, {"heat": "e", "show": ["circles"]}, "there is no outcome 'circles'"),
        (BOTH, {"trajectories": "e", "show": ["delay"]}, "there is no metric 'delay'"),
        (BOTH, {"distributions": "e"}, "also varies weight_decay"),
        (BOTH, {"curves": "e", "name": "loss_spikes"}, "there is a figure 'loss_spikes'"),
        (BOTH, {"forest": "e"}, "shows differences, so e needs the key `compare`"),
        ({}, {"curves": "e"}, "least 1 swept parameters, but 'e' sweeps none; draw it as distrib"),
        (DECAYS, {"pairs": "e"}, "at least 2 swept parameters, but 'e' sweeps 1; draw it as"),
        ({}, {"heat": "e"}, "needs at least 1"),
        ({}, {"marginals": "e"}, "needs at least 1"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(sweep, figure, said):
    assert said in refused(lambda: of([figure], sweep=sweep))


def test_two_pictures_need_two_names():
    both = [{"points": "e", "name": "one"}, {"marginals": "e", "name": "one"}]
    assert "figures.1.name: another plot is named 'one'" in refused(lambda: of(both, sweep=DECAYS))
