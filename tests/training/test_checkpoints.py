"""A block that is ended early resumes where it was, with the same numbers."""

import errno
import hashlib
import os
import pickle
import shutil
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from conftest import config, flipped, rewrite

from circlet import native
from circlet.errors import Interrupted
from circlet.storage import locks, parquet, provenance
from circlet.study import planning
from circlet.training import checkpoint, job, native_run

SYSTEMS = {
    "constant_attention": {"log": {"curves": {"every": 3}, "parameters": {"every": 20}}},
    "particles": {},
    "embedding_mlp": {
        "parameters": {"p": 7, "d": 6, "hidden": 5},
        "log": {"gradients": {"every": 10}, "parameters": {"every": 10}},
    },
    "sparse_transformer": {
        "parameters": {"n_train": 48, "n_test": 8, "batch_size": 16, "dropout": 0.1},
        "log": {
            "curves": {"every": 3},
            "parameters": {"every": 10},
            "gradient_norms": {"every": 8},
        },
    },
    "frozen": {
        "system": "embedding_mlp",
        "parameters": {"p": 7, "d": 6, "hidden": 5},
        "interventions": [{"freeze": {}}],
    },
}


@pytest.fixture(scope="module", params=["native", "torch"], autouse=True)
def engine(request):
    """Train natively and in torch, with a progress report after every step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_run, "FIRST", 1)
        patch.setattr(native_run, "LONGEST", 0.0)
        if request.param == "torch":
            patch.setattr(native, "uncovered", lambda *_: "it is not asked for")
        yield request.param


def block_of(tmp_path, name="constant_attention", **changes):
    settings = {"system": name, "steps": 40} | SYSTEMS.get(name, {}) | changes
    return next(planning.plan(config(tmp_path, **settings)).blocks)


def after(steps):
    """Act like a signal that arrives after a number of steps, counted over all groups."""
    caught = []

    def stop(done, _):
        if done >= steps:
            caught.append(signal.SIGTERM)

    return stop, caught


def interrupt(block, steps):
    with pytest.raises(Interrupted) as raised:
        job.run_block(block, "cpu", *after(steps))
    assert raised.value.signal == signal.SIGTERM
    assert block.checkpoint.exists()
    assert not block.log("runs").exists()


def steps_of(block):
    """Run a block to its end and return the steps that it takes."""
    seen = []
    job.run_block(block, "cpu", lambda done, _: seen.append(done))
    return seen


def logs(block):
    """Return all logs of a block except the times, which differ."""
    tables = {kind: parquet.read_log(block, kind) for kind in block.point.logs}
    tables["runs"] = tables["runs"].drop(columns="seconds")
    return {kind: pa.Table.from_pandas(frame) for kind, frame in tables.items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, engine):
    """Return the logs of the usual block, run without interruption."""
    block = block_of(tmp_path_factory.mktemp("undisturbed"))
    job.run_block(block, "cpu")
    return logs(block)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("steps", [(0,), (5, 6, 30), (40,), (63,)], ids=str)
def test_an_interrupted_block_ends_as_if_nothing_had_happened(tmp_path, engine, name, steps):
    """Bit by bit, if interrupted at step 0, three times, at the end, or in the second group."""
    undisturbed, block = block_of(tmp_path / "a", name), block_of(tmp_path / "b", name)
    if steps == (63,) and engine == "torch" and block.point.cpu_batch(2) == 2:
        pytest.skip("all its runs advance together")
    job.run_block(undisturbed, "cpu")
    for step in steps:
        interrupt(block, step)
    job.run_block(block, "cpu")
    assert logs(block) == logs(undisturbed)
    assert not block.checkpoint.exists()
    assert parquet.footer(block.log("runs"))["interruptions"] == len(steps)
    assert (parquet.read_log(block, "runs")["seconds"] > 1e-4).all()


@pytest.mark.parametrize(
    ("steps", "is_edited", "made", "goes_on"),
    [
        (41, False, {}, False),
        (40, True, {}, False),
        (40, False, {"python": "4.0"}, False),
        (40, False, {"commit": "another"}, True),
        (40, False, {"machine": "one of 128 cores"}, True),
    ],
    ids=["settings", "code", "versions", "a commit of the same code", "a larger node"],
)
def test_only_what_decides_numbers_makes_a_checkpoint_useless(
    tmp_path, monkeypatch, steps, is_edited, made, goes_on
):
    interrupt(block_of(tmp_path), 20)
    block, made = block_of(tmp_path, steps=steps), provenance.made_by() | made
    monkeypatch.setattr(job.provenance, "made_by", lambda: made)
    if is_edited:
        monkeypatch.setattr(job.fingerprint, "digest", lambda *_, **_k: "other")
    assert steps_of(block)[0] == (21 if goes_on else 0)
    assert not block.checkpoint.exists()


def test_a_checkpoint_of_another_start_is_left_unused(tmp_path):
    """The parent runs of the block were repeated, with other results."""
    study = config(tmp_path, steps=40)
    study["experiments"]["after"] = study["experiments"]["e"] | {
        "interventions": [{"keep": {"strongest": 2, "of": "e"}}]
    }
    base, block = planning.plan(study).ordered_blocks
    job.run_block(base, "cpu")
    interrupt(block, 20)
    rewrite(base.log("signals"), lambda frame: frame.assign(signal=frame["signal"] + 1))
    assert steps_of(block)[0] == 0


def test_a_checkpoint_that_is_damaged_or_of_another_release_is_left_unused(
    undisturbed, tmp_path, caplog
):
    """Whichever byte flips, the block starts again."""
    block = block_of(tmp_path)
    interrupt(block, 20)
    whole, other = block.checkpoint.read_bytes(), pickle.dumps({})
    positions = np.random.default_rng(0).integers(len(whole), size=12)
    damaged = [*(flipped(whole, i) for i in positions), whole[:1000], b""]
    caplog.set_level("INFO")
    for content in (*damaged, hashlib.sha256(other).digest() + other):
        block.checkpoint.write_bytes(content)
        assert steps_of(block)[0] == 0
        assert logs(block) == undisturbed
        assert not block.checkpoint.exists()
    assert caplog.text.count("is damaged; left unused") == len(damaged)
    assert "cannot be used (KeyError: 'made_by'); left unused" in caplog.text


def test_a_full_disk_does_not_end_a_run(tmp_path, monkeypatch):
    """A run that was asked to end reports that nothing was saved."""
    monkeypatch.setattr(checkpoint, "FIRST", 0.0)
    block = block_of(tmp_path)

    opened = Path.open

    def full(path, mode="r", **options):
        if "checkpoint" in path.name and "w" in mode:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return opened(path, mode, **options)

    monkeypatch.setattr(Path, "open", full)
    job.run_block(block, "cpu")
    assert block.log("runs").exists()
    with pytest.raises(Interrupted, match="nothing was saved"):
        job.run_block(block_of(tmp_path, steps=41), "cpu", *after(20))


def test_one_block_twice_at_once_disturbs_nobody(undisturbed, tmp_path, monkeypatch):
    """For example a Snakemake killed and restarted, on a file system without locks."""

    monkeypatch.setattr(locks, "hold", lambda *_: None)
    block = block_of(tmp_path)

    def other(done, _):
        if done == 20:
            interrupt(block, 30)  # saves a checkpoint of the same block
        if done == 30:
            job.run_block(block, "cpu")  # resumes from the checkpoint, ends first and removes it
            assert not block.checkpoint.exists()

    job.run_block(block, "cpu", other)
    assert logs(block) == undisturbed


def test_a_block_resumes_on_another_machine_from_the_address(undisturbed, tmp_path, engine):
    """The folder of results is lost with the machine; the address is not."""
    address = (tmp_path / "kept").as_uri()
    block = block_of(tmp_path / "first")
    with pytest.raises(Interrupted):
        job.run_block(block, "cpu", *after(20), address=address)
    shutil.rmtree(tmp_path / "first")
    block = block_of(tmp_path / "second")
    job.run_block(block, "cpu", address=address)
    assert parquet.footer(block.log("runs"))["interruptions"] == 1
    assert logs(block) == undisturbed
    assert not [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]


def test_an_address_that_cannot_be_reached_stops_no_run(tmp_path, caplog):
    block = block_of(tmp_path)
    with caplog.at_level("INFO"), pytest.raises(Interrupted, match="saved"):
        job.run_block(block, "cpu", *after(20), address="what://is/this")
    assert "checkpoint: what://is/this" in caplog.text
    assert block.checkpoint.exists()
