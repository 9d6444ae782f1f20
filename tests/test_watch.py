"""What the display of a running study says, from files as jobs leave them."""

import math
import os

import pytest
from conftest import experiment

from circlet import watch
from circlet.storage import parquet
from circlet.study.plan import Study
from circlet.training import job


@pytest.fixture
def study(tmp_path):
    return Study.of(
        {"results": str(tmp_path / "results"),
         "experiments": {"e": experiment(steps=5, block=2, seeds={"count": 6})}}
    )  # fmt: skip


def said(block, text, age=0.0):
    """A block's job has written this to its text log, so many seconds ago."""
    block.job_log.parent.mkdir(parents=True, exist_ok=True)
    block.job_log.write_text(text)
    then = block.job_log.stat().st_mtime - age
    os.utime(block.job_log, (then, then))


def test_blocks_count_by_what_is_expected_of_them(study):
    looking = watch.Watch(study)
    nothing = looking.look()
    assert nothing.runs == (0, 6) and nothing.share == 0 and not nothing.running
    first, second, third = study.ordered_blocks
    job.run_block(first, "cpu")
    said(second, "e/p/00002-00003: 50 % done, about 3 s left\n")
    said(third, "")
    state = looking.look()
    assert state.runs == (2, 6) and not state.is_done
    assert state.running["/".join(second.key)] == 0.5
    assert math.isnan(state.running["/".join(third.key)])
    own = looking.seconds[first.key]
    assert state.share == pytest.approx(1.5 * own / looking.whole)
    assert "2 of 6 runs" in watch.summary(state, None)


def test_a_block_that_failed_or_went_silent_does_not_run(study):
    first, second, _ = study.ordered_blocks
    said(first, "error: the disk is full\n")
    said(second, "e/p/00002-00003: 50 % done, about 3 s left\n", age=2 * watch.FRESH)
    state = watch.Watch(study).look()
    assert state.running == {}
    assert len(state.failed) == 1 and "the disk is full" in state.failed[0]
    assert "1 failed" in watch.summary(state, None)


def test_outdated_logs_are_not_done(study):
    for block in study.ordered_blocks:
        job.run_block(block, "cpu")
    edited = study.config | {"experiments": {"e": experiment(steps=6, block=2, seeds={"count": 6})}}
    assert watch.Watch(study).look().runs == (6, 6)
    assert watch.Watch(Study.of(edited)).look().runs == (0, 6)


def test_time_left_follows_the_pace(study):
    looking = watch.Watch(study)

    def at(share):
        return watch.State((0, 6), (0, 1), share, {}, [], None)

    assert looking.seconds_left(at(0.2), 100.0) is None
    assert looking.seconds_left(at(0.2), 200.0) is None  # no progress: no pace
    assert looking.seconds_left(at(0.4), 200.0) == pytest.approx(300)


def test_targets_are_done_when_they_are_of_this_plan(study, monkeypatch):
    looking = watch.Watch(study)
    table = next(t for t in looking.targets if t.kind == "tables")
    monkeypatch.setattr(parquet, "footer", lambda _: {"key": table.key})
    assert looking._is_made(table)
    monkeypatch.setattr(parquet, "footer", lambda _: {"key": "another"})
    assert not looking._is_made(table)


def test_elsewhere_than_on_a_terminal_it_says_a_line(study, capsys):
    for block in study.ordered_blocks:
        job.run_block(block, "cpu")
    watch.show(study, is_over=lambda: True)
    assert "6 of 6 runs" in capsys.readouterr().err
