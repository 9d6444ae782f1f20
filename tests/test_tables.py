"""Tables computed from planted runs have the planted values."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from conftest import (
    SYSTEMS,
    circle,
    config,
    config_of,
    experiment,
    make_tables,
    planned,
    rewrite,
    run_blocks,
    table_of,
    written,
)
from projects import edit

from circlet.analysis import log_frames
from circlet.cli import main
from circlet.collections.musat.equations import constant_attention
from circlet.collections.musat.tables import table1
from circlet.errors import LogError
from circlet.lazy_import import load
from circlet.storage import parquet, schema
from circlet.study import planning, registry


@pytest.fixture
def study(tmp_path):
    """A study of 4 runs at 2 weight decays, trained for five steps."""
    runs = config(tmp_path, sweep={"weight_decay": [0, 0.5]}, seeds={"count": 4})
    return run_blocks(planning.plan(runs | {"reproduce": {"table1": "e"}}))


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
        rewrite(block.log("runs"), plant_runs)
        rewrite(block.log("embeddings"), plant_circle)
    row = make_tables(study, "table1").set_index("weight_decay").loc[0.5]
    assert (row["circles"], row["non_circles"], row["n_runs"], row["n_planned"]) == (1, 2, 3, 4)
    assert row["circle_accuracy"] == pytest.approx(75)
    assert row["non_circle_accuracy"] == pytest.approx(37.5)
    assert (row["circle_accuracy_n"], row["non_circle_accuracy_n"]) == (1, 2)
    assert row["sample"] == "all"


def test_two_systems_share_a_table(tmp_path):
    study = run_blocks(planned(tmp_path, a=experiment(), b=experiment("particles")))
    frame = make_tables(study, "runs")
    assert frame["f_a"].isna().tolist() == [True, True, False, False]
    assert frame["weight_decay"].isna().tolist() == [False, False, True, True]
    assert frame["test_loss"].isna().tolist() == [False, False, True, True]


def test_small_samples_are_the_first_seeds():
    (point,) = planning.plan(config(seeds={"count": 300, "first": 100}, block=50)).points
    samples = list(table1.samples(point, pd.DataFrame({"seed": range(100, 400)})))
    counts = [(name, n, len(rows)) for name, n, rows in samples]
    assert counts == [("first_100", 100, 100), ("all", 300, 300)]
    assert samples[0][2]["seed"].max() == 199


def test_every_column_has_a_meaning():
    modules = [load(m) for c in registry.SHIPPED for m in c.modules("tables").values()]
    logs = [fields for s in SYSTEMS.values() for fields in schema.logs(s).values() if len(fields)]
    assert len(logs) > 10 and len(modules) > 50
    for fields in (*logs, *(module.COLUMNS for module in modules)):
        assert len(fields) > 0
        assert all(field.metadata[b"meaning"] for field in fields)


def module(rows):
    columns = [schema.RUN, schema.SEED, schema.STEP]
    return SimpleNamespace(table=lambda study: rows, COLUMNS=columns, __name__="mine")


KEYS = ["experiment", "system", "run_id"]
ROWS = [{"run_id": f"e/p17_d2_wd0.5/s0000{n}", "step": 7, "weight_decay": -1} for n in (1, 0)]


@pytest.mark.parametrize("rows", [
    pd.DataFrame(ROWS), [pd.DataFrame([row]) for row in ROWS], iter(ROWS),
])  # fmt: skip
def test_rows_of_runs_are_given_their_keys(study, rows):
    """Keys that a table already has are replaced."""
    made = table_of(module(rows), study)
    assert list(made) == [*KEYS, *study.parameters, "seed", "step"]
    assert made["seed"].tolist() == [1, 0]
    assert made["step"].tolist() == [7, 7]
    assert made["weight_decay"].tolist() == [0.5, 0.5]
    assert made["p"].tolist() == [17, 17]


@pytest.mark.parametrize("rows", [iter(()), pd.DataFrame(), [pd.DataFrame({"step": []})]])
def test_without_rows_a_table_has_its_columns(study, rows):
    made = table_of(module(rows), study)
    assert list(made) == [*KEYS, *study.parameters, "seed", "step"]
    assert made.empty


def test_a_table_of_derived_metrics_has_their_columns(study):
    derived = module([])
    derived.DERIVED_METRICS = {"far": ("how far", "")}
    with pytest.raises(LogError, match="DERIVED_METRICS need a column 'far'"):
        table_of(derived, study)


WRITTEN = """

def table(study):
    return log_frames.final(study, "embeddings")[["run_id"]].drop_duplicates().assign(**{values})
