"""Functions that run the commands, given their parsed arguments."""

import argparse
import contextlib
import json
import logging
import shlex
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from circlet import build, errors, formatting, terminal
from circlet.lazy_import import load
from circlet.storage import files, kept, progress, remote
from circlet.study import planning, targets
from circlet.study.blocks import Block
from circlet.study.plan import Study

log = logging.getLogger("circlet")

# Signals of schedulers and `kill` before they kill, and of ctrl-C. Not SIGUSR1, which a cluster can
# be set to send: it would kill the Snakemake processes around a job.
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def study_of(arguments: argparse.Namespace) -> Study:
    """Plan the study of a command's config file or JSON; raises ConfigError if it is invalid."""
    if arguments.study is None:
        if arguments.collections:
            raise errors.ConfigError(
                "--collections: needs --study; a config file lists its own collections"
            )
        return planning.plan_file(arguments.configfile)
    text = arguments.study
    if arguments.log:  # a job of Snakemake: a plan has checked this JSON
        return planning.decode(text, arguments.collections or ())
    try:
        if text.endswith(".json"):
            text = Path(text).read_text(encoding="utf-8")
        config = json.loads(text)
    except (OSError, ValueError) as error:
        raise errors.ConfigError(f"--study: cannot be read as JSON: {error}") from None
    if arguments.collections and isinstance(config, dict):
        config["collections"] = arguments.collections
    return planning.plan(config)


def _placed(study: Study, output: Path, first: Path) -> Study:
    """Return the study as a job has it on a machine that stages its files in another folder.

    ``output`` is where the machine has the file that the study calls ``first``.
    """
    depth = len(first.relative_to(study.results).parts)
    return study.staged(Path(*output.parts[:-depth]))


def show_plan(arguments: argparse.Namespace) -> None:
    """Print the plan of the study."""
    print(terminal.plan(study_of(arguments)))


def show_status(arguments: argparse.Namespace) -> None:
    """Print the progress of the study; exit status 1 if verifying it finds damage."""
    if arguments.source and (arguments.watch or arguments.verify):
        raise errors.ConfigError("--from: goes neither with --watch nor with --verify")
    if arguments.watch:
        watch = load("circlet.watch")
        watch.show(watch.Watch(study_of(arguments)), time.sleep)
        return
    study = study_of(arguments)
    if arguments.source is None:
        text = terminal.status(study, arguments.verify)
    else:
        with tempfile.TemporaryDirectory() as folder:
            remote.outline(arguments.source, Path(folder))
            text = terminal.status(study.staged(Path(folder)))
        text = text.replace(folder, arguments.source)
    print(text)
    if arguments.verify and "\ndamaged: " in text:
        sys.exit(1)


def print_scorecard(arguments: argparse.Namespace) -> None:
    """Print the scorecard of the study, or a summary of it."""
    print(getattr(load("circlet.pages.summary"), arguments.command)(study_of(arguments)))


@contextlib.contextmanager
def deferred_signals() -> Iterator[list[int]]:
    """Defer the signals that end a job until a step is done; yields those received."""
    caught: list[int] = []
    previous = {s: signal.signal(s, lambda number, _: caught.append(number)) for s in SIGNALS}
    try:
        yield caught
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def run_blocks(arguments: argparse.Namespace) -> None:
    """Run all blocks of the study, one after another."""
    study = study_of(arguments)
    if arguments.output is not None:
        study = _placed(study, arguments.output[0], next(study.blocks).logs[0])
    job = load("circlet.training.job")
    devices = load("circlet.training.devices")
    # `check` and the measurement of costs show this warning; jobs need not repeat it.
    warnings.filterwarnings(
        "ignore", "There is a performance drop because we have not yet", UserWarning
    )
    # Claim one GPU for all blocks: the process keeps GPU memory until it ends.
    # Stamp blocks first: while this process waits for a GPU, another may finish a block.
    before = [(block, job.stamp(block)) for block in study.ordered_blocks]
    with deferred_signals() as caught, devices.claim(arguments.device, caught) as device:
        for block, stamp in before:
            if caught:
                raise errors.Interrupted(caught[0], f"before {'/'.join(block.key)}")
            if arguments.grouped:
                kept.restore(block)
            job.run_block(block, device, _Progress(block), caught, stamp, arguments.checkpoints)
            if arguments.grouped:
                kept.keep(block)


class _Progress:
    """Logger of a block's progress: after 5 s, then every 10 s, and at its end."""

    def __init__(self, block: Block):
        self.name = "/".join(block.key)
        self.runs, self.steps = block.count, block.point.steps
        self.started = time.monotonic()
        self.first: int | None = None
        self.since: tuple[float, int] | None = None
        self.next = self.started + 5

    def __call__(self, done: int, steps: int) -> None:
        now = time.monotonic()
        spent = now - self.started
        if self.first is None:  # steps done at the first call; not 0 after a checkpoint
            self.first = done
            if done:
                log.info("%s: resumes at %.0f %%", self.name, 100 * done / steps)
        if done == steps:
            runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
            log.info("%s: %s of %d steps, %.1f s", self.name, runs, self.steps, spent)
        elif self.since is None:
            if done > self.first:  # what was prepared for the first steps does not count
                self.since = now, done
        elif done > self.since[1] and now >= self.next:
            self.next = now + 10
            seconds = (now - self.since[0]) / (done - self.since[1]) * (steps - done)
            share = 100 * done / steps
            log.info("%s: %.0f %% done, about %.0f s left", self.name, share, seconds)


def _target(study: Study, command: str, name: str) -> targets.Target:
    """Return the target of a command: a page, or the table or figure of this name."""
    if command in ("report", "explorer"):
        return getattr(targets, command)(study)
    kind = f"{command}s"
    by_name = {target.name: target for target in getattr(targets, kind)(study)}
    errors.check_exist(str(study.results), command, sorted(by_name), [name])
    return by_name[name]


