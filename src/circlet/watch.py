"""How far a study is while it runs: one display, in the terminal that runs it or in any other.

All of it is seen from files, so it is the same on local cores and on SLURM: logs and targets that
are there, and the text logs of jobs, which say every ten seconds how far a block is.
"""

import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from circlet import terminal
from circlet.errors import LogError
from circlet.storage import parquet, progress
from circlet.study import cost, targets
from circlet.study.plan import Study
from circlet.study.points import Block
from circlet.study.targets import Target

START_SECONDS = 2.0  # that a job takes besides its computing: Python and its libraries
TARGET_SECONDS = 3.0  # of the job of a table, a figure or a page, on average
FRESH = 60.0  # seconds since a job last wrote to its text log, until it is taken for dead
LINES = 6  # of what runs, and of what has failed
EVERY = {True: 1.0, False: 30.0}  # seconds between looks: on a terminal, and elsewhere


@dataclass(frozen=True)
class State:
    """What is done of a study, what runs, and what failed."""

    runs: tuple[int, int]  # done, planned
    targets: tuple[int, int]
    share: float  # of the expected computing time, with what running blocks say of themselves
    running: dict[str, float]  # share done of every block, NaN where it has not said
    failed: list[str]
    figure: Path | None  # the latest that can be looked at

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to make."""
        return self.runs[0] == self.runs[1] and self.targets[0] == self.targets[1]


@dataclass
class Watch:
    """Looks at a study again and again; what was done once is not looked at any more."""

    study: Study
    done: set[tuple] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.blocks = self.study.ordered_blocks
        self.targets = targets.ordered(self.study)
        self.seconds = {b.key: cost.cpu_seconds(b) + START_SECONDS for b in self.blocks}
        self.whole = sum(self.seconds.values()) + TARGET_SECONDS * len(self.targets)
        self.first: tuple[float, float] | None = None  # time and share when it began to look

    def look(self) -> State:
        """The state now."""
        running: dict[str, float] = {}
        failed: list[str] = []
        spent = 0.0
        for block in self.blocks:
            if self._is_done(block):
                spent += self.seconds[block.key]
                continue
            name, (is_running, share, error) = "/".join(block.key), _said(block.job_log)
            if error:
                failed.append(f"{name}: {error}")
            elif is_running:
                running[name] = share
                spent += self.seconds[block.key] * (share if share == share else 0.0)
        made = [target for target in self.targets if self._is_made(target)]
        for target in self.targets:
            if target not in made and (error := _said(target.job_log)[2]):
                failed.append(f"{target.name}: {error}")
        figures = [path for t in made if t.kind == "figures" for path in t.outputs]
        return State(
            runs=(sum(b.count for b in self.blocks if b.key in self.done),
                  sum(b.count for b in self.blocks)),
            targets=(len(made), len(self.targets)),
            share=(spent + TARGET_SECONDS * len(made)) / self.whole if self.whole else 1.0,
            running=running,
            failed=failed,
            figure=max(figures, key=lambda path: path.stat().st_mtime, default=None),
        )  # fmt: skip

    def seconds_left(self, state: State, now: float) -> float | None:
        """Time left, at the pace since the first look; None as long as nothing is known of it."""
        if self.first is None:
            self.first = now, state.share
        began, share = self.first
        if state.share - share < 2e-4 or now - began < 5:
            return None
        return (1 - state.share) * (now - began) / (state.share - share)

    def _is_done(self, block: Block) -> bool:
        if block.key in self.done:
            return True
        if not all(path.exists() for path in block.logs) or progress.state(block) != "done":
            return False
        self.done.add(block.key)
        return True

    def _is_made(self, target: Target) -> bool:
        """Whether a target is there: a table as planned, others made after what they read."""
        try:
            if target.kind == "tables":
                return parquet.footer(target.outputs[0]).get("key") == target.key
            oldest = min(path.stat().st_mtime for path in target.outputs)
            read = [path for table in target.tables for path in table.outputs]
            return all(self._is_made(t) for t in target.tables) and all(
                path.stat().st_mtime <= oldest for path in read
            )
        except (LogError, OSError):
            return False


def _said(job_log: Path) -> tuple[bool, float, str]:
    """Of the text log of a job: whether it runs, which share it has done, and its error."""
    try:
        lines = job_log.read_text(encoding="utf-8", errors="replace").splitlines()
        is_fresh = time.time() - job_log.stat().st_mtime < FRESH
    except OSError:
        return False, float("nan"), ""
    last = lines[-1] if lines else ""
    if last.startswith("error:"):
        return False, float("nan"), last.removeprefix("error: ")
    found = re.search(r": (\d+) % done", last)
    return is_fresh, int(found[1]) / 100 if found else float("nan"), ""


def summary(state: State, left: float | None) -> str:
    """The state in a line."""
    when = "done" if state.is_done else (
        f"about {terminal.duration(left)} left" if left is not None else "time left: not known yet"
    )  # fmt: skip
    runs, made = (f"{done} of {planned}" for done, planned in (state.runs, state.targets))
    failed = f"; {len(state.failed)} failed" if state.failed else ""
    return (
        f"{100 * state.share:.0f} %: {runs} runs, {made} tables, figures and pages; {when}{failed}"
    )


def picture(state: State, left: float | None) -> RenderableType:
    """The state as a few lines for a terminal."""
    bar = ProgressBar(total=1, completed=state.share, width=40)
    parts: list[RenderableType] = [bar, Text(summary(state, left))]
    for what, names in (
        ("runs", [f"{n}  {100 * s:.0f} %" if s == s else n for n, s in state.running.items()]),
        ("failed", state.failed),
    ):
        style = "red" if what == "failed" else ""
        parts += [Text(f"{what}: {name}", style, overflow="ellipsis", no_wrap=True)
                  for name in names[:LINES]]  # fmt: skip
        if len(names) > LINES:
            parts.append(Text(f"{what}: and {len(names) - LINES} more", style))
    if state.figure:
        parts.append(Text(f"look:  {state.figure}", "dim"))
    return Group(*parts)


def show(study: Study, is_over: Callable[[], bool] = lambda: False) -> None:
    """Display how far a study is until it is done, or is over; ctrl-C ends it, too.

    Where standard error is no terminal, a line every thirty seconds.
    """
    watch, console = Watch(study), Console(file=sys.stderr, highlight=False)
    every = EVERY[console.is_terminal]
    last = ""
    with Live(console=console, auto_refresh=False, transient=False) as live:
        while True:
            state = watch.look()
            left = watch.seconds_left(state, time.monotonic())
            if console.is_terminal:
                live.update(picture(state, left), refresh=True)
            elif (line := summary(state, left)) != last:
                print(line, file=sys.stderr, flush=True)
                last = line
            if state.is_done or is_over():
                return
            time.sleep(every)
