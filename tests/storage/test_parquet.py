import errno
import itertools
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from conftest import SYSTEMS, config, experiment, flipped, mounted, respecify, run_blocks

from circlet import __version__, build
from circlet.errors import LogError
from circlet.storage import files, parquet, progress, provenance
from circlet.study import fingerprint, targets
from circlet.study.plan import Study
from circlet.training import job


@pytest.fixture
def block(tmp_path):
    block = next(Study.of(config(tmp_path)).blocks)
    job.run_block(block, "cpu")
    return block


def one_line(caught, path):
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    return text


def test_round_trip(tmp_path):
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    path = tmp_path / "deep/er/t.parquet"
    parquet.write(table, path, {"made": "by a test"})
    assert pa.parquet.read_table(path).to_pydict() == table.to_pydict()
    assert parquet.footer(path) == {"made": "by a test", "sha256": parquet.footer(path)["sha256"]}
    assert [p.name for p in path.parent.iterdir()] == ["t.parquet"]


def test_a_package_that_is_not_installed_has_no_version(monkeypatch):
    def version(package):
        if package != "torch":
            raise provenance.PackageNotFoundError(package)
        return "2.13"

    monkeypatch.setattr(provenance, "version", version)
    versions = provenance.made_by()["versions"]
    assert (versions["circlet"], versions["torch"]) == (__version__, "2.13")
    assert versions["scikit-learn"] is None


@pytest.mark.parametrize("keep", [0, 4, 100, 0.5, -1])
def test_a_truncated_log_is_named(block, keep):
    path = block.log("runs")
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.raises(LogError, match="is damaged") as caught:
        parquet.read_log(block, "runs")
    one_line(caught, path)


def test_a_missing_log_is_named(block):
    block.log("runs").unlink()
    with pytest.raises(LogError, match="is missing") as caught:
        parquet.read_log(block, "runs")
    one_line(caught, block.log("runs"))


