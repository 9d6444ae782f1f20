"""Tables computed from planted runs: what comes out must be what was put in."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import config, experiment
from test_structures import circle

from circlet import analysis, io, products, schema
from circlet.analysis import exemplars, gather, musat_claims
from circlet.errors import LogError
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
        product = next(p for p in products.tables(study) if p.name == name)
        analysis.make(name, product.study)
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
    row = make(study, "runs", "structures", "table1").set_index("weight_decay").loc[0.5]
    assert (row["circles"], row["non_circles"], row["n_runs"], row["n_planned"]) == (1, 2, 3, 4)
    assert row["circle_accuracy"] == pytest.approx(75)
    assert row["non_circle_accuracy"] == pytest.approx(37.5)
    assert row["non_circle_accuracy_sd"] == pytest.approx(np.std([25, 50], ddof=1))
    assert row["sample"] == "all"


def test_structures_keep_their_keys(study):
    frame = make(study, "runs", "structures")
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


def test_a_study_whose_runs_all_diverged_has_tables(tmp_path):
    study = Study(
        config(tmp_path, parameters={"learning_rate": 1e30}, steps=20)
        | {"reproduce": {"table1": "e"}}
    )
    for block in study.blocks:
        loop.run_block(block, "cpu")
    row = make(study, "runs", "structures", "table1").iloc[0]
    assert (row["n_runs"], row["n_planned"], row["circles"] == row["circles"]) == (0, 2, False)
    cards = make(study, "musat_claims", "scorecard")
    assert set(cards["verdict"]) == {"not_run"}


def test_small_samples_are_the_first_seeds():
    settings = experiment(seeds={"count": 300, "first": 100}, block=50)
    study = Study({"experiments": {"e": settings}, "reproduce": {"table1": "e"}})
    point = study.points[0]
    seeds = range(100, 400)
    frame = pd.DataFrame(
        {"experiment": "e", "run_id": [point.run_id(s) for s in seeds], "seed": seeds}
    )
    samples = list(gather.samples(study, "table1", frame))
    assert [(name, n, len(rows)) for _, name, n, rows in samples] == [
        ("first_100", 100, 100),
        ("all", 300, 300),
    ]
    assert samples[0][3]["seed"].max() == 199


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


def test_claims_have_the_sign_of_what_is_planted():
    stream = np.random.default_rng(0)
    n = 200
    imperfections = stream.integers(20, 120, n)
    runs = pd.DataFrame(
        {
            "weight_decay": stream.choice([0.0, 1.0], n),
            "imperfections": imperfections,
            "is_circle": stream.random(n) < 0.2,
            "validation_accuracy": 0.9 - imperfections / 200 + stream.normal(0, 0.05, n),
        }
    )
    runs.loc[runs["is_circle"], "validation_accuracy"] = 0.9
    runs.loc[runs["is_circle"], "validation_accuracy"] += stream.normal(
        0, 0.02, runs["is_circle"].sum()
    )
    assert musat_claims.circles_beat_others(runs)[1] > 0
    assert musat_claims.weakest_anticorrelation(runs)[1] > 0
    swapped = runs.assign(is_circle=~runs["is_circle"])
    assert musat_claims.circles_beat_others(swapped)[2] < 0
    reversed_ = runs.assign(validation_accuracy=-runs["validation_accuracy"])
    assert musat_claims.weakest_anticorrelation(reversed_)[2] < 0


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
    assert musat_claims.shrinkage(frame, "mean_abs_weight") == pytest.approx((50, 50, 50))
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
