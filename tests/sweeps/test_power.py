"""Needed seeds: the half-widths that they give, their cost, and the edited config."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import config, experiment, make_tables, run_blocks

from circlet import cli
from circlet.analysis import stats
from circlet.study import planning
from circlet.sweeps import power
from circlet.sweeps.commands import power as power_command
from circlet.sweeps.tables import outcome_summary
from circlet.systems.spec import Outcome

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


def row(kind, values, unit=""):
    runs = pd.DataFrame({"value": np.array(values, dtype=float), "after": np.nan})
    return SimpleNamespace(**outcome_summary.row(Outcome("x", "x", kind, unit=unit), runs))


def needed_for(*given):
    needed, why = power.runs_needed(*given)
    assert needed and not why
    return needed


def test_needed_runs_give_the_half_width():
    """New samples of the proposed size have intervals about as narrow as requested."""
    stream = np.random.default_rng(0)
    values = stream.normal(3, 1, 400)
    needed = needed_for(row("mean", values[:100]), 0.1)
    assert needed == pytest.approx((1.96 * values[:100].std(ddof=1) / 0.1) ** 2, rel=0.02)
    found = stats.mean(stream.normal(3, 1, needed))
    assert (found.high - found.low) / 2 == pytest.approx(0.1, rel=0.2)
    needed = needed_for(row("share", [0, 1] * 20), 0.05)
    low, high = stats.share(needed // 2, needed)[1:3]
    assert (high - low) / 2 == pytest.approx(0.05, rel=0.02)
    assert needed_for(row("share", [0] * 10), 0.05) > 50  # the true share may be a tenth
    equal = needed_for(row("mean", [1.0] * 10, "0..1"), 0.05)
    assert 1 - 0.025 ** (1 / equal) <= 0.05 < 1 - 0.025 ** (1 / (equal - 1))
    assert needed_for(row("count", [4.0] * 10), 0.2) == pytest.approx(400, rel=0.1)


def time_row(after, by):
    runs = pd.DataFrame({"after": np.array(after, dtype=float), "value": by})
    return SimpleNamespace(**outcome_summary.row(Outcome("x", "x", "time", unit="steps"), runs))


@pytest.mark.parametrize(
    ("row", "wanted", "said"),
    [
        (row("count", [0.0] * 3), 0.0, "say how narrow it should be"),
        (row("mean", [2.5] * 3), 0.1, "do not tell how runs spread"),
        (row("mean", []), 0.1, "no run has it"),
        (time_row([40] * 9, [50.0] * 9), 5.0, "log `curves` more often"),
        (time_row([900] * 9, [np.nan] * 9), 20.0, "more steps, not more seeds"),
    ],
)
def test_why_no_number_of_runs_would_do(row, wanted, said):
    needed, why = power.runs_needed(row, wanted, 10.0)
    assert needed is None and said in why


def test_more_runs_do_not_bring_logged_steps_nearer():
    """More runs only narrow the rest of the interval."""
    stream = np.random.default_rng(0)
    by = np.ceil(stream.normal(500, 100, 40) / 10) * 10
    steps = time_row(by - 10, by)
    half = max(steps.high - steps.estimate, steps.estimate - steps.low)
    assert needed_for(steps, half, 10.0) == 40
    assert needed_for(steps, (half - 10) / 2 + 10, 10.0) == 160
    assert needed_for(time_row([40] * 3, [50.0] * 3), 20.0, 10.0) == 6


def test_the_command_says_what_would_do(file, capsys):
    given = ["power", "--configfile", str(file), "--half-width", "is_circle=0.2"]
    cli.main(given)
    said = capsys.readouterr().out
    assert "is_circle" in said and "runs needed" in said and "more runs and 12 again" in said
    assert "seeds: {count: 50}" in said  # the next multiple of a block
    config = yaml.safe_load(file.read_text())
    config["experiments"]["e"]["seeds"] = {"count": 50}
    file.write_text(yaml.safe_dump(config))
    cli.main(given)
    assert "narrow enough, once all planned runs are done" in capsys.readouterr().out


def test_what_figures_show_is_meant_if_nothing_is_asked(file, capsys, error_of):
    given = ["power", "--configfile", str(file)]
    cli.main(given)
    said = capsys.readouterr().out
    assert "is_circle" in said and "grid_accuracy" not in said
    assert "These are the outcomes that figures show; --outcomes names others" in said
    cli.main([*given, "--outcomes", "grid_accuracy"])
    assert "grid_accuracy" in capsys.readouterr().out
    file.write_text(file.read_text() + "figures: [{trajectories: e}]\n")
    said = error_of(*given)
    assert "--outcomes: name some, because no figure shows any: circle_acc" in said


def test_what_cannot_be_estimated_is_not_narrow_enough(file, capsys):
    cli.main(["power", "--configfile", str(file), "--half-width", "is_circle=1e-300"])
    assert capsys.readouterr().out == (
        "not estimated: is_circle in e, at 2 points: it needs more than a million runs\n"
    )


def test_runs_that_end_without_a_value_are_counted_in(file, monkeypatch):
    """If half of the runs diverge, twice as many must be planned."""
    study, read = planning.plan_file(file), power.parquet.read_table
    summary = read(study, "outcome_summary")
    is_circle = summary["outcome"] == "is_circle"
    summary.loc[is_circle, "n_runs"] = 3
    needed = needed_for(next(summary[is_circle].itertuples()), 0.3)
    tables = {"outcome_summary": summary}
    monkeypatch.setattr(
        power.parquet, "read_table", lambda *a, **k: tables.get(a[1], read(study, "runs"))
    )
    monkeypatch.setattr(power, "_gaps", lambda _: {})
    found = power.of_outcomes(study, {"is_circle": 0.3}, [("e", "is_circle")])
    assert [need.needed for need in found] == [2 * needed] * 2


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
    own = {"seeds": {"count": 2}, "block": 2, "steps": 5, "log": {}, "sweep": {}} | changes
    settings = experiment(**own)
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump({"results": "r", "experiments": {"e": settings}}))
    study = planning.plan_file(path)
    need = power.Need((study.points[-1],), "x", 2, 0.5, 0.1, 7)
    found = power.wanted(study, [need])
    assert found.seeds == {"e": seeds} and found.runs == runs
    assert yaml.safe_load("\n".join(power_command._yaml(seeds))) == {"seeds": seeds}
    settings["seeds"] = {k: v for k, v in settings["seeds"].items() if k != "more"} | seeds
    grown = planning.plan({"results": "r", "experiments": {"e": settings}})
    counts = [point.count for point in grown.points]
    assert sum(counts) == sum(point.count for point in study.points) + runs


def test_seeds_of_single_points_are_more(tmp_path):
    study = planning.plan(config(tmp_path, sweep={"weight_decay": [0, 1]}, block=2))
    first, second = study.points
    needs = [
        power.Need((second,), "is_circle", 2, 0.5, 0.1, 7),
        power.Need((first,), "x", 2, 1, 1, 2),
    ]
    found = power.wanted(study, needs)
    assert found.seeds == {"e": {"count": 2, "more": [{"where": {"weight_decay": 1}, "count": 8}]}}
    assert (found.runs, found.blocks) == (6, 3)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--half-width", "is_circle"], "must be as n_circles=0.2"),
        (["--half-width", "is_circle=-1"], "must be as n_circles=0.2"),
        (["--half-width", "circle=1"], "there is no outcome 'circle'"),
        (["--outcomes", "circle"], "there is no outcome 'circle'"),
        (["--half-width", "is_circle=inf"], "must be as n_circles=0.2"),
        (
            ["--half-width", "is_circle=1", "--outcomes", "delay"],
            "--half-width: is_circle is not in --outcomes",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(file, error_of, more, said):
    assert said in error_of("power", "--configfile", file, *more)


def test_a_claim_about_a_point_that_is_not_there_says_so(tmp_path):
    study = planning.plan(
        {"results": str(tmp_path), "reproduce": {"table1": "e"}, "experiments": {"e": experiment(
            sweep={"weight_decay": [0.6]}, steps=2000, block=2)}}
    )  # fmt: skip
    make_tables(run_blocks(study))
    found = power.of_claims(study)
    lacking = [need for need in found if not need.points]
    assert lacking and all(need.needed is None and "no point has" in need.why for need in lacking)
    few = [need for need in found if need.points and need.needed]
    assert few and all(need.needed > need.n for need in few)