def make_target(arguments: argparse.Namespace) -> None:
    """Make a table, a figure or a page; raises LogError if its key is not the planned one."""
    study = study_of(arguments)
    if arguments.tables is not None:
        pairs = dict(pair.split("=") for pair in arguments.tables.split())
        study = replace(study, keys=pairs)
    name = getattr(arguments, "name", "")
    target = _target(study, arguments.command, name)
    if arguments.output is not None and arguments.output[0] != target.outputs[0]:
        study = _placed(study, arguments.output[0], target.outputs[0])
        target = _target(study, arguments.command, name)
    if arguments.key not in (None, target.key):
        raise errors.LogError(
            f"{target.name}: the config or the code has changed since Snakemake planned it; "
            "run snakemake again"
        )
    build.make(target)


def bench(arguments: argparse.Namespace) -> None:
    """Print the training speed of this machine."""
    benchmark, devices = load("circlet.bench"), load("circlet.training.devices")
    with devices.claim(arguments.device) as device:
        where = load("torch").device(device)
        measured = benchmark.compare(where) if arguments.peers else benchmark.run(where)
    print(json.dumps(measured, indent=2) if arguments.json else benchmark.text(measured))


def compare_folders(arguments: argparse.Namespace) -> None:
    """Print how two studies differ; with --values, how files differ, and exit 1 if they do."""
    if arguments.values:
        compare = load("circlet.compare")
        text, equal = compare.folders(arguments.a, arguments.b, arguments.rtol, arguments.ignore)
        print(text)
        if not equal:
            sys.exit(1)
        return
    comparison = load("circlet.sweeps.between").studies(arguments.a, arguments.b)
    print(terminal.compared(comparison))


def publish(arguments: argparse.Namespace) -> None:
    """Write a study as a data set, and print its size and how to upload it."""
    published = load("circlet.publish")
    folder, to = arguments.folder, arguments.to
    data = load("circlet.publish.data").read(
        folder,
        with_logs=arguments.logs,
        licence=arguments.licence,
        collections=arguments.collections,
    )
    if to is None:
        to = (Path("results") / data.name if data.is_frozen else folder) / "published"
    published.write(data, to)
    size = sum(size for _, size in data.sums.values())
    parts = f"{len(data.tables)} tables" + f", {len(data.logs)} logs" * arguments.logs
    print(f"{to}: {parts}, {formatting.size(size)}")
    others = [p.stat().st_size for p in folder.glob("logs/*/*/seeds_*/*.parquet")]
    if others and not arguments.logs:
        print(
            f"without logs: {len(others)} files, {formatting.size(sum(others))}; --logs copies them"
        )
    print(f"next: hf upload OWNER/{data.name} {shlex.quote(str(to))} --repo-type dataset")


def make_new(arguments: argparse.Namespace) -> None:
    """Write template files, and print the next command."""
    path, name = arguments.path, getattr(arguments, "name", None)
    for file in load("circlet.new").make(arguments.kind, path, name):
        print(f"made {file}")
    if arguments.kind == "collection":
        print(f"next: circlet new system {shlex.quote(str(path))} NAME")
        return
    print(f"next: edit it; circlet check {shlex.quote(str(path))}")
    if arguments.kind == "system":
        print(f"then: {terminal.to_run(path / f'{name}.yaml')}")


def check_collection(arguments: argparse.Namespace) -> None:
    """Check a collection and print the results; exit status 1 if there are errors."""
    check = load("circlet.check")
    failed = 0
    for check_ in check.collection(arguments.path):
        failed += check_.result == "error"
        print(f"{check_.result:5} {check_.subject}: {check_.text}", flush=True)
    if failed:
        sys.exit(f"{failed} errors" if failed > 1 else "1 error")


def make_partial(arguments: argparse.Namespace) -> None:
    """Make tables, figures and pages from the blocks that are done, in a separate folder.

    The command reads finished logs only, so it also works while a sweep runs.
    """
    whole = study_of(arguments)
    if arguments.source is not None:
        whole = whole.staged(whole.results / "remote")
        copied = remote.mirror(arguments.source, whole.results)
        print(f"copied {copied} files of {arguments.source} to {whole.results}")
    states = progress.states(whole)
    done = [block for block, state in states if state == "done"]
    if not done:
        raise errors.LogError(f"{whole.results}: no run has finished yet")
    study = whole.partial(done)
    *parts, report, explorer = targets.ordered(study)
    outputs = [path for target in (*parts, report, explorer) for path in target.outputs]
    with files.marked_folder(study.folder, outputs) as made:
        for target in (*parts, report, explorer):
            try:
                # Tables and figures see only their experiments; pages also see what is left out.
                build.make(target if target in parts else replace(target, study=study))
            except errors.LogError as error:
                # Without the table of runs, or on a full disk, nothing can be made.
                full = isinstance(error, errors.WriteError)
                if full or target.name in ("runs", "report", "explorer"):
                    raise
                study = replace(study, left_out=(*study.left_out, target.name))
                log.info("%s is left out: %s", target.name, error)
            else:
                made += target.outputs
    runs, planned = (sum(b.count for b in blocks) for blocks in (done, whole.blocks))
    number = len(parts) - len(study.left_out)
    print(f"partial: {runs} of {planned} runs, {number} of {len(parts)} tables and figures")
    if failed := sum(state == "failed" for _, state in states):
        print(f"failed:  {failed} blocks; the command status names their logs")
    print(f"report:  {report.outputs[0]}\nexplorer: {explorer.outputs[0]}")
