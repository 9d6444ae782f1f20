import contextlib
import errno
import os
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
from conftest import experiment, flipped, planned, ran, run_blocks

from circlet.errors import LogError
from circlet.storage import files, parquet, progress


@pytest.fixture
def block(tmp_path):
    return next(ran(tmp_path).blocks)


@contextlib.contextmanager
def refused(path, said):
    """Assert an error of one line that names the file."""
    with pytest.raises(LogError, match=said) as caught:
        yield caught
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


SPOILT = {
    "but a byte": (lambda path: os.truncate(path, path.stat().st_size - 1), "is damaged"),
    "of others": (lambda path: pa.parquet.write_table(pa.table({"a": [1]}), path), "is damaged"),
    "missing": (Path.unlink, "is missing"),
}


@pytest.mark.parametrize(("spoil", "said"), SPOILT.values(), ids=SPOILT)
def test_a_log_that_cannot_be_read_is_named(block, spoil, said):
    spoil(block.log("runs"))
    with refused(block.log("runs"), said):
        parquet.read_log(block, "runs")


def test_a_file_that_may_not_be_read_is_not_called_damaged(block, monkeypatch):
    error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    monkeypatch.setattr(parquet.pq, "read_metadata", Mock(side_effect=error))
    with refused(block.log("runs"), "cannot be read: Permission denied") as caught:
        parquet.read_log(block, "runs")
    assert "delete" not in str(caught.value)


@pytest.mark.parametrize(
    ("footer", "spec", "said"),
    [
        ({}, {"steps": 6}, "another steps than the config"),
        ({}, {"version": 99}, "another version"),
        ({"seeds": [1, 1]}, {}, "holds other seeds"),
    ],
)
def test_logs_of_other_runs_are_never_read(block, footer, spec, said):
    path = block.log("signals")
    made = parquet.footer(path)
    made |= footer | {"spec": made["spec"] | spec}
    parquet.write(pa.parquet.read_table(path), path, made)
    with refused(path, said):
        parquet.read_log(block, "signals")


def test_an_error_while_writing_leaves_nothing(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), files.atomic(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]
    assert path.read_text() == "old"


def test_disk_errors_anywhere_are_one_line(tmp_path, monkeypatch):
    error = OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
    monkeypatch.setattr(parquet.Path, "write_bytes", Mock(side_effect=error))
    with refused(tmp_path / "t.parquet", "cannot be written: .*quota"):
        parquet.write(pa.table({"a": [1]}), tmp_path / "t.parquet", {})
    assert [p.name for p in tmp_path.iterdir()] == []


def test_a_flipped_bit_is_always_found(block):
    """The bit may be in data, where Parquet has checksums, or in metadata, where it has none."""
    path = block.log("curves")
    whole = path.read_bytes()
    parquet.read_log(block, "curves")
    random = np.random.default_rng(0)
    for position in random.integers(len(whole), size=400):
        path.write_bytes(flipped(whole, position, random.integers(8)))
        with refused(path, r"is damaged|made with another|other seeds"):
            parquet.read_log(block, "curves")


def test_no_log_is_taken_for_another(tmp_path):
    """Every pair of logs is swapped, over two experiments, two points and two blocks."""
    swept = experiment(sweep={"weight_decay": [0, 1]}, seeds={"count": 4})
    study = planned(tmp_path, a=swept, b=experiment("particles"))
    logs = [(block, kind) for block in study.blocks for kind in block.point.logs]
    assert len(logs) == 4 * 5 + 3
    run_blocks(study)
    content = {block.log(kind): block.log(kind).read_bytes() for block, kind in logs}
    for block, kind in logs:
        path = block.log(kind)
        for other in content.keys() - {path}:
            path.write_bytes(content[other])
            of_block = path.parent == other.parent
            with refused(path, f"holds the log '{other.stem}'; delete it" if of_block else None):
                parquet.read_log(block, kind)
            assert progress.state(block) in ("damaged", "outdated")
        path.write_bytes(content[path])
        assert len(parquet.read_log(block, kind))