def test_a_file_that_may_not_be_read_is_not_called_damaged(block, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(parquet.pq, "read_metadata", refuse)
    with pytest.raises(LogError, match="cannot be read: Permission denied") as caught:
        parquet.read_log(block, "runs")
    assert "delete" not in one_line(caught, block.log("runs"))


def test_a_foreign_parquet_is_named(block):
    pa.parquet.write_table(pa.table({"a": [1]}), block.log("runs"))
    with pytest.raises(LogError, match="is damaged") as caught:
        parquet.read_log(block, "runs")
    one_line(caught, block.log("runs"))


def test_logs_of_other_settings_are_never_read(tmp_path, block):
    changed = next(Study.of(config(tmp_path, steps=6)).blocks)
    assert changed.log("runs") == block.log("runs")
    with pytest.raises(LogError, match="another steps than the config") as caught:
        parquet.read_log(changed, "runs")
    one_line(caught, block.log("runs"))


def test_logs_of_other_seeds_are_never_read(tmp_path, block):
    other = next(Study.of(config(tmp_path, seeds={"count": 2, "first": 2})).blocks)
    shutil.copytree(block.log("runs").parent, other.log("runs").parent)
    with pytest.raises(LogError, match="holds other seeds"):
        parquet.read_log(other, "runs")


def test_both_ends_of_the_seeds_count(block):
    path = block.log("signals")
    parquet.write(pa.parquet.read_table(path), path, parquet.footer(path) | {"seeds": [0, 2]})
    with pytest.raises(LogError, match="holds other seeds"):
        parquet.read_log(block, "signals")


def test_an_error_while_writing_leaves_nothing(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), files.atomic(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]
    assert path.read_text() == "old"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    path = tmp_path / "file/t.parquet"
    with pytest.raises(LogError, match="cannot be written") as caught:
        parquet.write(pa.table({"a": [1]}), path, {})
    one_line(caught, path)


@pytest.fixture
def full_disk(tmp_path):
    with mounted(tmp_path / "full", "size=64k") as folder:
        yield folder


@pytest.fixture
def read_only(tmp_path):
    with mounted(tmp_path / "read_only", "size=64k,ro") as folder:
        yield folder


def test_a_full_disk_is_named_and_keeps_what_is_done(full_disk):
    path = full_disk / "old.parquet"
    parquet.write(pa.table({"a": [1]}), path, {})
    large = pa.table({"a": list(range(100_000))})
    with pytest.raises(LogError, match="No space left") as caught:
        parquet.write(large, full_disk / "new.parquet", {})
    one_line(caught, full_disk / "new.parquet")
    assert [p.name for p in full_disk.iterdir()] == ["old.parquet"]
    assert pa.parquet.read_table(path).num_rows == 1


def test_a_read_only_folder_is_named(read_only):
    with pytest.raises(LogError, match="Read-only file system") as caught:
        parquet.write(pa.table({"a": [1]}), read_only / "t.parquet", {})
    one_line(caught, read_only / "t.parquet")


def test_disk_errors_anywhere_are_one_line(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(parquet.Path, "write_bytes", refuse)
    with pytest.raises(LogError, match="quota") as caught:
        parquet.write(pa.table({"a": [1]}), tmp_path / "t.parquet", {})
    one_line(caught, tmp_path / "t.parquet")
    assert [p.name for p in tmp_path.iterdir()] == []


def test_logs_of_another_dtype_or_version_are_never_read(tmp_path, monkeypatch):
    block = next(Study.of(config(tmp_path)).blocks)
    job.run_block(block, "cpu")
    with monkeypatch.context() as patch:
        respecify(patch, version=99)
        raised = next(Study.of(config(tmp_path)).blocks)
    with pytest.raises(LogError, match="another version"):
        parquet.read_log(raised, "runs")
    assert SYSTEMS["constant_attention"].version != 99
    with pytest.raises(LogError, match="is missing"):
        parquet.read_log(next(Study.of(config(tmp_path, dtype="float64")).blocks), "runs")


@pytest.mark.parametrize("kind", ["runs", "curves", "signals", "embeddings", "parameters"])
def test_a_flipped_bit_is_always_found(tmp_path, kind):
    """In data, where Parquet has checksums, and in metadata, where it has none."""
    block = next(Study.of(config(tmp_path, steps=20)).blocks)
    job.run_block(block, "cpu")
    path = block.log(kind)
    whole = path.read_bytes()
    parquet.read_log(block, kind)
    random = np.random.default_rng(0)
    for position in random.integers(len(whole), size=400):
        path.write_bytes(flipped(whole, position, random.integers(8)))
        with pytest.raises(LogError, match=r"is damaged|made with another|other seeds") as caught:
            parquet.read_log(block, kind)
        one_line(caught, path)


def test_a_log_of_another_kind_is_never_read(block):
    """Neither by tables nor by `status`, for every pair of kinds."""
    saved = {kind: block.log(kind).read_bytes() for kind in block.point.logs}
    for kind, other in itertools.permutations(saved, 2):
        block.log(kind).write_bytes(saved[other])
        with pytest.raises(LogError, match=f"holds the log '{other}'; delete it") as caught:
            parquet.read_log(block, kind)
        one_line(caught, block.log(kind))
        assert progress.state(block) == "damaged"
        block.log(kind).write_bytes(saved[kind])
    assert progress.state(block) == "done"


def test_no_log_is_taken_for_another(tmp_path):
    """Every pair of logs is swapped, over three experiments, two points and two blocks."""
    study = Study.of({"results": str(tmp_path), "experiments": {
        "a": experiment(sweep={"weight_decay": [0, 1]}, seeds={"count": 4}),
        "b": experiment(sweep={"weight_decay": [0, 1]}, steps=6),
        "c": experiment("particles"),
    }})  # fmt: skip
    every = [(block, kind) for block in study.blocks for kind in block.point.logs]
    run_blocks(study)
    content = {block.log(kind): block.log(kind).read_bytes() for block, kind in every}
    for block, kind in every:
        path = block.log(kind)
        for other in content.keys() - {path}:
            path.write_bytes(content[other])
            with pytest.raises(LogError):
                parquet.read_log(block, kind)
            assert progress.state(block) in ("damaged", "outdated")
        path.write_bytes(content[path])
        assert len(parquet.read_log(block, kind))


def table_of(study, name="runs"):
    """A table of a study, made."""
    target = next(p for p in targets.tables(study) if p.name == name)
    build.make(target)
    return target


def test_a_table_of_another_config_is_never_read(tmp_path):
    """For example a table of 2 seeds that was copied over one of 4."""
    few, many = (Study.of(config(tmp_path, seeds={"count": n})) for n in (2, 4))
    run_blocks(many)
    for target in targets.ordered(many):
        if target.name in ("runs", "structures", "explorer_runs"):
            table_of(many, target.name)
    path = table_of(few).outputs[0]
    assert path == many.table("runs")
    with pytest.raises(LogError, match="was made from another config, other code") as caught:
        table_of(many, "explorer_runs")
    one_line(caught, path)


def test_code_that_is_edited_while_it_is_imported_makes_nothing(tmp_path, monkeypatch):
    """The key was right when the job began; then a module or its data changed."""
    study = Study.of(config(tmp_path) | {"reproduce": {"table1": "e"}})
    run_blocks(study)
    edits = {  # all in one process, as `partial` makes them
        "runs": "circlet/sweeps/tables/runs.py",
        "scorecard": "musat/claims.csv",
        "explorer_runs": "musat/run_list.py",
        "weight_magnitudes": "circlet/storage/__init__.py",
    }
    for made, name in edits.items():
        target = next(p for p in targets.ordered(study) if p.name == made)
        assert target.code
        read = Path.read_text

        more = "\n" if name.endswith(".csv") else "\nx = 1\n"

        def edited(path, *arguments, read=read, name=name, more=more, **options):
            text = read(path, *arguments, **options)
            return text + more if path.as_posix().endswith(name) else text

        monkeypatch.setattr(Path, "read_text", edited)
        with pytest.raises(LogError, match="code of circlet was edited after this job had started"):
            target.with_verified_keys()
        monkeypatch.undo()
        fingerprint.forget()
        assert target.with_verified_keys().study.keys == {
            table.name: table.key for table in target.tables
        }


def test_no_table_is_taken_for_another(tmp_path):
    study = Study.of(config(tmp_path) | {"reproduce": {"table1": "e"}})
    run_blocks(study)
    made = [target for target in targets.ordered(study) if target.kind == "tables"]
    for target in made:
        build.make(target)
    study = replace(study, keys={target.name: target.key for target in made})
    content = {target.name: target.outputs[0].read_bytes() for target in made}
    for target in made:
        for other in content.keys() - {target.name}:
            target.outputs[0].write_bytes(content[other])
            with pytest.raises(LogError, match="was made from another config, other code"):
                parquet.read_table(study, target.name)
        target.outputs[0].write_bytes(content[target.name])
        parquet.read_table(study, target.name)
