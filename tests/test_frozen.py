"""A study without its logs: its tables follow from each other, or the audit says where not."""

import os

import pandas as pd
import pyarrow as pa
import pytest

from circlet import compare, frozen
from circlet.cli import main
from circlet.errors import ConfigError, LogError
from circlet.storage import parquet
from circlet.study.plan import Study

CONFIG = "config/smoke.yaml"


@pytest.fixture
def folder(finished, monkeypatch, tmp_path):
    """The frozen smoke study."""
    monkeypatch.chdir(finished.folder)
    folder = tmp_path / "frozen"
    main(["freeze", str(folder), "--configfile", CONFIG])
    return folder


def test_a_frozen_study_is_small_and_follows_from_itself(folder, capsys):
    tables = {path.stem for path in folder.glob("tables/*.parquet")}
    assert {"scorecard", "structures", "survival", "heads", "outcome_summary"} <= tables
    assert not any(name.startswith("explorer_") for name in tables)
    assert sum(path.stat().st_size for path in folder.rglob("*")) < 2_000_000
    for name in tables:  # what is made again from rounded numbers is what was frozen
        whole = Study.read(CONFIG).table(name)
        assert not compare.tables(whole, folder / f"tables/{name}.parquet", 1e-5), name
    capsys.readouterr()
    main(["audit", "--configfile", str(folder / "config.yaml")])
    said = capsys.readouterr().out
    assert "the same: " in said
    for name in ("scorecard", "table1", "musat_claims", "ding_claims", "odonnat_claims"):
        assert name in said


def test_an_edited_number_is_found(folder, capsys):
    path = folder / "tables/structures.parquet"
    table = parquet.read(path)
    frame = table.to_pandas()
    frame["is_circle"] = ~frame["is_circle"].astype(bool)
    parquet.write(
        pa.Table.from_pandas(frame, table.schema, preserve_index=False), path, parquet.footer(path)
    )
    with pytest.raises(SystemExit):
        main(["audit", "--configfile", str(folder / "config.yaml")])
    assert "table1.parquet: " in capsys.readouterr().out


def test_a_damaged_table_is_one_line(folder):
    path = folder / "tables/structures.parquet"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(LogError, match=r"structures\.parquet: "):
        frozen.audit(Study.read(folder / "config.yaml"))


def test_it_is_replaced_and_other_folders_are_left_alone(folder, tmp_path):
    (folder / "tables/structures.parquet").unlink()
    main(["freeze", str(folder), "--configfile", CONFIG])
    assert (folder / "tables/structures.parquet").exists()
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "text.md").write_text("mine")
    with pytest.raises(LogError, match="is in the way"):
        frozen.freeze(Study.read(CONFIG), other)
    with pytest.raises(ConfigError, match="table"):
        frozen.freeze(Study.read(CONFIG), tmp_path / "third", ["structure"])
    assert (other / "text.md").read_text() == "mine"


def test_what_is_not_as_planned_is_not_frozen(folder, tmp_path):
    study = Study.read(CONFIG)
    path = study.table("scorecard")
    kept, when = path.read_bytes(), path.stat()
    parquet.write(parquet.read(path), path, parquet.footer(path) | {"key": "another"})
    try:
        with pytest.raises(LogError, match=r"scorecard\.parquet: is not as planned"):
            frozen.freeze(study, tmp_path / "new")
    finally:
        path.write_bytes(kept)
        os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns))  # others go by it
    assert not (tmp_path / "new").exists()


def test_large_tables_are_left_out_and_said(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(frozen, "MOST_BYTES", 35_000)
    main(["freeze", str(tmp_path / "small"), "--configfile", CONFIG])
    assert "left out, " in capsys.readouterr().out
    sizes = [path.stat().st_size for path in tmp_path.glob("small/tables/*")]
    assert sizes and max(sizes) <= 35_000
    assert isinstance(pd.read_parquet(tmp_path / "small/tables/scorecard.parquet"), pd.DataFrame)
