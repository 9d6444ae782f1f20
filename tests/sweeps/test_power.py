"""Needed seeds: the half-widths that they give, their cost, and the edited config."""

import math

import numpy as np
import pytest
import yaml
from conftest import config, experiment, make_tables, planned, run_blocks

from circlet import cli
from circlet.analysis import stats
from circlet.study import planning
from circlet.sweeps import power
from circlet.sweeps.commands import power as power_command

TEXT = """# mine
results: {results}
experiments:
  e:  # one
    system: constant_attention
    sweep: {{weight_decay: [0, 1]}}
    steps: 5
    seeds: {{count: 6}}  # few
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The config of a study that has its tables."""
    folder = tmp_path_factory.mktemp("power")
    text = TEXT.format(results=folder / "results")
    make_tables(run_blocks(planning.plan(yaml.safe_load(text))), "outcome_summary")
    return text


@pytest.fixture
def file(text, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return path


def half(estimate):
    return (estimate.high - estimate.low) / 2


def test_needed_runs_give_the_half_width():
    """New samples of the proposed size have intervals about as narrow as requested."""
    stream = np.random.default_rng(0)
    values = stream.normal(3, 1, 400)
    needed, why = power.runs_needed(100, half(stats.mean(values[:100])), 0.1)
    assert half(stats.mean(stream.normal(3, 1, needed))) == pytest.approx(0.1, rel=0.2) and not why
    needed, _ = power.runs_needed(40, half(stats.share(20, 40)), 0.05)
    assert half(stats.share(needed // 2, needed)) == pytest.approx(0.05, rel=0.1)


@pytest.mark.parametrize(
    ("half", "width", "said"),
    [
        (math.inf, 0.1, "too few runs have it (more steps may help)"),
        (0.5, 0.0, "say how narrow it should be"),
        (0.5, 1e-300, "more than a million runs"),
    ],
)
def test_why_no_number_of_runs_would_do(half, width, said):
    needed, why = power.runs_needed(6, half, width)
    assert needed is None and said in why


def test_few_runs_and_runs_that_agree_need_not_many():
    assert power.runs_needed(5, math.inf, 0.1) == (6, "")  # a median needs six runs
    needed, _ = power.runs_needed(20, half(stats.share(20, 20)), 0.05, sd=0.0)
    assert half(stats.share(needed, needed)) == pytest.approx(0.05, rel=0.15)


def test_the_command_says_what_would_do(file, capsys):
    given = ["power", "--configfile", str(file), "--half-width", "is_circle=0.2"]
    cli.main(given)
    said = capsys.readouterr().out
    assert "is_circle" in said and "runs needed" in said and "`plan` then says" in said
    assert "seeds: {count: 20}" in said  # the next multiple of a block
    config = yaml.safe_load(file.read_text())
    config["experiments"]["e"]["seeds"] = {"count": 20}
    file.write_text(yaml.safe_dump(config))
    cli.main(given)
    assert "narrow enough, once all planned runs are done" in capsys.readouterr().out


def test_what_figures_show_is_meant_if_nothing_is_asked(file, capsys, error_of):
    given = ["power", "--configfile", str(file)]
    cli.main(given)
    said = capsys.readouterr().out
    assert "is_circle" in said and "grid_accuracy" not in said
    assert "These are the outcomes that figures show; --half-width names others" in said
    cli.main([*given, "--half-width", "grid_accuracy=0.01"])
    assert "grid_accuracy" in capsys.readouterr().out
    file.write_text(file.read_text() + "figures: [{trajectories: e}]\n")
    said = error_of(*given)
    assert "--half-width: no figure shows an outcome; give one of: circle_acc" in said


def test_what_cannot_be_estimated_is_not_narrow_enough(file, capsys):
    cli.main(["power", "--configfile", str(file), "--half-width", "is_circle=1e-300"])
    said = "not estimated: is_circle in e, at 2 points: it needs more than a million runs\n"
    assert capsys.readouterr().out == said


def planted(file, monkeypatch, **values):
    """Return the study, in whose summary the rows of is_circle have other values."""
    study, read = planning.plan_file(file), power.parquet.read_table
    tables = {name: read(study, name) for name in ("outcome_summary", "runs")}
    summary = tables["outcome_summary"]
    summary.loc[summary["outcome"] == "is_circle", [*values]] = [*values.values()]
    monkeypatch.setattr(power.parquet, "read_table", lambda _, name, *__, **___: tables[name])
    return study


def test_runs_that_end_without_a_value_are_counted_in(file, monkeypatch):
    """If half of the runs diverge, twice as many must be planned."""
    study = planted(file, monkeypatch, n_runs=3)
    first, second = power.of_outcomes(study, {"is_circle": 0.3}, [("e", "is_circle")])
    assert first.n == second.n == 3 and first.needed == math.ceil(6 * first.half / 0.3)


def test_a_point_where_no_run_has_a_value_is_no_error(file, monkeypatch):
    empty = {"kind": "mean", "n_runs": 0, "sd": math.nan, "low": math.nan, "high": math.nan}
    study = planted(file, monkeypatch, **empty)
    first, second = power.of_outcomes(study, {}, [("e", "is_circle")])
    assert first.why and second.why


ACTS = [{"scale": {"frequency": [1, 2], "factor": 2}}]


@pytest.mark.parametrize(
    ("changes", "seeds", "runs"),
    [
        (
            {"system": "embedding_mlp", "interventions": ACTS},
            {"count": 2, "more": [{"where": {"scale_frequency": 2}, "count": 8}]},
            6,
        ),
        ({"seeds": {"count": 2, "network": [1, 2]}}, {"count": 8}, 12),
        (
            {"seeds": {"count": 2, "network": [1, 2]}, "sweep": {"weight_decay": [0, 1.0e-5]}},
            {"count": 2, "more": [{"where": {"weight_decay": 1.0e-5}, "count": 8}]},
            12,
        ),
    ],
)
def test_what_is_proposed_is_a_config(tmp_path, changes, seeds, runs):
    """Points that `where` cannot distinguish get the same number of seeds; all of these count."""
    details = {"seeds": {"count": 2}, "block": 2, "steps": 5, "log": {}, "sweep": {}} | changes
    settings = experiment(**details)
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump({"results": "r", "experiments": {"e": settings}}))
    study = planning.plan_file(path)
    need = power.Need((study.points[-1],), "x", 2, 0.5, 0.1, 7)
    wanted = power.more_seeds(study, [need])
    assert wanted == {"e": seeds}
    proposed = power_command.text([need], wanted).partition("costs:")[2]
    assert yaml.safe_load(proposed) == {"experiments": {"e": {"seeds": seeds}}}
    settings["seeds"] = {k: v for k, v in settings["seeds"].items() if k != "more"} | seeds
    grown = planned("r", e=settings)
    counts = [point.count for point in grown.points]
    assert sum(counts) == sum(point.count for point in study.points) + runs


def test_seeds_of_single_points_are_more(tmp_path):
    study = planning.plan(config(tmp_path, sweep={"weight_decay": [0, 1]}, block=2))
    first, second = study.points
    needs = [
        power.Need((second,), "is_circle", 2, 0.5, 0.1, 7),
        power.Need((first,), "x", 2, 1, 1, 2),
    ]
    more = [{"where": {"weight_decay": 1}, "count": 8}]
    assert power.more_seeds(study, needs) == {"e": {"count": 2, "more": more}}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--half-width", "is_circle"], "must be as n_circles=0.2"),
        (["--half-width", "is_circle=-1"], "must be as n_circles=0.2"),
        (["--half-width", "circle=1"], "there is no outcome 'circle'"),
        (["--half-width", "is_circle=inf"], "must be as n_circles=0.2"),
    ],
)
def test_what_cannot_be_asked_is_one_line(file, error_of, more, said):
    assert said in error_of("power", "--configfile", file, *more)


def test_a_claim_about_a_point_that_is_not_there_says_so(tmp_path):
    long = experiment(sweep={"weight_decay": [0.6]}, steps=2000)
    study = planned(tmp_path, {"reproduce": {"table1": "e"}}, e=long)
    make_tables(run_blocks(study))
    needs = power.of_claims(study)
    lacking = [need for need in needs if not need.points]
    assert lacking and all(need.needed is None and "no point has" in need.why for need in lacking)
    assert not any("weight_decay=0.6" in need.why for need in lacking)
    few = [need for need in needs if need.points and need.needed]
    assert few and all(need.needed > need.n for need in few)
