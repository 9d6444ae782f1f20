"""Which blocks are jobs of their own, and what stays of a group that fails."""

from types import SimpleNamespace

import pytest
from conftest import experiment, planned, ran

from circlet.job_requests import Requests
from circlet.storage import kept, parquet
from circlet.study import cost

STUDY = {
    "short": experiment(system="embedding_mlp", log={"signals": {"every": 1}}),
    "long": experiment(system="embedding_mlp", steps=10_000_000),
    "child": experiment(
        system="embedding_mlp", interventions=[{"keep": {"strongest": [1], "of": "short"}}]
    ),
}


def requests(**profile):
    """Requests of an outer Snakemake with some settings of its profile."""
    components = profile.pop("components", {})
    workflow = SimpleNamespace(
        global_resources={k: SimpleNamespace(value=v) for k, v in profile.items()},
        group_settings=SimpleNamespace(group_components=components),
        register_envvars=lambda *names: None,
        local_exec=False,
    )
    return Requests(workflow, "", lambda block: block, is_outer=True)


@pytest.fixture
def blocks(tmp_path, monkeypatch):
    """The first block of each experiment, by name."""
    for name in ("CIRCLET_GPUS", "CIRCLET_GPU_SHARES", "CIRCLET_GROUP"):
        monkeypatch.setenv(name, "")
    study = planned(tmp_path, **STUDY)
    return {block.point.experiment: block for block in study.blocks}


def test_short_blocks_are_grouped_if_the_profile_says_so(blocks):
    grouped = requests(group_slot=1, components={"short": 10})
    assert {name: grouped.group(block) for name, block in blocks.items()} == {
        "short": "short", "long": None, "child": None,
    }  # fmt: skip
    for profile in ({}, {"group_slot": 1}, {"components": {"short": 10}}):
        alone = requests(**profile)
        assert {alone.group(block) for block in blocks.values()} == {None}


def test_the_minutes_of_a_group_stay_below_the_limit(blocks):
    short = blocks["short"]
    assert requests().block_runtime(short, 1) == cost.minutes(short)
    grouped = requests(group_slot=1, components={"short": 10}, max_runtime=60)
    assert [grouped.block_runtime(short, attempt) for attempt in (1, 2, 3)] == [3, 6, 6]
    assert requests(max_runtime=60).block_runtime(blocks["long"], 1) == 60


def test_jobs_that_share_a_gpu_request_a_shard(blocks):
    shared = requests(gpu=4, gpu_shares=2)
    long, short = blocks["long"], blocks["short"]
    assert (shared.whole_gpus(long), shared.shard(long)) == (None, "shard:1")
    assert (shared.whole_gpus(short), shared.shard(short)) == (None, None)
    whole = requests(gpu=4)
    assert (whole.whole_gpus(long), whole.shard(long)) == (1, None)
    assert requests().whole_gpus(long) is None
    assert cost.memory_mb(long, on_gpu=True) > cost.memory_mb(long)


@pytest.fixture
def copied(tmp_path):
    """A study that ran, and its block, with copies of its logs."""
    study = ran(tmp_path)
    [block] = study.blocks
    kept.keep(block)
    return study, block


def test_copies_of_logs_replace_those_that_were_removed(copied):
    study, block = copied
    log = parquet.read(block.log("runs"))
    for path in block.logs:
        path.unlink()
    kept.restore_all(study)
    assert parquet.read(block.log("runs")).equals(log)
    assert all(path.exists() for path in block.logs)
    kept.remove(study)
    block.log("runs").unlink()
    kept.restore_all(study)
    assert not block.log("runs").exists()


def test_copies_that_other_settings_or_other_code_made_are_not_used(copied, tmp_path, monkeypatch):
    study, block = copied
    [other] = ran(tmp_path, steps=6).blocks
    other.log("runs").unlink()
    kept.restore(other)
    assert not other.log("runs").exists()
    monkeypatch.setattr(kept.fingerprint, "of_system", lambda system: "other")
    kept.restore_all(study)
    assert not block.log("runs").exists()
