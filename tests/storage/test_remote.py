"""Remote results: in an archive, and in a folder that has an address."""

import os
import shutil
import zipfile

import pandas as pd
import pytest
from conftest import make_tables, ran

import circlet
from circlet.cli import main
from circlet.errors import ConfigError, LogError
from circlet.storage import remote


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A finished study with one table."""
    made = ran(tmp_path_factory.mktemp("there"))
    make_tables(made, "runs")
    return made


@pytest.fixture(params=["file", "archive", "archive of a folder"])
def place(request, study, tmp_path):
    """Where the results of the study lie."""
    if request.param == "file":
        return study.results.as_uri()
    above = study.results.parent if request.param == "archive of a folder" else study.results
    base = study.results.name if request.param == "archive of a folder" else None
    return shutil.make_archive(tmp_path / "study", "zip", above, base)


def test_remote_tables_and_logs_are_those_of_the_folder(study, place):
    here, there = circlet.load(study.results), circlet.load(place)
    assert there.tables == here.tables == ["runs"]
    assert there.logs == here.logs
    pd.testing.assert_frame_equal(there.table("runs"), here.table("runs"))
    pd.testing.assert_frame_equal(there.log("curves", steps=5), here.log("curves", steps=5))
    assert place in repr(there)


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


def test_status_and_partial_read_remote_results(study, tmp_path, monkeypatch, capsys):
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


def test_only_logs_are_copied(study, tmp_path):
    """A checkpoint could execute code."""
    source = shutil.copytree(study.results, tmp_path / "source")
    [log] = source.rglob("curves.parquet")
    log.with_name("checkpoint.pt").write_bytes(b"x")
    remote.mirror(source.as_uri(), tmp_path / "copy")
    assert not list((tmp_path / "copy").rglob("*.pt"))


def test_of_overlapping_blocks_in_an_archive_the_newest_counts(study, tmp_path, monkeypatch):
    source = shutil.copytree(study.results, tmp_path / "source")
    [block] = source.glob("logs/*/*/seeds_*")
    whole = block.with_name("seeds_00000-00009")
    shutil.copytree(block, whole)
    for path in block.iterdir():
        os.utime(path, (path.stat().st_mtime - 3600,) * 2)
    place = shutil.make_archive(tmp_path / "study", "zip", source)
    assert [path.parent.name for path, _ in circlet.load(place)._files("curves")] == [whole.name]
    monkeypatch.setattr(remote, "modified", lambda info: None)
    with pytest.raises(LogError, match="does not say which was written last"):
        circlet.load(place).log("curves")


def test_a_changed_log_is_copied_again(study, tmp_path):
    source = shutil.copytree(study.results, tmp_path / "source")
    folder = tmp_path / "copy"
    copied = remote.mirror(source.as_uri(), folder)
    assert copied == len([*source.rglob("logs/**/*.parquet")])
    [log] = source.rglob("curves.parquet")
    log.write_bytes(log.read_bytes() + b"more")
    assert remote.mirror(source.as_uri(), folder) == 1
