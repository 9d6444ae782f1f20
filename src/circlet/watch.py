"""Progress display of a running study, in the terminal that runs it or in any other.

It only reads files, so it works the same on local cores and on SLURM: existing logs and targets,
and the text logs of jobs, which report progress every ten seconds.
"""

import atexit
import contextlib
import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from circlet import formatting
from circlet.errors import LogError
from circlet.storage import parquet, progress
from circlet.study import cost, targets
from circlet.study.blocks import Block
from circlet.study.plan import Study
from circlet.study.targets import Target

FRESH = 60.0  # seconds without output after which a job counts as dead
LINES = 6  # most lines for running and for failed jobs
INTERVAL_S = {True: 1.0, False: 30.0}  # seconds between looks: on a terminal, and otherwise
LOOKING = 0.05  # largest share of the time spent looking

log = logging.getLogger("circlet")


@dataclass(frozen=True)
class State:
    """The state of a study: what is done, what runs, and what failed."""

    runs: tuple[int, int]  # done, planned
    targets: tuple[int, int]
    share: float  # done, of the expected computing time, with the progress of running blocks
    running: dict[str, float]  # share done of blocks and targets, NaN if unknown
    failed: dict[str, str]  # errors of blocks and targets
    figure: Path | None  # the latest one made since the watch began

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to make."""
        return self.runs[0] == self.runs[1] and self.targets[0] == self.targets[1]


@dataclass
class Watch:
    """Repeated looks at a study; what is done is not checked again."""

    study: Study
    requested: Iterable[Path] | None = None
    """Files that are made if these are not all of the study: ``snakemake logs_frozen``."""
    old: Mapping[Path, float] = field(default_factory=dict)
    """Files that will be made again, with the times of their last change before that."""
    since: float = 0.0
    """When the watch began: jobs whose logs are older neither run nor have failed."""

    def __post_init__(self) -> None:
        files = None if self.requested is None else set(self.requested)
        self.blocks = [
            block for block in self.study.ordered_blocks
            if files is None or not files.isdisjoint(block.logs)
        ]  # fmt: skip
        self.targets = [
            target for target in targets.ordered(self.study)
            if files is None or not files.isdisjoint(target.outputs)
        ]  # fmt: skip
        # Figures of trained runs only: a figure of theory is made before any training.
        self.figures = {
            t.outputs[0] for t in self.targets if t.kind == "figures" and targets.trained_for(t)
        }
        self.seconds = {b.key: cost.job_seconds(b) for b in self.blocks}
        self.each = cost.target_seconds()
        self.whole = sum(self.seconds.values()) + self.each * len(self.targets)
        self.done: set[tuple] = set()  # keys of blocks
        self.made: set[Path] = set()  # first outputs of targets
        self.first: tuple[float, float] | None = None  # time, and share done, at the first look

    def look(self) -> State:
        """Return the current state."""
        running: dict[str, float] = {}
        failed: dict[str, str] = {}
        spent = 0.0
        for block in self.blocks:
            if self._is_done(block):
                spent += self.seconds[block.key]
                continue
            name = "/".join(block.key)
            is_running, share, error = self._job_state(block.job_log)
            if error:
                failed[name] = error
            elif is_running:
                running[name] = share
                spent += self.seconds[block.key] * (share if share == share else 0.0)
        for target in self.targets:
            if not self._is_made(target):
                is_running, _, error = self._job_state(target.job_log)
                name = f"{target.kind.removesuffix('s')} {target.name}"
                if error:
                    failed[name] = error
                elif is_running:
                    running[name] = float("nan")
        made = len(self.made)
        made_at = {path: path.stat().st_mtime for path in self.figures & self.made if path.exists()}
        figures = [path for path, at in made_at.items() if at >= self.since]
        return State(
            runs=(sum(b.count for b in self.blocks if b.key in self.done),
                  sum(b.count for b in self.blocks)),
            targets=(made, len(self.targets)),
            share=(spent + self.each * made) / self.whole if self.whole else 1.0,
            running=running,
            failed=failed,
            figure=max(figures, key=lambda path: made_at[path], default=None),
        )  # fmt: skip

    def seconds_left(self, state: State, now: float) -> float | None:
        """Return the time left at the speed since the first look; None if not yet known."""
        if self.first is None:
            self.first = now, state.share
        began, before = self.first
        if now - began < 5 or state.share <= before:
            return None
        return (1 - state.share) * (now - began) / (state.share - before)

    def _is_done(self, block: Block) -> bool:
        if block.key in self.done:
            return True
        if self._is_old(block.log("runs")) or progress.state(block) != "done":
            return False
        self.done.add(block.key)
        return True

    def _is_made(self, target: Target) -> bool:
        """Return whether a target is made: a table with its key, others after their inputs."""
        first = target.outputs[0]
        if first in self.made:
            return True
        try:
            if self._is_old(first):
                return False
            if target.kind == "tables":
                made = parquet.footer(first).get("key") == target.key
            else:
                oldest = min(path.stat().st_mtime for path in target.outputs)
                read = [path for table in target.tables for path in table.outputs]
                made = all(self._is_made(t) for t in target.tables) and all(
                    path.stat().st_mtime <= oldest for path in read
                )
        except (LogError, OSError):
            return False
        if made and target in self.targets:
            self.made.add(first)
        return made

    def _is_old(self, path: Path) -> bool:
        return path in self.old and path.exists() and path.stat().st_mtime == self.old[path]

    def _job_state(self, job_log: Path) -> tuple[bool, float, str]:
        """Read the text log of a job: whether it runs, the share done, and its error."""
        written = job_log.stat().st_mtime if job_log.exists() else 0.0
        if written < self.since:
            return False, float("nan"), ""
        last = progress.last_line(job_log) or ""
        if last.startswith("error:"):
            return False, float("nan"), last.removeprefix("error: ")
        matched = re.search(r": (\d+) % done", last)
        is_fresh = time.time() - written < FRESH
        return is_fresh, int(matched[1]) / 100 if matched else float("nan"), ""


def when(state: State, seconds_left: float | None) -> str:
    """Return the time left, in words."""
    if state.is_done:
        return "done"
    return (
        f"about {formatting.duration(seconds_left)} left"
        if seconds_left is not None
        else "time left: unknown"
    )


def counts(state: State) -> str:
    """Return how many runs and targets are done, and how many jobs failed, in words."""
    runs, made = (f"{done} of {planned}" for done, planned in (state.runs, state.targets))
    failed = f"; {len(state.failed)} failed" if state.failed else ""
    return f"{runs} runs, {made} tables, figures and pages{failed}"


def summary(state: State, seconds_left: float | None) -> str:
    """Return the state in a line."""
    return f"{100 * state.share:.0f} %, {when(state, seconds_left)}: {counts(state)}"


def display(state: State, seconds_left: float | None) -> RenderableType:
    """Return the state as a few lines for a terminal."""
    head = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=1, completed=state.share, width=36)
    head.add_row(bar, Text(f"{100 * state.share:.0f} %, {when(state, seconds_left)}"))
    rows = Table.grid(padding=(0, 1))
    rows.add_column(min_width=6, no_wrap=True)
    rows.add_column(overflow="ellipsis", no_wrap=True)
    rows.add_row("done", counts(state))
    for what, names, style in (
        ("runs", [f"{100 * s:2.0f} %  {n}" if s == s else n for n, s in state.running.items()], ""),
        ("failed", [f"{name}: {error}" for name, error in state.failed.items()], "red"),
    ):
        shown = names[:LINES] + ([f"and {len(names) - LINES} more"] if len(names) > LINES else [])
        for name in shown:
            rows.add_row(Text(what, style), Text(name, style))
    if state.figure:
        rows.add_row(Text("look", "dim"), Text(str(state.figure), "dim"))
    return Group(head, rows)


def show(watch: Watch, wait: Callable[[float], bool | None]) -> None:
    """Display the progress of a study until it is done, or until ``wait(seconds)`` is true.

    Other messages appear above the display. If standard error is not a terminal, this prints a line
    every thirty seconds, and one for each failure.
    """
    console = Console(file=sys.stderr, highlight=False, soft_wrap=False)
    interval = INTERVAL_S[console.is_terminal]
    printed: set[str] = set()
    with contextlib.ExitStack() as stack:
        live = None
        if console.is_terminal:
            live = stack.enter_context(Live(console=console, auto_refresh=False))
        over = False
        while True:
            began = time.monotonic()
            state = watch.look()
            now = time.monotonic()
            seconds_left = watch.seconds_left(state, now)
            if live is None:
                lines = [f"failed: {name}: {error}" for name, error in state.failed.items()]
                for line in (*lines, summary(state, seconds_left)):
                    if line not in printed:
                        printed.add(line)
                        console.print(line, markup=False, soft_wrap=True)
            else:
                live.update(display(state, seconds_left), refresh=True)
            if state.is_done or over:
                return
            over = bool(wait(max(interval, (now - began) / LOOKING)))


class Display:
    """Display of a study in a separate thread, while Snakemake makes it."""

    def __init__(self, watch: Callable[[], Watch]):
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._show, args=(watch,), daemon=True)
        self.has_failed = False

    @property
    def is_on(self) -> bool:
        """Whether the display runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the display; it stops at exit at the latest and restores the terminal."""
        self._thread.start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """Show the final state and stop."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _show(self, watch: Callable[[], Watch]) -> None:
        try:
            show(watch(), self._over.wait)
        except Exception as error:  # an error in the display must not stop the study
            self.has_failed = True
            log.warning("no progress is displayed: %s: %s", type(error).__name__, error)
