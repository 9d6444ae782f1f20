"""Text for the terminal: the plan and the status. The scorecard is in `circlet.pages.summary`."""

import contextlib
import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from circlet import native
from circlet.errors import LogError
from circlet.formatting import change, duration, interval, number
from circlet.storage import parquet, progress
from circlet.study import cost, limits, targets
from circlet.study.blocks import Block
from circlet.study.plan import Study
from circlet.study.registry import PACKAGE

MOST_ROWS = 30  # of a comparison
MOST_FAILED = 20  # listed when a study ends early
MOST_NAMES = 12  # most points of an experiment to list in full
PAGES = 2  # the report and the explorer


def aligned(header: Iterable[str], rows: list[tuple], align: str) -> str:
    """Return a table with aligned columns; ``align`` has < or > for each."""
    cells = [tuple(header), *[tuple(map(str, row)) for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(align))]
    lines = [
        "  ".join(f"{cell:{a}{w}}" for cell, a, w in zip(row, align, widths, strict=True)).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)


def plan(study: Study) -> str:
    """Return the plan as text: experiments with points, runs, blocks and CPU time; targets."""
    progress.check_parents(study)
    limits.check_measured(study.points)
    rows = [_costs(study, name) for name in study.config.experiments]
    columns = list(zip(*rows, strict=True))
    total = ("total", "", *map(sum, columns[2:6]), *map(max, columns[6:]))
    header = ("experiment", "system", "points", "runs", "blocks", "CPU time", "MB", "min")
    cells = [(*row[:5], "~" + duration(row[5]), *row[6:]) for row in [*rows, total]]
    tables, figures = targets.names(study)
    lines = [
        aligned(header, cells, "<<>>>>>>"),
        "",
        "CPU time: estimate for one core of this machine. MB, min: memory and time limit (minutes) "
        "of a CPU job of the largest block. SLURM adds 500 MB for Snakemake.",
        _left(study, total[3], total[5], len(tables) + len(figures) + PAGES),
        "",
    ]
    for name in study.config.experiments:
        names = [point.name for point in study.experiment(name)]
        shown = names if len(names) <= MOST_NAMES else [*names[:2], "...", names[-1]]
        lines.append(f"{name}: {' '.join(shown)}")
    if why := native.missing():
        lines += ["", f"{why}; PyTorch trains instead, several times slower"]
    if study.folders:
        for target in targets.ordered(study):
            _ = target.key  # raises the errors of users' collections, as Snakemake would
    lines += [
        "",
        f"tables:  {' '.join(tables)}",
        f"figures: {' '.join(figures)}",
        f"results: {study.results}",
    ]
    made = {path.name for path in (study.results / "logs").glob("*")}
    if others := sorted(made - study.config.experiments.keys() - study.config.parents.keys()):
        lines.append(
            f"Experiments that only the results have: {', '.join(others)}. If they belong to "
            "another config, give each its own `results`: both write the same tables."
        )
    return "\n".join(lines)


def _costs(study: Study, name: str) -> tuple[Any, ...]:
    """Return the row of an experiment in the plan, with its CPU time in seconds."""
    points = study.experiment(name)
    blocks = [block for point in points for block in point.blocks]
    runs, seconds = sum(point.count for point in points), sum(map(cost.job_seconds, blocks))
    largest = max(map(cost.memory_mb, blocks)), max(map(cost.minutes, blocks))
    return (name, points[0].system.name, len(points), runs, len(blocks), seconds, *largest)


def _left(study: Study, runs: int, seconds: float, n_targets: int) -> str:
    """Return how many runs are finished, and how long the rest and all targets take."""
    after, cores = n_targets * cost.target_seconds(), len(os.sched_getaffinity(0))
    done = [block for block, state in progress.states(study) if state == "done"]
    left = seconds + after - sum(map(cost.job_seconds, done))
    finished = f"{sum(b.count for b in done)} of {runs} runs are finished. " if done else ""
    return (
        f"{finished}With {n_targets} tables, figures and pages (~{duration(after)} of CPU time): "
        f"about {duration(left / cores)} on the {cores} cores of this machine."
    )


