"""Tables computed from planted runs: what comes out must be what was put in."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import config, experiment
from test_structures import circle

from circlet import analysis, figures, io, products, schema
from circlet.analysis import exemplars, musat_claims, structure_summary
from circlet.errors import LogError
from circlet.pages import report
from circlet.plan import Study
from circlet.training import loop


@pytest.fixture
def study(tmp_path):
    """A study of 4 runs at 2 weight decays, trained for five steps."""
    settings = experiment(sweep={"weight_decay": [0, 0.5]}, seeds={"count": 4})
    study = Study(
        {"results": str(tmp_path), "experiments": {"e": settings}, "reproduce": {"table1": "e"}}
    )
    for block in study.blocks:
        loop.run_block(block, "cpu")
    return study


def make(study, *names):
    for name in names:
        analysis.make(next(p for p in products.tables(study) if p.name == name))
    return io.read_table(study, names[-1])


def rewrite(block, kind, change):
    """Plant other values in a log, as if they had been measured."""
    table = pq.read_table(block.log(kind))
    frame = change(table.to_pandas())
    planted = schema.conform(frame, list(schema.LOGS[kind]), kind)
    io.write(planted, block.log(kind), io.footer(block.log(kind)))


def test_table1_of_planted_runs(study):
    """At weight decay 0.5 seed 0 is a circle, seed 1 diverged, and accuracies are known."""
    accuracy = {0: 0.75, 1: 0.5, 2: 0.25, 3: 0.5}

    def plant_runs(frame):
        frame["test_accuracy"] = frame["seed"].map(accuracy)
        frame.loc[frame["seed"] == 1, "status"] = "diverged"
        return frame

    def plant_circle(frame):
        last = (frame["seed"] == 0) & (frame["step"] == 5)
        if last.any():
            frame.loc[last, "vector"] = pd.Series(list(circle(17, 3)), index=frame.index[last])
        return frame

    for block in study.experiment("e")[1].blocks:
        rewrite(block, "runs", plant_runs)
        rewrite(block, "embeddings", plant_circle)
    row = (
        make(study, "structures", "structure_summary", "table1").set_index("weight_decay").loc[0.5]
    )
    assert (row["circles"], row["non_circles"], row["n_runs"], row["n_planned"]) == (1, 2, 3, 4)
    assert row["circle_accuracy"] == pytest.approx(75)
    assert row["non_circle_accuracy"] == pytest.approx(37.5)
    assert (row["circle_accuracy_n"], row["non_circle_accuracy_n"]) == (1, 2)
    assert row["sample"] == "all"


def test_structures_keep_their_keys(study):
    frame = make(study, "structures")
    assert list(frame["run_id"]) == [
        f"e/p17_d2_wd{wd}/s{seed:05d}" for wd in ("0", "0.5") for seed in range(4)
    ]
    assert frame["weight_decay"].dtype == float
    assert set(frame["weight_decay"]) == {0.0, 0.5}
    assert (frame["system"] == "constant_attention").all()


def test_two_systems_share_a_table(tmp_path):
    both = {"a": experiment(), "b": experiment("particles")}
    study = Study({"results": str(tmp_path), "experiments": both})
    for block in study.blocks:
        loop.run_block(block, "cpu")
    frame = make(study, "runs")
    assert frame["f_a"].isna().tolist() == [True, True, False, False]
    assert frame["weight_decay"].isna().tolist() == [False, False, True, True]
    assert frame["test_loss"].isna().tolist() == [False, False, True, True]


@pytest.mark.parametrize("system", ["constant_attention", "particles"])
def test_a_study_whose_runs_all_diverged_has_all_tables_figures_and_a_report(tmp_path, system):
    """Diverged runs are rows, and what needs finished ones says that there are none."""
    if system == "constant_attention":
        roles = ("table1", "weight_magnitudes", "projection_gallery")
        change = {"parameters": {"learning_rate": 1e30}, "steps": 20}
    else:
        roles, change = ("table2",), {"parameters": {"step_size": 1e300}, "steps": 20}
    study = Study(
        config(tmp_path, system=system, **change) | {"reproduce": dict.fromkeys(roles, "e")}
    )
    for block in study.blocks:
        loop.run_block(block, "cpu")
    made = set()
    waiting = products.tables(study)
    while waiting:
        for product in [
            p for p in waiting if {i.stem for i in p.inputs if "tables" in i.parts} <= made
        ]:
            analysis.make(product)
            made.add(product.name)
            waiting.remove(product)
    for product in products.figures(study):
        figures.make(product)
    report.make(products.report(study))
    assert set(io.read_table(study, "runs")["status"]) == {"diverged"}
    summary = io.read_table(study, "structure_summary").iloc[0]
    assert (summary["n_runs"], summary["n_planned"]) == (0, 2)
    assert set(io.read_table(study, "scorecard")["verdict"]) == {"not_run"}
    assert "diverged" in (tmp_path / "report.html").read_text()


def test_diverged_runs_are_in_no_table_but_runs(study):
    def plant(frame):
        return frame.assign(status=frame["status"].where(frame["seed"] != 1, "diverged"))

    for block in study.blocks:
        rewrite(block, "runs", plant)
    for name in ("structures", "embeddings", "weight_magnitudes"):
        assert set(make(study, name)["seed"]) == {0, 2, 3}
    assert set(make(study, "runs")["run_id"].str[-1]) == {"0", "1", "2", "3"}


def test_small_samples_are_the_first_seeds():
    settings = experiment(seeds={"count": 300, "first": 100}, block=50)
    point = Study({"results": "results", "experiments": {"e": settings}}).points[0]
    samples = list(structure_summary.samples(point, pd.DataFrame({"seed": range(100, 400)})))
    assert [(name, n, len(rows)) for name, n, rows in samples] == [
        ("first_100", 100, 100),
        ("all", 300, 300),
    ]
    assert samples[0][2]["seed"].max() == 199


def test_products_of_one_experiment_depend_on_it_alone():
    both = {"a": experiment(), "b": experiment(), "c": experiment("particles")}
    study = Study({"results": "results", "experiments": both, "reproduce": {"table1": "a"}})
    maps = next(p for p in products.tables(study) if p.name == "classifier_maps")
    assert list(maps.study.config["experiments"]) == ["a"]
    assert not [path for path in maps.inputs if "/b/" in str(path) or "/c/" in str(path)]


def test_exemplars_are_chosen_by_rule():
    runs = pd.DataFrame(
        {
            "run_id": list("abcdef"),
            "is_circle": [True, True, False, False, False, False],
            "norm_ratio": [1.1, 1.05, 2, 3, 4, 5],
            "imperfections": [80, 80, 10, 12, 40, 98],
            "validation_accuracy": [0.9, 0.8, 0.5, 0.7, 0.4, 0.1],
        }
    )
    chosen = {name: row["run_id"] for name, row in exemplars.choose(runs).items()}
    assert chosen == {"circle": "b", "grid": "d", "imperfect_grid": "e"}
    particles = runs.assign(validation_accuracy=float("nan"))
    assert exemplars.choose(particles)["grid"]["run_id"] == "c"
    assert exemplars.choose(runs.iloc[:0]) == {}


@pytest.fixture
def planted():
    """Runs whose accuracy falls with imperfections, at equal levels over weight decay."""
    stream = np.random.default_rng(0)
    n = 400
    imperfections = stream.integers(20, 120, n)
    runs = pd.DataFrame(
        {
            "weight_decay": stream.choice([0.0, 0.3, 0.6, 1.0], n),
            "imperfections": imperfections,
            "is_circle": stream.random(n) < 0.2,
            "validation_accuracy": 0.9 - imperfections / 200 + stream.normal(0, 0.05, n),
        }
    )
    circles = runs["is_circle"]
    runs.loc[circles, "validation_accuracy"] = 0.9 + stream.normal(0, 0.02, circles.sum())
    return runs


def test_claims_have_the_sign_of_what_is_planted(planted):
    assert musat_claims.circles_beat_others(planted).low > 0
    assert musat_claims.weakest_anticorrelation(planted).low > 0
    swapped = planted.assign(is_circle=~planted["is_circle"])
    assert musat_claims.circles_beat_others(swapped).high < 0
    one = planted["weight_decay"] == 0.6
    mixed = planted["validation_accuracy"].where(~one, -planted["validation_accuracy"])
    weakest = musat_claims.weakest_anticorrelation(planted.assign(validation_accuracy=mixed))
    assert weakest.high < 0  # the one weight decay that contradicts decides


def test_claims_about_the_ends_need_both_ends(planted):
    decays = musat_claims.DECAYS
    more = planted.assign(is_circle=planted["weight_decay"] == 1.0)
    assert musat_claims.more_circles(more, "weight_decay", decays).low > 90
    without = planted[planted["weight_decay"] < 1]
    assert np.isnan(musat_claims.more_circles(without, "weight_decay", decays).low)
    assert np.isnan(musat_claims.fewer_imperfections(without).low)
    beyond = pd.concat([more, more.assign(weight_decay=2.0, is_circle=False)])
    assert musat_claims.more_circles(beyond, "weight_decay", decays).low > 90


def test_shrinkage_is_per_cent():
    frame = pd.DataFrame(
        {
            "layer": "hidden",
            "seed": [0, 1, 0, 1],
            "weight_decay": [0.0, 0.0, 1.0, 1.0],
            "mean_abs_weight": [2.0, 4.0, 1.0, 2.0],
            "mean_abs_bias": [8.0, 8.0, 1.0, 1.0],
        }
    )
    assert musat_claims.shrinkage(frame, "mean_abs_weight") == pytest.approx((50, 50, 50, 2))
    assert musat_claims.biases_shrink_more(frame)[0] == pytest.approx(100 * (1 - 2 / 8))


def test_undeclared_columns_are_refused():
    frame = pd.DataFrame({"f_a": [1.0], "other": [2]})
    with pytest.raises(LogError, match=r"undeclared \['other'\]"):
        schema.conform(frame, schema.TABLES["table2"], "table2")


def test_values_of_another_type_are_refused():
    frame = pd.DataFrame({"seed": ["x"], "step": [1], "frequency": [1], "signal": [0.5]})
    with pytest.raises(LogError, match="signals"):
        schema.conform(frame, list(schema.LOGS["signals"]), "signals")


def test_every_column_has_a_meaning():
    for fields in (*schema.LOGS.values(), *schema.TABLES.values()):
        assert all(field.metadata[b"meaning"] for field in fields)
    made = set(products._declared("analysis"))
    assert made == set(schema.TABLES)
