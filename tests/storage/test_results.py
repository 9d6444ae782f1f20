"""``circlet.load``: tables and logs by name, from a folder, an archive or an address alone."""

import os
import shutil
import zipfile

import pandas as pd
import pyarrow as pa
import pytest
from conftest import config, experiment, make_tables, planned, ran, run_blocks

import circlet
from circlet.cli import main
from circlet.errors import ConfigError, LogError
from circlet.storage import remote
from circlet.study import planning
from circlet.training import job


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two systems; the first sweeps a parameter without a label."""
    swept = experiment(sweep={"hidden": [8, 16], "weight_decay": [0, 0.5]})
    made = planned(tmp_path_factory.mktemp("r"), a=swept, b=experiment("particles"))
    make_tables(run_blocks(made), "runs")
    return made


@pytest.fixture(params=["folder", "address", "archive", "archive of a folder"])
def results(request, study, tmp_path):
    """The results of the study, wherever they lie."""
    if request.param == "folder":
        return circlet.load(study.results)
    if request.param == "address":
        return circlet.load(study.results.as_uri())
    above = study.results.parent if request.param == "archive of a folder" else study.results
    base = study.results.name if request.param == "archive of a folder" else None
    return circlet.load(shutil.make_archive(tmp_path / "study", "zip", above, base))


def test_what_there_is(results):
    assert results.tables == ["runs"]
    assert results.logs == ["curves", "embeddings", "parameters", "runs", "signals"]
    assert results.experiments == ["a", "b"]
    assert f"{results.place}: 1 tables" in repr(results)


def test_a_table_is_that_of_the_study(results, study):
    pd.testing.assert_frame_equal(results.table("runs"), pd.read_parquet(study.table("runs")))


def test_a_log_has_keys_and_parameters(results, study):
    curves = results.log("curves")
    assert list(curves)[:5] == ["experiment", "system", "point", "run_id", "seed"]
    points = study.experiment("a")
    assert set(curves["run_id"]) == {p.run_id(seed) for p in points for seed in p.all_seeds}
    assert curves.groupby("run_id")["hidden"].nunique().eq(1).all()
    assert set(curves["hidden"]) == {8, 16} and set(curves["weight_decay"]) == {0.0, 0.5}
    assert len(results.log("signals", experiment="b")) > 0
    both = results.log("signals")  # of two systems
    assert both.loc[both["experiment"] == "b", "weight_decay"].isna().all()
    assert both.loc[both["experiment"] == "a", "f_a"].isna().all()


def test_runs_and_steps_are_chosen(results):
    curves = results.log("curves", experiment="a", hidden=16, weight_decay=[0.5], steps=[0, 5])
    assert set(curves["step"]) == {0, 5} and set(curves["hidden"]) == {16}
    assert set(curves["weight_decay"]) == {0.5}
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
    loaded = circlet.load(tmp_path / "s[ab]")
    assert len(loaded.table("runs")) == len(loaded.log("runs")) == 10


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


def test_a_file_is_copied_only_when_it_is_read(study):
    there = circlet.load(study.results.as_uri())
    assert not list(there.folder.rglob("*.parquet"))
    there.table("runs")
    assert [path.name for path in there.folder.rglob("*.parquet")] == ["runs.parquet"]


@pytest.mark.parametrize(
    ("place", "kind", "text"),
    [
        ("file:///nowhere", LogError, "has no logs and no tables"),
        ("nowhere.zip", LogError, "nowhere.zip: there is no such file"),
        ("what://is/this", ConfigError, "what://is/this: Protocol not known"),
    ],
)
def test_a_place_without_results(place, kind, text):
    with pytest.raises(kind, match=text):
        circlet.load(place)


def test_status_and_partial_read_remote_results(tmp_path, monkeypatch, capsys):
    study = ran(tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(study.whole_json.replace(str(study.results), "results"))
    options = ["--configfile", "mine.yaml", "--from", study.results.as_uri()]
    main(["status", *options])
    [total] = [li for li in capsys.readouterr().out.splitlines() if li.startswith("total")]
    assert total.split()[:3] == ["total", "2", "2"]
    assert not (tmp_path / "results").exists()
    main(["partial", *options])
    assert "partial: 2 of 2 runs" in capsys.readouterr().out
    assert (tmp_path / "results/remote/partial/report.html").exists()
    assert not (tmp_path / "results/logs").exists()
    assert remote.mirror(study.results.as_uri(), tmp_path / "results/remote") == 0
    with pytest.raises(SystemExit):
        main(["status", "--verify", *options])


def test_an_archive_writes_nothing_outside_its_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "false.zip", "w") as archive:
        archive.writestr("logs/../../e/p/seeds_0-0/runs.parquet", b"x")
    with pytest.raises(LogError, match="lies outside of it"):
        circlet.load(tmp_path / "false.zip")


def test_of_blocks_that_overlap_the_newest_counts(tmp_path, monkeypatch):
    folder = tmp_path / "results"
    for size in (2, 4):
        made = planning.plan(config(folder, block=size, seeds={"count": 4}))
        for number, block in enumerate(made.blocks):
            job.run_block(block, "cpu")
            time = (1_500_000_000 + 10 * size) * 10**9 + number
            os.utime(block.log("runs"), ns=(time, time))
    archive = shutil.make_archive(tmp_path / "study", "zip", folder)
    for place in (folder, archive):
        [newest] = circlet.load(place)._files("runs")
        assert newest.path.parent.name == "seeds_00000-00003"
    monkeypatch.setattr(remote, "modified", lambda info: None)
    with pytest.raises(LogError, match="does not say which was written last"):
        circlet.load(archive).log("runs")


def test_logs_alone_are_copied_and_again_if_they_changed(study, tmp_path):
    """A checkpoint could execute code."""
    source = shutil.copytree(study.results, tmp_path / "source")
    log = next(source.rglob("curves.parquet"))
    log.with_name("checkpoint.pt").write_bytes(b"x")
    copied = remote.mirror(source.as_uri(), tmp_path / "copy")
    assert copied == len([*source.rglob("logs/**/*.parquet")])
    assert not list((tmp_path / "copy").rglob("*.pt"))
    log.write_bytes(log.read_bytes() + b"more")
    assert remote.mirror(source.as_uri(), tmp_path / "copy") == 1