def status(study: Study, verify: bool = False) -> str:
    """Return the runs of each experiment by state, and notes on what needs attention.

    Started runs are running, or were interrupted. Outdated ones were made with other settings or
    by another version of their system. Only the footers of logs and the statuses of runs
    are read, unless ``verify`` is true: then all logs and tables are.
    """
    states = progress.states(study)
    counted: dict[str, Counter[str]] = {}
    for block, state in states:
        counted.setdefault(block.point.experiment, Counter())[state] += block.count
    rows = [*counted.items(), ("total", sum(counted.values(), Counter()))]
    cells = [(name, n.total(), *(n[state] for state in progress.STATES)) for name, n in rows]
    table = aligned(("runs of", "planned", *progress.STATES), cells, "<>>>>>>>")
    return "\n".join([table, *dict.fromkeys(_notes(study, states, verify))])


def _notes(study: Study, states: list[tuple[Block, str]], verify: bool) -> Iterator[str]:
    for block, state in states:
        if state == "failed":
            yield f"failed: see {block.job_log}"
        if state == "damaged":
            yield f"damaged: delete {block.log('runs').parent} and run again"
    yield from _outdated(states)
    yield from _without_a_result(states)
    for line in progress.edited_systems(study, states):
        yield f"code changed: {line}"
    if verify:
        for line in progress.damage(study, states):
            yield f"damaged: {line}"
        yield "Every byte of the finished logs and of the tables was read."
    elif any(state == "done" for _, state in states):
        yield (
            "Only the footers of logs and how runs ended were read; status --verify reads every "
            "byte."
        )


def _outdated(states: list[tuple[Block, str]]) -> Iterator[str]:
    """Yield which runs the next run makes again, and why: a line per experiment and reason."""
    alike: dict[tuple[str, str, bool], list[Block]] = {}
    planned = Counter(block.point.experiment for block, _ in states)
    for block, state in states:
        if state == "outdated":
            with contextlib.suppress(LogError):  # a job may be replacing it now
                why = ", ".join(parquet.differing(block))
                key = (block.point.experiment, why, _goes_on(block, why))
                alike.setdefault(key, []).append(block)
    for (experiment, why, goes_on), blocks in alike.items():
        folders = {str(block.log("runs").parents[1]) for block in blocks}
        if len(blocks) == planned[experiment]:
            folders = {str(blocks[0].log("runs").parents[2])}
        seconds = sum(cost.cpu_seconds(block) for block in blocks)
        yield (
            f"outdated: {sum(block.count for block in blocks)} runs of {experiment} were made with "
            f"other settings ({why}); the next run {'continues' if goes_on else 'replaces'} them "
            f"(~{duration(seconds)} of CPU time{' from step 0' if goes_on else ''}). If "
            f"Snakemake finds nothing to do, delete {' '.join(sorted(folders))}"
        )


def _goes_on(block: Block, why: str) -> bool:
    """Return whether a finished block with other settings can be continued."""
    if why != "steps" or not block.point.settings.keep_state or not block.state.exists():
        return False
    return bool(parquet.footer(block.log("runs"))["spec"]["steps"] < block.point.steps)


def _without_a_result(states: list[tuple[Block, str]]) -> Iterator[str]:
    """Yield how many done runs of each experiment have no result, and why."""
    ends: dict[str, Counter[str]] = {}
    for block, state in states:
        if state == "done":
            with contextlib.suppress(LogError):  # --verify reports damage
                ends.setdefault(block.point.experiment, Counter()).update(parquet.statuses(block))
    for experiment, counts in ends.items():
        of = f"of {counts.total()} done runs of {experiment}"
        if counts["diverged"]:
            yield f"diverged: {counts['diverged']} {of}"
        if counts["no_parent"]:
            yield f"no parent: {counts['no_parent']} {of} had no finished run to start from"


