"""``circlet.load``: tables and logs by name, from the folder alone, in every kind of frame."""

import os
import shutil

import pandas as pd
import pyarrow as pa
import pytest
from conftest import config, experiment, make_tables, planned, run_blocks

import circlet
from circlet.errors import ConfigError, LogError
from circlet.study import planning
from circlet.training import job


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two systems; the first sweeps a parameter without a label."""
    swept = experiment(sweep={"hidden": [8, 16], "weight_decay": [0, 0.5]})
    made = planned(tmp_path_factory.mktemp("r"), a=swept, b=experiment("particles"))
    make_tables(run_blocks(made), "runs")
    return made


@pytest.fixture
def results(study):
    return circlet.load(study.results)


def test_what_there_is(results):
    assert results.tables == ["runs"]
    assert results.logs == ["curves", "embeddings", "parameters", "runs", "signals"]
    assert results.experiments == ["a", "b"]
    assert "1 tables" in repr(results)


def test_a_table_is_that_of_the_study(results, study):
    pd.testing.assert_frame_equal(results.table("runs"), pd.read_parquet(study.table("runs")))


def test_a_log_has_keys_and_parameters(results, study):
    found = results.log("curves")
    assert list(found)[:5] == ["experiment", "system", "point", "run_id", "seed"]
    assert set(found["run_id"]) == {
        p.run_id(seed) for p in study.experiment("a") for seed in p.every_seed
    }
    assert found.groupby("run_id")["hidden"].nunique().eq(1).all()
    assert set(found["hidden"]) == {8, 16} and set(found["weight_decay"]) == {0.0, 0.5}
    assert len(results.log("signals", experiment="b")) > 0
    both = results.log("signals")  # of two systems
    assert both.loc[both["experiment"] == "b", "weight_decay"].isna().all()
    assert both.loc[both["experiment"] == "a", "f_a"].isna().all()


def test_runs_and_steps_are_chosen(results):
    found = results.log("curves", experiment="a", hidden=16, weight_decay=[0.5], steps=[0, 5])
    assert set(found["step"]) == {0, 5} and set(found["hidden"]) == {16}
    assert set(found["weight_decay"]) == {0.5}
    with pytest.raises(LogError, match=r"weight_decay is 0\.0, 0\.5$"):
        results.log("curves", experiment="a", weight_decay=0.50001)
    assert set(results.log("curves", seeds=[1])["seed"]) == {1}
    for asked, said in (
        ({"steps": 1.5}, "whole numbers"), ({"seeds": "1"}, "whole numbers"),
        ({"seeds": [99]}, "no row"), ({"seeds": 2**40}, "no row"),
    ):  # fmt: skip
        with pytest.raises(LogError, match=said):
            results.log("curves", **asked)
    assert set(results.log("runs", experiment=["a", "b"])["experiment"]) == {"a", "b"}


def test_polars_and_arrow_have_the_same(results, study):
    pl = pytest.importorskip("polars")
    frame = results.log("curves", engine="polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame["test_loss"].to_list() == results.log("curves")["test_loss"].tolist()
    assert isinstance(results.table("runs", engine="arrow"), pa.Table)
    assert isinstance(circlet.load(study.results, engine="polars").table("runs"), pl.DataFrame)


def test_a_folder_with_signs_of_a_pattern_is_no_pattern(study, tmp_path):
    shutil.copytree(study.results, tmp_path / "s[ab]")
    for kind in ("tables", "logs/a/point/seeds_0-0"):
        (tmp_path / "sa" / kind).mkdir(parents=True)
        pd.DataFrame({"of": ["sa"]}).to_parquet(tmp_path / "sa" / kind / "runs.parquet")
    found = circlet.load(tmp_path / "s[ab]")
    assert len(found.table("runs")) == len(found.log("runs")) == 10


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (
            lambda r: r.table("run"),
            "there is no table 'run' (did you mean 'runs'? there are: runs)",
        ),
        (lambda r: r.table("../tables/runs"), "there is no table '../tables/runs' ("),
        (lambda r: r.log("curve"), "there is no log 'curve' (did you mean 'curves'?"),
        (
            lambda r: r.log("curves", hiden=3),
            "there is no parameter 'hiden' (did you mean 'hidden'?",
        ),
        (lambda r: r.log("curves", hidden=3), "no log 'curves' is of hidden=3"),
        (lambda r: r.log("curves", experiment="c"), "there is no experiment 'c' (there are: a, b)"),
        (lambda r: r.log("curves", step=3), "there is no parameter 'step': write steps="),
        (lambda r: r.table("curves"), "'curves' is a log: write log('curves')"),
        (lambda r: circlet.load(r.folder / "x"), "there is no such folder"),
        (lambda r: r.table("runs", engine="spark"), "must be one of pandas, polars, arrow"),
    ],
)
def test_what_there_is_not_is_one_line(results, ask, said):
    with pytest.raises((LogError, ConfigError)) as error:
        ask(results)
    assert said in str(error.value)


def test_of_blocks_that_overlap_the_newest_counts(tmp_path):
    for block in (2, 4):
        made = planning.plan(config(tmp_path, block=block, seeds={"count": 4}))
        for number, own in enumerate(made.blocks):
            job.run_block(own, "cpu")
            time = 1_000_000_000 * block + number
            os.utime(own.log("runs"), ns=(time, time))
    found = circlet.load(tmp_path).log("runs")
    assert sorted(found["seed"]) == [0, 1, 2, 3]
