"""The display of a running study, from files as jobs leave them."""

import io
import logging
import math
import os
import sys
import time
from types import SimpleNamespace

import pytest
from conftest import config, make_tables, mounted, run_blocks
from rich.console import Console

from circlet import cli, commands, watch
from circlet.storage import progress
from circlet.study import planning
from circlet.training import job
from snakemake_logger_plugin_circlet import LogHandler


@pytest.fixture
def study(tmp_path):
    return planning.plan(config(tmp_path / "results", seeds={"count": 6}))


def said(block, text, age=0.0):
    """Write a text to a block's log, as its job did so many seconds ago."""
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
    seconds = looking.seconds[first.key]
    assert state.share == pytest.approx(1.5 * seconds / looking.whole)
    assert "2 of 6 runs" in watch.summary(state, None)


def test_what_is_prepared_for_the_first_steps_does_not_count_in_the_time_left(
    study, monkeypatch, caplog
):
    now = iter([0.0, 0.0, 8.0, 9.0])
    monkeypatch.setattr(commands.time, "monotonic", lambda: next(now))
    caplog.set_level("INFO")
    shown = commands._Progress(study.ordered_blocks[0])
    for done in (0, 1, 11):  # ten steps a second, after eight seconds for the first
        shown(done, 100)
    [line] = caplog.messages
    assert line.endswith(": 11 % done, about 9 s left")


def test_a_block_that_failed_or_went_silent_does_not_run(study):
    """A job that failed before it began is tried again, and has not failed under this Snakemake."""
    first, second, _ = study.ordered_blocks
    running = "e/p/00002-00003: 50 % done, about 3 s left\n"
    said(first, "error: the disk is full\n", age=10)
    said(second, running, age=2 * watch.FRESH)
    state = watch.Watch(study).look()
    assert state.running == {}
    assert state.failed == {"/".join(first.key): "the disk is full"}
    assert "1 failed" in watch.summary(state, None)
    said(second, running, age=10)
    state = watch.Watch(study, since=time.time() - 5).look()
    assert not state.failed and not state.running and state.share == 0


def test_a_figure_made_before_it_began_is_not_shown(study):
    for since, shown in ((0.0, True), (time.time() + 5, False)):
        looking = watch.Watch(study, since=since)
        figure = min(looking.figures)
        figure.parent.mkdir(parents=True, exist_ok=True)
        figure.touch()
        looking.made.add(figure)
        assert looking.look().figure == (figure if shown else None)


def test_what_is_requested_counts_unless_it_is_outdated_or_made_again(study):
    make_tables(run_blocks(study), "runs")
    block, edited = study.ordered_blocks[0], config(study.results, steps=6, seeds={"count": 6})
    path = block.log("runs")
    again = watch.Watch(study, old={path: path.stat().st_mtime})
    requested = [*block.logs, study.table("runs"), study.table("structures")]
    for looking, runs, tables in (
        (watch.Watch(study), (6, 6), 1),
        (watch.Watch(planning.plan(edited)), (0, 6), 0),
        (watch.Watch(study, requested=requested), (2, 2), 1),
        (again, (4, 6), 1),
    ):
        state = looking.look()
        assert (state.runs, state.targets[0]) == (runs, tables)
    assert watch.Watch(study, requested=requested).look().targets == (1, 2)
    os.utime(path, (0, 0))
    assert again.look().runs == (6, 6)


def state(share=0.0, **changes):
    usual = {"runs": (0, 6), "targets": (0, 1), "running": {}, "failed": {}, "figure": None}
    return watch.State(share=share, **usual | changes)


def test_time_left_follows_the_pace(study):
    looking = watch.Watch(study)
    assert looking.seconds_left(state(0.2), 100.0) is None
    assert looking.seconds_left(state(0.2), 200.0) is None  # no progress, no pace
    assert looking.seconds_left(state(0.4), 200.0) == pytest.approx(300)


@pytest.mark.parametrize("width", [80, 60])
def test_it_has_a_line_for_all_that_there_is(width):
    running = {f"weight_decay/p17_d2_wd0.{i}_initialisation-small_normal/00000-00099": 0.5
               for i in range(9)}  # fmt: skip
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(watch.display(state(0.43, running=running, failed={"table runs": "no"}), 100.0))
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 3 + watch.LINES + 1
    assert all(len(line) <= width for line in lines)
    text = " ".join(console.file.getvalue().split())
    assert "43 %, about 100 s" in text and "failed table runs: no" in text


def on_terminal(monkeypatch):
    """Replace standard error by a terminal of 80 columns."""
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    for name, value in {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    return screen


def test_messages_stand_above_it_and_the_terminal_is_left_as_it_was(study, monkeypatch):
    terminal = on_terminal(monkeypatch)
    usual = {"dryrun": False, "verbose": False, "printshellcmds": False, "quiet": None}
    handler = LogHandler(SimpleNamespace(**usual, stdout=False, nocolor=True), None)

    def wait(seconds):
        handler.emit(logging.makeLogRecord({"msg": "a message of Snakemake"}))
        return True

    watch.show(watch.Watch(study), wait)
    assert sys.stderr is terminal
    shown = terminal.getvalue()
    assert "\x1b[?25l" in shown and shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    above = shown.index("a message of Snakemake")
    assert above < shown.rindex("0 of 6 runs")
    assert shown[:above].endswith("\x1b[2K")  # the display disappears at its position


def test_a_display_that_fails_ends_nothing(caplog):
    display = watch.Display(lambda: None)
    display.start()
    display.stop()
    assert "no progress is displayed: AttributeError: 'NoneType'" in caplog.text


@pytest.mark.parametrize("displayed", [True, False])
def test_jobs_do_not_write_over_it(monkeypatch, tmp_path, displayed):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setenv(progress.DISPLAYED, "1" if displayed else "")
    path = tmp_path / "job.log"
    cli._start_logging(path)
    logging.getLogger("circlet").info("half done")
    assert path.read_text() == "\nhalf done\n"
    assert ("half done" in terminal.getvalue()) == (not displayed)


def test_a_message_has_its_place_when_the_disk_gets_full(tmp_path):
    with mounted(tmp_path / "disk", "size=64k") as disk:
        cli._start_logging(disk / "job.log")
        with pytest.raises(OSError, match="No space left"), (disk / "other").open("wb", 0) as file:
            while True:
                file.write(bytes(1024))
        logging.getLogger("circlet").error("error: it is full")
        logging.basicConfig(force=True)  # closes the log: only then can the disk be unmounted
        assert progress.last_line(disk / "job.log") == "error: it is full"