"""


def with_table(mine, results, values, more=""):
    """Return a study, run, with a table that has some values in every row."""
    with (mine / "tables/distances.py").open("a") as file:
        file.write(WRITTEN.format(values=values) + more)
    return run_blocks(planning.plan(config_of(mine, results=results)))


@pytest.mark.parametrize(("values", "expected"), [
    ({"distance": 1.0, "other": 2}, "table mine.distances: missing columns [], undeclared ['other"),
    ({}, "table mine.distances: missing columns ['distance'], undeclared []"),
    ({"distance": "far"}, "table mine.distances: ("),
])  # fmt: skip
def test_a_table_has_the_columns_that_its_module_declares(mine, tmp_path, values, expected):
    study = with_table(mine, tmp_path / "results", values)
    with pytest.raises(LogError) as caught:
        make_tables(study, "mine.distances")
    assert str(caught.value).startswith(expected)
    assert not study.table("mine.distances").exists()


def test_columns_may_depend_on_the_study(mine, tmp_path):
    more = """
def columns(study):
    return [RUN, SEED, *(column(f"at_{p.name}", "float64", "there") for p in study.points)]
"""
    values = "{f'at_{point.name}': 1.0 for point in study.points}"
    frame = make_tables(with_table(mine, tmp_path / "results", values, more), "mine.distances")
    declared = ["seed", "at_p5_d2_r0.1", "at_p5_d2_r0.5"]
    assert list(frame) == ["experiment", "system", "run_id", "p", "d", "rate", *declared]


def test_maps_and_pair_sums_are_those_of_the_trained_networks(study):
    """At the pair sums the classifier gives the logged losses; the map shows its class."""
    make_tables(study, "classifier_maps", "pair_sums")
    maps, sums = (parquet.read_table(study, name) for name in ("classifier_maps", "pair_sums"))
    runs = make_tables(study, "runs").set_index("run_id")
    parameters = log_frames.final(study, "parameters")
    assert len(set(maps["run_id"])) >= 4
    assert set(maps.loc[maps["in_gallery"], "weight_decay"]) == {0.5}
    assert not maps.loc[maps["weight_decay"] == 0, "in_gallery"].any()
    for run_id, drawn in maps.groupby("run_id"):
        rows = parameters[parameters["run_id"] == run_id]
        weights = {
            r.name: torch.tensor(np.reshape(r.values, r.shape))[None]
            for r in rows[["name", "values", "shape"]].itertuples(index=False)
        }

        def scores(frame, weights=weights):
            x = torch.tensor(frame[["x", "y"]].to_numpy("float32").T.copy())[None]
            return constant_attention.logits(weights, x)[0].T

        assert (scores(drawn).argmax(1).numpy() == drawn["predicted"]).mean() > 0.99
        here = sums[sums["run_id"] == run_id]
        assert (here["target"] == (here["a"] + here["b"]) % 17).all()
        assert here[["x", "y"]].abs().max().max() <= drawn["x"].max()
        for kind, part in (("train", here[here["train"]]), ("test", here[~here["train"]])):
            target = torch.tensor(part["target"].to_numpy("int64"))
            loss = torch.nn.functional.cross_entropy(scores(part), target)
            assert float(loss) == pytest.approx(runs.loc[run_id, f"{kind}_loss"], rel=1e-4)


def test_weight_magnitudes_are_means_over_a_layer_and_over_the_runs_of_a_decay(study):
    """Weights are -1 and 3, biases -1, times a number of the seed."""

    def plant(frame):
        values = [
            (1.0 + row.seed) * np.resize([-1, 3] if "weight" in row.name else -1, len(row.values))
            for row in frame.itertuples(index=False)
        ]
        return frame.assign(values=values)

    for block in study.blocks:
        rewrite(block.log("parameters"), plant)
    study = planning.plan(written(study) | {"reproduce": {"weight_magnitudes": "e"}})
    means = make_tables(study, "weight_magnitude_means")
    runs = parquet.read_table(study, "weight_magnitudes")
    assert (len(runs), len(means)) == (2 * 8, 4)
    assert (runs["mean_abs_weight"] == 2 * (1 + runs["seed"])).all()
    assert (runs["mean_abs_bias"] == 1 + runs["seed"]).all()
    assert (means[["mean_abs_weight", "mean_abs_bias"]] == [5, 2.5]).all(axis=None)
    assert (means[["n_runs", "mean_abs_bias_n", "n_planned"]] == 4).all(axis=None)


def test_summary_is_of_the_right_runs():
    runs = pd.DataFrame(
        {
            "is_circle": [True, True, False, False, False, False, False],
            "imperfections": [1, 150, 10, 20, 30, 40, 60],
            "test_accuracy": [0.1, 0.9, 0.9, 0.8, 0.5, 0.6, 0.2],
        }
    )
    summary = table1.summary(runs)
    x, y = runs["imperfections"][2:], 100 * runs["test_accuracy"][2:]
    assert (summary["circles"], summary["circles_n"]) == (2, 7)
    assert (summary["non_circles"], summary["non_circles_n"]) == (5, 7)
    assert summary["circle_accuracy"] == pytest.approx(50)
    assert summary["non_circle_accuracy"] == pytest.approx(60)
    assert summary["imperfections"] == pytest.approx(32)
    half = 1.959964 * x.std(ddof=1) / math.sqrt(5)  # normal, as the paper's
    assert summary["imperfections_high"] - 32 == pytest.approx(half)
    assert summary["correlation"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert (summary["correlation_n"], summary["n_runs"]) == (5, 7)


@pytest.mark.parametrize(("ratio", "is_circle"), [(1.19, True), (1.21, False)])
def test_a_circle_is_below_the_threshold_of_the_paper(study, ratio, is_circle):
    def plant(frame):
        vectors = circle(17, 3) * np.where(np.arange(17) == 4, ratio, 1.0)[:, None]
        frame["vector"] = [vectors[token] for token in frame["token"]]
        return frame

    for block in study.blocks:
        rewrite(block.log("embeddings"), plant)
    table = make_tables(study, "structures")
    assert table["norm_ratio"].to_numpy() == pytest.approx(ratio)
    assert set(table["is_circle"]) == {is_circle}


def test_a_table_is_read_as_far_as_it_is_about_the_study_or_a_role(tmp_path):
    s = planning.plan(config(tmp_path) | {"reproduce": {"table1": "e"}})
    rows = pa.table({"experiment": ["e", "other", None], "value": [1, 2, 3]})
    parquet.write(rows, s.table("structures"), {})
    assert parquet.read_table(s, "structures", "table1")["value"].tolist() == [1]
    # Null: it belongs to no experiment, like a claim that is not run.
    assert parquet.read_table(s, "structures")["value"].tolist() == [1, 3]


def test_the_commit_of_a_run_is_that_of_its_log(study):
    block = next(study.blocks)
    path = block.log("runs")
    parquet.write(pq.read_table(path), path, parquet.footer(path) | {"commit": "abc"})
    assert make_tables(study, "runs")["commit"].tolist().count("abc") == 2


FAULTS = {
    "no figure": ("figures/distances.py", "return figure", "return None", "must return a Figure"),
    "no run_id": ("tables/distances.py", "reset_index()", "reset_index(drop=True).to_frame()",
                  "table mine.distances: missing columns"),
    "a series": ("tables/distances.py", ".reset_index()", "",
                 "table mine.distances: table(study) must return a frame, or frames or dicts"),
    "an error in a figure": ("figures/distances.py", "figure = Figure()", "figure = Figure() / 0",
                             "figures/distances.py:14: TypeError: "),
    "an error in what a table imports": ("distance.py", "return", "return 1 / 0 +",
                                         "mine/distance.py:8: ZeroDivisionError: "),
    "a column twice": ("tables/distances.py", "[RUN, SEED,", "[RUN, SEED, SEED,",
                       "distances.py: COLUMNS: 'seed' is there twice"),
    "a parameter as a column": ("tables/distances.py", "[RUN, SEED,",
                                '[RUN, SEED, column("rate", "float64", ""),',
                                "distances.py: COLUMNS: 'rate' is there twice"),
    "a column of the table of runs": ("run_list.py", '"run_id"]]', '"run_id", "rate"]]',
                                      "run_list.py: 'rate' is circlet's own column"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "expected"), FAULTS.values(), ids=FAULTS)
def test_faults_in_a_users_code_name_its_file(mine, tmp_path, capsys, file, old, new, expected):
    edit(mine / file, old, new, 1)
    path, settings = tmp_path / "mine.yaml", config_of(mine, results=tmp_path / "results")
    run_blocks(planning.plan(settings))
    path.write_text(json.dumps(settings))
    with pytest.raises(SystemExit) as ended:
        for name in ("runs", "mine.distances", "outcomes", "explorer_runs"):
            main(["table", name, "--configfile", str(path)])
        main(["figure", "mine.distances", "--configfile", str(path)])
    assert ended.value.code == 1
    said = capsys.readouterr().err
    (line,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert expected in line and "a bug" not in line
    assert said.index(line) < (said + "Traceback").index("Traceback")
