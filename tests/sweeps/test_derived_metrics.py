"""Derived metrics: tables that the config asks for, whose columns are outcomes and curves."""

import numpy as np
import pytest
from conftest import config, config_of, experiment, make_all, refused, run_blocks
from projects import edit

from circlet.errors import ConfigError
from circlet.storage import parquet
from circlet.study import planning, targets

ASKED = {"derived_metrics": ["progress_measures"]}
NAMES = ["restricted_loss", "excluded_loss", "fourier_gini", "fourier_ipr",
         "distance_irrelevance", "gradient_symmetricity", "phase_alignment"]  # fmt: skip


def logging(**changes):
    """A config with one small experiment that logs parameters at steps 0, 3 and 5."""
    return config(log={"curves": {"every": 5}, "parameters": {"at": [3]}}, **changes)


def test_without_being_asked_nothing_changes():
    """Unrequested metrics change neither tables nor outcomes, nor the logs and code of a block."""
    plain, asked = planning.plan(logging()), planning.plan(logging() | ASKED)
    assert "progress_measures" not in targets.names(plain)[0]
    assert not {one.name for one in plain.outcomes("constant_attention")} & set(NAMES)
    assert plain.points[0].spec == asked.points[0].spec
    keys = [{t.name: t.key for t in targets.tables(study)} for study in (plain, asked)]
    changed = {name for name in keys[0] if keys[0][name] != keys[1][name]}
    assert changed >= {"outcomes", "outcome_summary", "effects", "curve_summary"}
    assert not changed & {"runs", "structures", "milestones", "embeddings"}
    figures = [figure.name for figure in targets.figures(asked) if figure.kind == "figures"]
    assert figures[-1] == "progress_measures"


def test_measures_are_outcomes_of_the_systems_that_they_are_about():
    both = logging()["experiments"] | {"other": experiment("particles")}
    study = planning.plan(logging() | ASKED | {"experiments": both})
    outcomes = {one.name: one for one in study.outcomes("constant_attention")}
    assert list(outcomes)[-len(NAMES) :] == NAMES
    assert outcomes["fourier_ipr"].bounds == (0, 1) and outcomes["excluded_loss"].unit == "nat"
    assert not study.derived_metrics("particles")
    assert list(study.derived_metrics("constant_attention"))[-len(NAMES) :] == NAMES


def test_they_are_computed_from_logged_parameters_and_are_outcomes_and_curves(tmp_path):
    """Outcomes are of the last step, curves of each logged one; losses are those in training."""
    small = {"parameters": {"p": 5, "d": 4, "hidden": 8}}
    asked = logging(parameters={"p": 5}) | ASKED | {
        "results": str(tmp_path),
        "figures": [{"trajectories": "e", "show": ["fourier_ipr", "test_loss"]}],
    }  # fmt: skip
    asked["experiments"]["mlp"] = experiment("embedding_mlp", **small, log={"parameters": {}})
    asked["experiments"]["silent"] = experiment("embedding_mlp", **small)  # logs no parameters
    study = run_blocks(planning.plan(asked))
    make_all(study)
    table = parquet.read_table(study, "progress_measures")
    runs = table.groupby(["experiment", "run_id"])
    steps = [(name, list(rows["step"])) for (name, _), rows in runs]
    assert steps == [("e", [0, 3, 5])] * 2 + [("mlp", [0, 5])] * 2
    last = table[table["step"] == 5].set_index("run_id")
    runs = parquet.read_table(study, "runs").set_index("run_id").loc[last.index]
    for name in ("train_loss", "test_loss"):  # up to float32 rounding
        np.testing.assert_allclose(last[name], runs[name], rtol=1e-5)
    outcomes = parquet.read_table(study, "outcomes").query("outcome == 'fourier_ipr'")
    assert outcomes.set_index("run_id")["value"].to_dict() == last["fourier_ipr"].to_dict()
    summary = parquet.read_table(study, "outcome_summary").query("outcome == 'fourier_ipr'")
    assert summary.set_index("experiment")["n_runs"].to_dict() == {"e": 2, "mlp": 2, "silent": 0}
    curves = parquet.read_table(study, "curve_summary")
    ipr = curves[curves["metric"] == "fourier_ipr"].set_index(["experiment", "step"])["estimate"]
    assert ipr.index.tolist() == [("e", 0), ("e", 3), ("e", 5), ("mlp", 0), ("mlp", 5)]
    assert ipr["e", 5] == pytest.approx(last.query("experiment == 'e'")["fourier_ipr"].mean())
    assert set(curves[curves["experiment"] == "silent"]["metric"]) == {
        "train_loss", "test_loss", "train_accuracy", "test_accuracy",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (config() | {"derived_metrics": ["progres_measures"]},
         "_metrics.0: there is no table of derived metrics 'progres_measures' (did you mean"),
        (config() | {"derived_metrics": ["structures"]}, "of derived metrics 'structures'"),
        (logging() | ASKED | {"milestones": {"fourier_ipr": {"metric": "test_loss", "below": 1}}},
         "derived_metrics: fourier_ipr is also an outcome of constant_attention"),
        (config() | {"derived_metrics": ASKED["derived_metrics"] * 2}, "derived_metrics"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_one_line(given, said):
    assert said in refused(lambda: planning.plan(given))


def test_a_collection_of_ones_own_can_have_derived_metrics(mine, tmp_path):
    file = mine / "tables/distances.py"
    edit(file, "TABLES = ()", 'TABLES = ()\nDERIVED_METRICS = {"distance": ("far", "")}')
    edit(file, "RUN, SEED, column", "RUN, STEP, column")
    asked = config_of(mine, results=tmp_path / "r") | {"derived_metrics": ["mine.distances"]}
    outcomes = planning.plan(asked).outcomes("mine.drift")
    assert [one.table for one in outcomes if one.name == "distance"] == ["mine.distances"]


@pytest.mark.parametrize("system", ["embedding_mlp", "particles"])
def test_a_study_without_the_log_is_told_what_to_log(system):
    """The part of the study that a job has needs no such experiment."""
    said = "needs an experiment of constant_attention or embedding_mlp that logs parameters"
    with pytest.raises(ConfigError, match=said):
        planning.plan(config(system=system) | ASKED)
    both = {"other": experiment(system), **logging()["experiments"]}
    whole = planning.plan(config() | ASKED | {"experiments": both})
    assert planning.decode(whole.subset(["other"]).json).points
