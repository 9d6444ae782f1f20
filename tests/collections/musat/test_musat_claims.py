"""Verbal claims and exemplary runs, from tables whose answers are known."""

import numpy as np
import pandas as pd
import pytest
from conftest import experiment, planned, table_of

from circlet.collections.musat.tables import exemplars, musat_claims
from circlet.storage import parquet


def test_exemplars_are_chosen_by_rule():
    runs = pd.DataFrame(
        {
            "run_id": list("abcdef"),
            "is_circle": [True, True, False, False, False, False],
            "norm_ratio": [1.1, 1.05, 2, 3, 4, 5],
            "imperfections": [80, 80, 10, 12, 40, 98],
            "test_accuracy": [0.9, 0.8, 0.5, 0.7, 0.4, 0.1],
        }
    )
    chosen = {name: row["run_id"] for name, row in exemplars.choose(runs).items()}
    assert chosen == {"circle": "b", "grid": "d", "imperfect_grid": "e"}
    particles = runs.assign(test_accuracy=float("nan"))
    assert exemplars.choose(particles)["grid"]["run_id"] == "c"
    assert exemplars.choose(runs.iloc[:0]) == {}


def claims_of(monkeypatch, structures, magnitudes):
    """The table of claims of a study whose tables hold these frames."""
    attention = experiment(sweep={"weight_decay": [0, 0.3, 0.6, 1, 2]}, seeds={"count": 20})
    particles = experiment("particles", sweep={"f_a": [0.5, 1, 2, 4]}, seeds={"count": 10})
    roles = {"table1": "e", "weight_magnitudes": "e", "table2": "f"}
    study = planned("r", {"reproduce": roles}, e=attention, f=particles)
    tables = {"structures": structures, "weight_magnitudes": magnitudes}

    def read(study, name, role):
        frame = tables[name]
        value = frame["weight_decay"].astype(str) + frame.get("f_a", frame["seed"]).astype(str)
        frame = frame.assign(run_id=value + "/" + frame["seed"].astype(str))
        return frame[frame["experiment"] == study.reproduce[role]]

    monkeypatch.setattr(parquet, "read_table", read)
    return table_of(musat_claims, study).set_index("claim")


def test_claims_of_planted_tables(monkeypatch):
    """Circles and weights are planted; weight decays 2 and 4, not in the paper, contradict them."""
    stream = np.random.default_rng(0)
    rows = [
        {
            "experiment": "e", "seed": seed, "weight_decay": decay, "f_a": np.nan,
            "is_circle": seed < share, "imperfections": 150 if seed < share else spread + seed,
            "test_accuracy": (
                0.9 if seed < share else 0.6 - 0.01 * seed + 0.001 * stream.normal()
            ) * (-1 if decay == 2 else 1),
        }
        for decay, share, spread in (
            (0, 2, 80), (0.3, 4, 60), (0.6, 8, 50), (1, 12, 30), (2, 5, 140),
        )
        for seed in range(20)
    ]  # fmt: skip
    rows += [
        {"experiment": "f", "seed": seed, "f_a": f_a, "is_circle": seed < share, "imperfections": 9}
        for f_a, share in ((0.5, 0), (1, 3), (2, 9), (4, 0))
        for seed in range(10)
    ]
    # Hidden: weights halve, biases shrink to a tenth. Output: both grow.
    sizes = [
        {
            "experiment": "e", "seed": seed, "weight_decay": decay, "layer": layer,
            "mean_abs_weight": w * (1 + seed / 50), "mean_abs_bias": b * (1 + seed / 50),
        }
        for layer, decay, w, b in (
            ("hidden", 0, 2, 1), ("hidden", 1, 1, 0.1), ("hidden", 2, 9, 9),
            ("output", 0, 1, 1), ("output", 1, 2, 3),
        )
        for seed in range(20)
    ]  # fmt: skip
    runs, sizes = pd.DataFrame(rows), pd.DataFrame(sizes)
    table = claims_of(monkeypatch, runs, sizes)
    effect = table["effect"]
    assert 30 < effect["circles_beat_others"] < 50  # points
    assert effect["imperfections_hurt"] < -0.98
    assert effect["decay_makes_circles"] == pytest.approx(50)
    # Means of 80 + 2..19 and 30 + 12..19.
    assert effect["decay_mends_grids"] == pytest.approx(90.5 / 45.5)
    assert effect["alignment_makes_circles"] == pytest.approx(90)
    assert effect["decay_limits_weights"] == pytest.approx(2)
    assert effect["decay_limits_biases"] == pytest.approx(10)
    assert effect["biases_limited_more"] == pytest.approx(5)
    assert table["n_planned"].to_dict() == {
        "circles_beat_others": 80, "imperfections_hurt": 80, "decay_makes_circles": 40,
        "decay_mends_grids": 40, "alignment_makes_circles": 20, "decay_limits_weights": 20,
        "decay_limits_biases": 20, "biases_limited_more": 20,
    }  # fmt: skip
    bounded = table.dropna(subset="effect_low")
    assert len(bounded) == 5 and (bounded["effect_low"] <= bounded["effect"]).all()
    assert (bounded["effect"] <= bounded["effect_high"]).all()
    one = runs["weight_decay"] == 0.6
    mixed = runs.assign(test_accuracy=runs["test_accuracy"].where(~one, -runs["test_accuracy"]))
    effect = claims_of(monkeypatch, mixed, sizes)["effect"]
    assert effect["imperfections_hurt"] > 0.98  # the one contradicting weight decay decides
    few = claims_of(monkeypatch, runs[runs["weight_decay"] != 1], sizes)["effect_low"]
    assert few[["decay_makes_circles", "decay_mends_grids"]].isna().all()  # without both ends


def test_exemplars_are_those_of_each_role_at_one(monkeypatch):
    rows = [
        {
            "experiment": e, "run_id": f"{e}{value}{k}", "weight_decay": value, "f_a": value,
            "is_circle": bool(k), "norm_ratio": 1.1 + (not k), "imperfections": 10,
            "test_accuracy": 0.5,
        }
        for e in "ef" for value in (0.0, 0.9, 2.0) for k in (0, 1)
    ]  # fmt: skip
    roles = {"reproduce": {"table1": "e", "table2": "f"}}
    study = planned("r", roles, e=experiment(), f=experiment("particles"))

    def read(study, _, role):
        return pd.DataFrame(rows).query(f"experiment == {study.reproduce[role]!r}")

    monkeypatch.setattr(parquet, "read_table", read)
    table = table_of(exemplars, study)
    assert set(table["run_id"][table["role"] == "table1"]) == {"e0.90", "e0.91"}
    assert set(table["run_id"][table["role"] == "table2"]) == {"f0.90", "f0.91"}


def test_of_two_values_as_near_the_smaller_is_meant():
    runs = pd.DataFrame({"weight_decay": [1.5, 0.5, 0.5, 1.5]})
    assert exemplars.nearest(runs, "weight_decay", 1)["weight_decay"].tolist() == [0.5, 0.5]
    assert exemplars.nearest(runs, "weight_decay", 1.2)["weight_decay"].tolist() == [1.5, 1.5]
