"""Progress of a study: the state of each block and of each target."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from circlet.errors import ConfigError, LogError
from circlet.storage import locks, parquet
from circlet.study import fingerprint, registry, targets
from circlet.study.blocks import Block
from circlet.study.plan import Study

# Set while the terminal shows a display of the study: jobs then print nothing to it.
DISPLAYED = "CIRCLET_DISPLAYED"
STATES = ("done", "started", "failed", "outdated", "damaged", "waiting")


def state(block: Block) -> str:
    """Return the state of a block.

    Started blocks are running, or were interrupted or killed. Outdated ones were made with other
    settings or by another version of their system.
    """
    if all(path.exists() for path in block.logs):
        try:
            return "outdated" if parquet.differing(block) else "done"
        except LogError:
            return "damaged"
    last = last_line(block.job_log)
    if last is None:
        return "waiting"
    return "failed" if last.startswith("error:") else "started"


def damage(study: Study, block_states: list[tuple[Block, str]]) -> Iterator[str]:
    """Read all finished logs and existing tables; yields a message for each file with an error."""
    files = [path for block, what in block_states if what == "done" for path in block.logs]
    files += [path for table in targets.tables(study) for path in table.outputs if path.exists()]
    keys = {table.outputs[0]: table.key for table in targets.tables(study)}
    for path in files:
        try:
            parquet.read(path, keys.get(path))
        except LogError as error:
            yield str(error)


def check_parents(study: Study) -> None:
    """Raise ConfigError if a log that the study reads of one of its ``parents`` is missing."""
    for block in study.blocks:
        parent = block.point.parent
        missing_logs = [path for path in block.inputs if not path.exists()]
        if parent and missing_logs and parent.experiment in study.config.parents:
            raise ConfigError(
                f"parents.{parent.experiment}: there is no {missing_logs[0]}; `cp -a` "
                f"logs/{parent.experiment} from the results of the study that runs it, or move "
                f"{parent.experiment} to `experiments`"
            )


def edited_systems(study: Study, block_states: list[tuple[Block, str]]) -> Iterator[str]:
    """Yield a message for each system whose code has changed, but not its version.

    If a system has golden values, they record the code that they were checked with; otherwise its
    finished runs record the code that made them.
    """
    for name in study.systems:
        system = study.specs[name]
        if system.version == "":  # such runs are outdated once the code of their system is edited
            continue
        code = fingerprint.of_system(system)
        where = f"raise `version` in {registry.path_of(system.module)} if numbers changed"
        path = registry.path_of(system.module).parents[1] / "golden" / f"{name}.json"
        if path.exists():
            golden = json.loads(path.read_text(encoding="utf-8"))
            if golden["version"] == system.version and golden["code"] != code:
                yield f"{name} was edited after its golden values were checked; {where}"
            continue
        finished = [b for b, what in block_states if what == "done" and b.point.system.name == name]
        other = [b for b in finished if parquet.footer(b.log("runs")).get("code") != code]
        if other:
            runs = sum(block.count for block in other)
            yield f"{name} was edited after {runs} of its runs were made; {where}"


def states(study: Study) -> list[tuple[Block, str]]:
    """Return all blocks, each with its state."""
    return [(block, state(block)) for block in study.blocks]


def failures(study: Study, block_states: list[tuple[Block, str]]) -> Iterator[str]:
    """Yield a message for each failed block, table and figure, once no job runs any more."""
    for block, what in block_states:
        if what == "failed" or (what == "started" and not was_interrupted(block)):
            yield _failure("/".join(block.key), block.job_log)
        if what == "damaged":
            yield f"{block.log('runs').parent}: is damaged; delete it and run again"
    for target in targets.ordered(study):
        if not all(path.exists() for path in target.outputs):
            last = last_line(target.job_log)
            if last is not None and last.startswith("error:"):
                yield _failure(target.name, target.job_log)


def was_interrupted(block: Block) -> bool:
    """Return whether a started block that no longer runs was ended by a signal, as of ctrl-C."""
    last = last_line(block.job_log) or ""
    # A job that was ended while it waited for another job of its block does not count.
    return last.startswith(("ended by", "interrupted", "terminated")) and locks.WAITED not in last


def _failure(name: str, job_log: Path) -> str:
    last = last_line(job_log) or ""
    if re.search(r": \d+ runs? of \d+ steps, ", last):  # the last line of a finished block
        last = "has finished before, and its logs are gone; see what Snakemake says above"
    elif not last.startswith("error:") and locks.WAITED not in last:
        after_line = f" after “{last}”" if last else ""
        last = f"exited without an error message{after_line}: killed, out of memory or of time?"
    return f"{name}: {last.removeprefix('error: ')} (log: {job_log})"


def last_line(job_log: Path) -> str | None:
    """Last line of a job's log before a traceback; empty if it has none, None if never begun."""
    try:
        text = job_log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    lines = text.partition("\nTraceback (most recent call last):")[0].splitlines()
    return lines[-1] if lines else ""
