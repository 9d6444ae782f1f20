"""Outcomes, their summary, effects, marginals and milestones of runs with planted final values."""

from dataclasses import replace
from importlib import import_module

import msgspec
import numpy as np
import pandas as pd
import pytest
from conftest import (
    config,
    config_of,
    make_all,
    make_tables,
    ran,
    rewrite,
    run_blocks,
    written,
)
from projects import edit

from circlet.errors import ConfigError, LogError
from circlet.storage import parquet
from circlet.study import milestones as study_milestones
from circlet.study import planning, plots, targets
from circlet.sweeps.tables import effects, milestones, outcomes
from circlet.systems.spec import Outcome

SEEDS = 8


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Runs at three weight decays and two p, with planted final accuracy."""
    return planted(
        config(
            tmp_path_factory.mktemp("r"),
            sweep={"weight_decay": [0, 0.5, 1], "p": [5, 7]},
            seeds={"count": SEEDS},
            block=SEEDS,
            steps=20,
            log={"curves": {"every": 5}},
        )
        | {"milestones": {"low_step": {"metric": "test_loss", "below": 100.0}}}
    )


def planted(given):
    """Return a study whose runs have planted final values, with its tables."""
    made = run_blocks(planning.plan(given))
    for block in made.blocks:
        plant(block)
    make_tables(made, "outcome_summary", "marginals", "effects", "curve_summary")
    return made


def plant(block):
    """Test accuracy 0.1 + 0.5 weight decay + 0.01 seed; train accuracy above 0.99 from step 10."""
    decay = block.point.parameters["weight_decay"]

    def changed(curves):
        reached = np.where(curves["step"] >= 10, 1.0, 0.5)
        later = (curves["step"] >= 15) & (curves["seed"] < 6)
        return curves.assign(train_accuracy=reached, test_accuracy=np.where(later, 1.0, 0.2))

    accuracy = 0.1 + 0.5 * decay
    rewrite(block.log("runs"), lambda r: r.assign(test_accuracy=accuracy + 0.01 * r["seed"]))
    rewrite(block.log("curves"), changed)


def table(study, name, **keys):
    frame = parquet.read_table(study, name)
    for key, value in keys.items():
        frame = frame[frame[key] == value]
    return frame


def test_every_run_has_its_outcomes(study):
    rows = table(study, "outcomes", outcome="test_accuracy")
    assert len(rows) == 6 * SEEDS
    expected = 0.1 + 0.5 * rows["weight_decay"].astype(float) + 0.01 * rows["seed"]
    assert rows["value"].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-6)
    steps = {"memorised_step", "generalised_step", "delay", "low_step"}
    assert steps | {"is_circle", "test_accuracy"} <= set(table(study, "outcomes")["outcome"])
    circles = table(study, "outcomes", outcome="is_circle").set_index("run_id")["value"]
    for name, wanted in (("circle_accuracy", 1.0), ("imperfections", 0.0)):
        runs = table(study, "outcomes", outcome=name)["run_id"]
        assert (circles.loc[runs] == wanted).all()
    assert len(table(study, "outcomes", outcome="imperfections")) == (circles == 0).sum()


def test_steps_between_which_something_happened(study):
    rows = table(study, "milestones").query("weight_decay == 0.5 and p == 5")
    assert (rows["memorised_step_after"] == 5).all() and (rows["memorised_step"] == 10).all()
    assert rows["generalised_step"].tolist() == [15] * 6 + [pytest.approx(np.nan, nan_ok=True)] * 2
    assert rows["generalised_step_after"].tolist() == [10] * 6 + [20] * 2
    # From (5, 10] to (10, 15] it takes 0 to 10 steps; for runs that never reach it, at least 10.
    assert rows["delay_after"].tolist() == [0] * 6 + [10] * 2
    assert rows["delay"].tolist()[:6] == [10] * 6 and rows["delay"].isna().sum() == 2
    assert (rows["low_step"] == 0).all() and (rows["low_step_after"] == 0).all()


def test_summaries_stay_in_the_range_of_what_they_measure(study):
    summary = table(study, "outcome_summary")
    measured = summary[summary["n_runs"] > 0]
    assert set(summary["n_planned"]) == {SEEDS}
    assert (measured["low"] >= 0).all()
    shares = measured[(measured["kind"] == "share") | (measured["unit"] == "0..1")]
    assert (shares["high"] <= 1).all() and shares[["low", "high"]].notna().all(axis=None)
    row = table(study, "outcome_summary", outcome="test_accuracy", point="p5_d2_wd1").iloc[0]
    assert row["estimate"] == pytest.approx(0.6 + 0.01 * 3.5, abs=1e-6)
    assert row["low"] < row["estimate"] < row["high"]
    steps = table(study, "outcome_summary", outcome="generalised_step", point="p5_d2_wd1").iloc[0]
    assert (steps["estimate"], steps["n_unreached"], steps["n_runs"]) == (15, 2, SEEDS)
    assert steps["low"] == 10  # it includes the last step before


def test_effects_are_those_that_were_planted(study):
    rows = table(study, "effects", outcome="test_accuracy").set_index("parameter")
    decay, p = rows.loc["weight_decay"], rows.loc["p"]
    assert decay["change"] == pytest.approx(0.5, abs=1e-6) and decay["per"] == "unit"
    # Seeds do not differ in the effect, so the interval is from the means and their intervals.
    assert 0.45 < decay["change_low"] < 0.5 < decay["change_high"] < 0.55
    assert decay["n_paired"] == SEEDS
    assert decay["rho"] > 0.9 and decay["rho_low"] > 0.8 and decay["rho_high"] <= 1
    assert abs(p["change"]) < 1e-6 and p["rho_low"] < 0 < p["rho_high"]
    assert rows["rho_n"].tolist() == [6 * SEEDS] * 2
    assert rows["note"].tolist() == ["", ""]


def test_a_change_that_is_not_known_says_why(study):
    late = table(study, "effects", outcome="generalised_step")
    assert late["change"].isna().all() and late["rho"].notna().all()
    assert late["note"].tolist() == [f"12 of {6 * SEEDS} runs do not get there"] * 2
    x = pd.Series([0.0, 1.0])
    runs = pd.DataFrame({"value": [1.0, 2.0], "stratum": [0, 1], "unit": [0, 1]})
    effect = effects._effect(Outcome("x", "x", "mean"), x, runs)
    assert effect["change"] is None and effect["note"] == "too few runs to compare"


@pytest.mark.parametrize(
    ("x", "times", "seeds"),
    [([0.0, 0.1, 1.0], [5.0, 35.0, 35.0], 6), ([0.001, 0.01], [34.0, 7.0], 1)],
)
def test_a_change_without_spread_lies_between_its_ends(x, times, seeds):
    """Times are equal for every seed, or there is a single seed."""
    at = pd.Series(np.repeat(x, seeds))
    runs = pd.DataFrame({"value": np.repeat(times, seeds), "stratum": 0})
    runs = runs.assign(unit=np.tile(np.arange(seeds), len(x)), after=runs["value"] - 1)
    change = effects._change(Outcome("x", "x", "time"), at, runs)
    assert change.low < change.value < change.high
    assert np.isfinite(change.high) == (seeds > 1)


def test_marginals_average_over_the_rest(study):
    rows = table(study, "marginals", outcome="test_accuracy", parameter="weight_decay")
    assert rows["value"].tolist() == ["0", "0.5", "1"] and rows["x"].tolist() == [0, 0.5, 1]
    assert rows["estimate"].tolist() == pytest.approx([0.135, 0.385, 0.635], abs=1e-6)
    assert set(rows["n_runs"]) == {2 * SEEDS}


def test_curves_are_averaged_at_logged_steps(study):
    rows = table(study, "curve_summary", metric="test_accuracy", point="p5_d2_wd0")
    assert rows["step"].tolist() == [0, 5, 10, 15, 20]
    assert rows["estimate"].tolist() == pytest.approx([0.2, 0.2, 0.2, 0.8, 0.8])
    assert rows["low"].isna().tolist() == [True] * 3 + [False] * 2  # equal values: no spread
    assert (rows["high"].dropna() <= 1).all()


def test_an_outcome_with_several_rows_of_a_run_is_refused():
    rows = pd.DataFrame({"run_id": ["a", "a"], "layer": [1, 2], "norm": [0.5, 0.6]})
    norm = Outcome("norm", "norm", "mean", "norms")
    with pytest.raises(LogError, match="outcome norm: the table norms has several rows of a; give"):
        outcomes._rows(norm, rows)
    assert outcomes._rows(replace(norm, where={"layer": 2}), rows)["value"].tolist() == [0.6]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"column": "norms"}, "the table norms has no column norms"),
        ({"where": {"layer": 1}}, "the table norms has no column layer"),
        ({"kind": "time"}, "the table norms has no column norm_after"),
        ({"column": "status"}, "the column status of the table norms must be numbers or truth val"),
    ],
)
def test_an_outcome_names_columns_of_its_table(changes, said):
    rows = pd.DataFrame({"run_id": ["a"], "norm": [0.5], "status": ["finished"]})
    norm = replace(Outcome("norm", "norm", "mean", "norms"), **changes)
    with pytest.raises(LogError, match=f"outcome norm: {said}"):
        outcomes._rows(norm, rows)
    with pytest.raises(LogError, match="has no column run_id"):
        outcomes._rows(norm, rows.drop(columns="run_id"))


def test_what_a_seed_decides_counts_once_at_a_point():
    runs = pd.DataFrame({"run_id": ["e/a/0", "e/a/1", "e/a/2", "e/b/0"], "embedding_seed": 7})
    runs.loc[2, "embedding_seed"] = 8
    initial = Outcome("circularity", "c", "mean", seed="embedding_seed")
    assert outcomes._counted(initial, runs).tolist() == ["e/a/0", "e/a/2", "e/b/0"]
    assert len(outcomes._counted(replace(initial, seed=""), runs)) == 4


def test_a_crossing_is_an_interval():
    steps = np.array([0, 10, 20])
    holds = np.array([[False, False, True], [True, False, True], [False] * 3], dtype=bool)
    after, by = milestones.crossing(steps, holds)
    assert after.tolist() == [10, 0, 20]
    assert by.tolist()[:2] == [20, 0] and np.isnan(by[2])


def test_jobs_of_a_study_without_a_usual_milestone_may_have_its_name(mine):
    """The study that a job gets has no milestones if its table needs none."""
    edit(mine / "systems/drift.py", '"size", "size', '"delay", "size')
    with pytest.raises(ConfigError, match=r"milestones.delay: is also an outcome .* `delay: null`"):
        planning.plan(config_of(mine))
    whole = planning.plan(config_of(mine) | {"milestones": {"delay": None}})
    part = whole.subset(["e"], with_keys=()).json
    assert planning.decode(part, [str(mine)]).points


def test_thresholds_make_no_other_table_again():
    """Only milestones, outcomes and what is made from them depend on thresholds."""
    before, after = (
        {t.name: t.key for t in targets.tables(planning.plan(config() | {"milestones": given}))}
        for given in ({}, {"generalised_step": {"above": 0.5}})
    )
    changed = {name for name in before if before[name] != after[name]}
    assert {"milestones", "outcomes", "outcome_summary", "effects"} <= changed
    assert not changed & {"runs", "structures", "curve_summary", "weight_magnitudes"}


@pytest.mark.parametrize(
    ("figure", "labels"),
    [
        ({"trajectories": "e", "show": ["test_accuracy"]}, {"test accuracy"}),
        ({"trajectories": "e", "show": ["train_loss", "test_loss"]}, {"loss (nat)"}),
        ({"curves": "e", "x": "p", "show": ["low_step"]}, {"a label that is longer than\na panel"}),
    ],
)
def test_y_axes_say_what_is_shown_in_lines_that_fit(study, figure, labels):
    label = {"label": "a label that is longer than a panel"}
    low = written(study)["milestones"]["low_step"] | label
    config = written(study) | {"figures": [figure], "milestones": {"low_step": low}}
    changed = planning.plan(config)
    (plot,) = plots.of(changed)
    drawn = import_module(plot.module).draw(changed)
    assert {axes.get_ylabel() for axes in drawn.axes} - {""} == labels


def test_points_drawn_at_random_are_units(tmp_path):
    sweep = {"learning_rate": {"loguniform": [0.001, 0.1]}, "weight_decay": {"uniform": [0, 1]}}
    made = planted(config(tmp_path, sweep=sweep, sample=12, steps=2))
    rows = table(made, "effects", outcome="test_accuracy").set_index("parameter")
    assert rows.loc["weight_decay", "change"] == pytest.approx(0.5, abs=0.02)
    assert rows.loc["weight_decay", "rho"] > 0.9
    assert rows.loc["learning_rate", "per"] == "decade"
    assert set(rows["n_paired"]) == {0}
    assert len(table(made, "marginals", outcome="test_accuracy", parameter="weight_decay")) == 12


def test_random_points_that_all_diverge_have_tables_without_rows(tmp_path):
    rates = {"learning_rate": {"uniform": [1e30, 2e30]}}
    made = ran(tmp_path, sweep=rates, sample=4, steps=5)
    make_all(made)
    assert set(table(made, "runs")["status"]) == {"diverged"}
    assert table(made, "marginals").empty and table(made, "outcomes").empty


def test_words_are_compared_with_the_first(tmp_path):
    kinds = {"initialisation": ["torch", "glorot", "lecun"]}
    made = ran(tmp_path, sweep=kinds, seeds={"count": 4}, block=4)
    rows = make_tables(made, "effects").query("outcome == 'test_accuracy'")
    assert rows["per"].tolist() == ["torch to glorot", "torch to lecun"]
    runs = pd.read_parquet(made.table("runs"))
    means = runs.groupby("initialisation")["test_accuracy"].mean()
    assert rows["change"].iloc[0] == pytest.approx(means["glorot"] - means["torch"], abs=1e-6)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"below": 0.5}, {"metric": "train_accuracy", "below": 0.5, "label": "step of memorising"}),
        ({"metric": "test_loss"}, {"metric": "test_loss", "above": 0.99}),
    ],
)
def test_a_threshold_or_a_delay_replaces_the_usual_one(given, kept):
    changed = {"memorised_step": given, "delay": None}
    study = planning.plan(config() | {"milestones": changed})
    milestone = study_milestones.of_config(study.config)["memorised_step"]
    assert msgspec.to_builtins(milestone) == {"label": "step of memorising"} | given | kept
    all_outcomes = study.outcomes("constant_attention")
    names = [one.name for one in all_outcomes if one.table == "milestones"]
    assert names == ["memorised_step", "generalised_step"]  # the delay is removed