def failures(study: Study, partial: str) -> str:
    """Return what failed in a run of the study that ended early, and what to do.

    ``partial`` is the command that makes tables and report of the finished runs. If the results
    are remote, Snakemake's own messages say what failed.
    """
    then_partial = f"Tables and report of the runs done so far: {partial}"
    if study.is_remote:
        return f"\nRerun the command: it resumes from here.\n{then_partial}"
    states = progress.states(study)
    failed = list(progress.failures(study, states))
    started = (block for block, state in states if state == "started")
    interrupted = sum(map(progress.was_interrupted, started))
    done = sum(block.count for block, state in states if state == "done")
    planned = sum(block.count for block, _ in states)
    lines = ["", f"{done} of {planned} runs are done."]
    if failed:
        lines += [f"{len(failed)} failed:", *(f"  {line}" for line in failed[:MOST_FAILED])]
    if len(failed) > MOST_FAILED:
        lines.append(f"  ... and {len(failed) - MOST_FAILED} more")
    if interrupted:
        lines.append(f"Interrupted, with their checkpoints saved: {interrupted} blocks.")
    then = "Fix the cause and rerun" if failed else "Rerun"
    return "\n".join([*lines, f"{then} the command: it resumes from here.", then_partial])


def python() -> str:
    """Return the command of this Python: a path, unless a shell finds it as ``python``."""
    if shutil.which("python") == sys.executable:
        return "python"
    return shlex.quote(os.path.relpath(sys.executable))


def to_run(config: Path) -> str:
    """Return the command that runs the study of a config file from the working folder."""
    option = f"--configfile {shlex.quote(str(config))}"
    ours = PACKAGE.parents[1] / "Snakefile"
    if not ours.exists():  # circlet is installed from a wheel, which has no workflow
        circlet = f"{python()} -m circlet"
        return f"{circlet} run {option} && {circlet} partial {option}"
    where = "" if Path.cwd() == ours.parent else f"-s {shlex.quote(str(ours))} "
    return f"snakemake {where}--cores all {option}"


def compared(comparison: Any) -> str:
    """Return the differences of two studies (`circlet.sweeps.between`), clearest first."""
    lines = []
    for title, entries in (
        ("config (A -> B)", comparison.config),
        ("code (A -> B)", comparison.code),
        ("verdicts (A -> B)", comparison.verdicts),
        ("not in both", comparison.only),
    ):
        lines += [f"{title}:", *(f"  {entry}" for entry in entries or ["no difference"]), ""]
    rows, n_all = comparison.clearest, len(comparison.outcomes)
    if rows.empty:
        why = "No difference has an interval." if n_all else "No setting has an outcome in both."
        return "\n".join([*lines, why])
    cells = [
        (
            row.at,
            row.label,
            number(row.A),
            number(row.B),
            change(row.estimate),
            interval(row.low, row.high),
            f"{row.n_paired} pairs" if row.n_paired else f"{row.n_first}, {row.n_second} runs",
            "*" * int(row.clear),
        )
        for row in rows.head(MOST_ROWS).itertuples()
    ]
    header = ("setting", "outcome", "A", "B", "B - A", "95 % interval", "of", "")
    lines.append(aligned(header, cells, "<<>>>><<"))
    if len(rows) > len(cells):
        lines.append(f"... and {len(rows) - len(cells)} more, less clear")
    if n_all > len(rows):
        lines.append(f"{n_all - len(rows)} more have no interval")
    return "\n".join(
        [
            *lines,
            f"*: the interval excludes zero ({rows['clear'].sum()} of {len(rows)}). If nothing "
            f"differed, about {0.05 * len(rows):.0f} would by chance",
            "A, B: mean or share of all runs, for steps their median. B - A: by pairs of one seed, "
            "if `of` says so",
        ]
    )
