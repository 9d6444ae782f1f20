"""The command line: a subcommand per kind of job, and plan, status and scorecard."""

import argparse
import json
import logging
import os
import shlex
import signal
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from circlet import build, errors, terminal
from circlet.lazy_import import load
from circlet.storage import files, progress
from circlet.study import config_file, registry, targets
from circlet.study.plan import Study
from circlet.study.points import Block

log = logging.getLogger("circlet")

CONFIG = "config/config.yaml"
GRACE = 600.0  # seconds that a job told to end waits for SLURM to end it


def _further(argv: list[str]) -> dict[str, str]:
    """Modules of the commands that collections offer; of a user's, if one of them is asked for."""
    collections = registry.SHIPPED
    if argv and "." in argv[0]:
        parser = argparse.ArgumentParser(add_help=False)
        parser.add_argument("--configfile", default=CONFIG)
        parser.add_argument("--collections", nargs="+")
        given, _ = parser.parse_known_args(argv[1:])
        collections = registry.find(given.collections or config_file.collections(given.configfile))
    found = {n: m for c in collections for n, m in c.modules("commands").items()}
    return {n: m for n, m in found.items() if "." not in n or n == argv[0]}


def _command_of(module: str) -> ModuleType:
    """The module of a command of a collection; raises ConfigError if it is not one."""
    path = registry.path_of(module)
    with registry.explained(path):
        own = load(module)
    if lacking := [name for name in ("HELP", "add_arguments", "run") if not hasattr(own, name)]:
        raise errors.ConfigError(f"{path}: does not define {lacking[0]}")
    return own


def _parser(further: dict[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="circlet", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str, function) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(function=function)
        which = sub.add_mutually_exclusive_group()
        which.add_argument("--configfile", default=CONFIG, help="default: %(default)s")
        which.add_argument(
            "--study", metavar="JSON", help="the config itself, as JSON, or a .json file with it"
        )
        sub.add_argument(
            "--collections",
            nargs="+",
            metavar="FOLDER",
            help="with --study: folders of collections that it uses besides circlet's",
        )
        sub.add_argument("--log", type=Path, help="also write messages to this file")
        return sub

    def target(name: str, text: str) -> argparse.ArgumentParser:
        sub = command(name, text, make_target)
        sub.add_argument("--key", help="refuse to make anything but what was planned with this key")
        sub.add_argument(
            "--tables",
            metavar="NAME=KEY ...",
            help="refuse to read other tables; default: those that the config asks for",
        )
        return sub

    text = "list experiments, points, runs, blocks and expected cost"
    command("plan", text, lambda arguments: print(terminal.plan(_study(arguments))))
    sub = command("status", "count planned, done and failed runs of each experiment", show_status)
    sub.add_argument(
        "--verify", action="store_true", help="read every byte of every log and table, too"
    )
    sub.add_argument(
        "--watch", action="store_true", help="display progress until the study is done"
    )
    text = "print what a finished study found: verdicts by paper, and what deviates"
    command("summary", text, print_scorecard)
    text = "print the scorecard: every published claim, our value and the verdict"
    command("scorecard", text, print_scorecard)
    command("partial", "make tables, figures and report of what is done so far", make_partial)
    sub = command(
        "run", "run every block of the study here, done or not; write the logs", run_blocks
    )
    sub.add_argument(
        "--device",
        choices=["auto", "cpu", "cuda"],
        default="auto",
        help="auto: a GPU if there is one",
    )
    target("table", "make one table").add_argument("name")
    target("figure", "draw one figure, as SVG and PNG").add_argument("name")
    target("report", "write the report page")
    target("explorer", "write the explorer page")
    sub = command(
        "bench",
        "measure training on this machine, in under a minute: every system at its defaults, and "
        "how long the study of --configfile would train; see docs/speed.md",
        bench,
    )
    sub.add_argument("--json", action="store_true", help="everything measured, as JSON")
    sub.add_argument(
        "--device",
        choices=["cpu", "cuda"],
        default="cpu",
        help="where circlet trains; default: %(default)s",
    )
    sub.add_argument(
        "--peers",
        action="store_true",
        help="compare with JAX on one core instead, without logs; three minutes",
    )
    text = "compare two studies: config, code, outcomes paired by seed, verdicts; or all values"
    sub = commands.add_parser("compare", help=text, description=text)
    sub.set_defaults(function=compare_folders, log=None)
    sub.add_argument("a", type=Path, metavar="A", help="a results folder")
    sub.add_argument("b", type=Path, metavar="B", help="another one")
    sub.add_argument(
        "--table", type=Path, metavar="FILE", help="write all differences, as Parquet or CSV"
    )
    sub.add_argument("--figure", type=Path, metavar="FILE", help="draw them as PNG, SVG or PDF")
    sub.add_argument("--outcomes", nargs="+", default=[], metavar="NAME", help="only these")
    sub.add_argument(
        "--values",
        action="store_true",
        help="whether the values in all logs and tables are the same; exit status 1 if not",
    )
    sub.add_argument(
        "--rtol", type=float, default=0, help="with --values: relative tolerance; default: 0, exact"
    )
    sub.add_argument(
        "--ignore",
        nargs="+",
        default=[],
        metavar="NAME",
        help="with --values: columns to leave out",
    )
    _add_authoring(commands)
    for name, module in further.items():
        own = _command_of(module)
        sub = command(
            name, own.HELP, lambda arguments, own=own: own.run(_study(arguments), arguments)
        )
        own.add_arguments(sub)
    return parser


def _add_authoring(commands) -> None:
    """Commands for who writes a collection, which need no config."""
    text = "make a collection, or a system, table or figure in one, that works as it is"
    new = commands.add_parser("new", help=text, description=text)
    kinds = new.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind in ("collection", "system", "table", "figure"):
        text = f"make a {kind}" + (" in a collection" if kind != "collection" else "")
        sub = kinds.add_parser(kind, help=text, description=text)
        sub.add_argument("path", type=Path, metavar="PATH", help="folder of the collection")
        if kind != "collection":
            sub.add_argument("name", metavar="NAME")
        sub.set_defaults(function=make_new, log=None)
    text = "try all that a collection has: systems, gradients, logs, tables, figures"
    sub = commands.add_parser("check", help=text, description=text)
    sub.add_argument("path", type=Path, metavar="PATH", help="folder of the collection")
    sub.set_defaults(function=check_collection, log=None)
    text = "print the completion of a shell: circlet completion bash > FILE, and source FILE"
    sub = commands.add_parser("completion", help=text, description=text)
    sub.add_argument("shell", choices=["bash", "zsh", "tcsh"])
    sub.set_defaults(function=print_completion, log=None)


def main(argv: list[str] | None = None) -> None:
    """Run a subcommand; an error that the user can fix is one line and exit status 1."""
    given = sys.argv[1:] if argv is None else argv
    try:
        arguments = _parser(_further(given)).parse_args(given)
        _start_logging(arguments.log)
        # As ctrl-C: through every `finally`, so that no half-written file is left.
        signal.signal(signal.SIGTERM, _terminate)
        arguments.function(arguments)
    except errors.CircletError as error:
        log.error("error: %s", error)
        sys.exit(1)
    except errors.Interrupted as stop:
        log.error("ended by %s: %s", signal.Signals(stop.signal).name, stop.saved)
        if stop.signal == signal.SIGTERM and "SLURM_JOB_ID" in os.environ:
            # SLURM puts a pre-empted job back into the queue if it has to end it. A job that ends
            # by itself in its time of grace counts as failed. Another SIGTERM ends the wait.
            time.sleep(GRACE)
        sys.exit(128 + stop.signal)
    except KeyboardInterrupt:
        log.error("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)  # the reader of a pipe, such as `| head`, has closed it
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (line := errors.not_installed(error)):
            log.error("%s", line)
            sys.exit(1)
        place = registry.place_in_own(error)
        where, what = place or "a bug, please report it", type(error).__name__
        # The traceback comes after the line, which is all that displays and lists of failures show.
        trace = not place or "--log" in given
        log.error("error: %s: %s: %s", where, what, " ".join(str(error).split()), exc_info=trace)
        sys.exit(1 if place else 2)


def _terminate(*_: object) -> None:
    log.error("terminated")
    sys.exit(143)


def _start_logging(path: Path | None) -> None:
    logging.raiseExceptions = False  # a full disk must not turn messages into tracebacks
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    if path is not None:
        if os.environ.get(progress.DISPLAYED) and sys.stderr.isatty():
            handlers.clear()  # it would write over the display, which shows the file's lines
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
            # Append each line: an earlier job of the same block may still be writing.
            handlers.append(logging.FileHandler(path, mode="a"))
        except OSError as error:
            sys.exit(f"error: {path}: cannot be written: {error.strerror}")
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # it logs a message for every film
    logging.basicConfig(level=logging.INFO, handlers=handlers, format="%(message)s", force=True)


def _study(arguments: argparse.Namespace) -> Study:
    if arguments.study is None:
        return Study.read(arguments.configfile)
    text = arguments.study
    if text.endswith(".json"):
        try:
            if not Path(text).is_file():
                raise errors.ConfigError(f"--study: {text}: there is no such file")
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise errors.ConfigError(f"--study: {text}: cannot be read: {error}") from None
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:  # also integers of 5000 digits, and 500 levels
        raise errors.ConfigError(f"--study: not JSON: {error}") from None
    if not isinstance(config, dict):
        raise errors.ConfigError("--study: must be an object, as circlet writes it")
    if arguments.collections:
        config["collections"] = arguments.collections
    # Snakemake's jobs, which have a log, get what a plan has checked.
    return (Study.resolved if getattr(arguments, "log", None) else Study.of)(config)


def show_status(arguments: argparse.Namespace) -> None:
    """Print how far the study is; exit status 1 if verifying it finds damage."""
    if arguments.watch:
        watch = load("circlet.watch")
        watch.show(watch.Watch(_study(arguments)), time.sleep)
        return
    said = terminal.status(_study(arguments), arguments.verify)
    print(said)
    if arguments.verify and "\ndamaged: " in said:
        sys.exit(1)


def print_scorecard(arguments: argparse.Namespace) -> None:
    """Print the scorecard of the study, or a summary of it."""
    print(getattr(load("circlet.pages.summary"), arguments.command)(_study(arguments)))


def run_blocks(arguments: argparse.Namespace) -> None:
    """Run all blocks of the study, one after another."""
    study = _study(arguments)
    job = load("circlet.training.job")
    checkpoint = load("circlet.training.checkpoint")
    devices = load("circlet.training.devices")
    # `check`, and the measurement of what a step costs, show it once, not in every job.
    warnings.filterwarnings(
        "ignore", "There is a performance drop because we have not yet", UserWarning
    )
    # One GPU for all blocks: its memory stays taken until the process ends.
    # While this waits for a GPU, another process may finish a block.
    before = [(block, job.stamp(block)) for block in study.ordered_blocks]
    with checkpoint.deferred() as caught, devices.claim(arguments.device, caught) as device:
        for block, stamp in before:
            if caught:
                raise errors.Interrupted(caught[0], f"before {'/'.join(block.key)}")
            job.run_block(block, device, _Progress(block), caught, stamp)


class _Progress:
    """Says where a block is: after 5 s, then every 10 s, and at its end."""

    def __init__(self, block: Block):
        self.name = "/".join(block.key)
        self.runs, self.steps = block.count, block.point.steps
        self.started = time.monotonic()
        self.first: int | None = None
        self.next = self.started + 5

    def __call__(self, done: int, steps: int) -> None:
        now = time.monotonic()
        spent = now - self.started
        if self.first is None:  # not 0 when it resumes from a checkpoint
            self.first = done
            if done:
                log.info("%s: resumes at %.0f %%", self.name, 100 * done / steps)
        if done == steps:
            runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
            log.info("%s: %s of %d steps, %.1f s", self.name, runs, self.steps, spent)
        elif done > self.first and now >= self.next:
            self.next = now + 10
            left = spent / (done - self.first) * (steps - done)
            share = 100 * done / steps
            log.info("%s: %.0f %% done, about %.0f s left", self.name, share, left)


def _target(study: Study, command: str, name: str) -> targets.Target:
    """The target of a command: a page, or the table or figure with a name."""
    if command in ("report", "explorer"):
        return getattr(targets, command)(study)
    kind = f"{command}s"
    known = {target.name: target for target in getattr(targets, kind)(study)}
    if name not in known:
        raise errors.ConfigError(
            f"the study does not make {name!r} (its {kind}: {', '.join(sorted(known))})"
        )
    return known[name]


def make_target(arguments: argparse.Namespace) -> None:
    """Make a table, a figure or a page, if it still is the one that was planned."""
    study = _study(arguments)
    if arguments.tables is not None:
        pairs = [pair.split("=") for pair in arguments.tables.split()]
        if any(len(pair) != 2 for pair in pairs):
            raise errors.ConfigError("--tables: must be words like runs=1a2b3c4d5e6f7a8b")
        study = replace(study, keys=dict(pairs))
    target = _target(study, arguments.command, getattr(arguments, "name", ""))
    if arguments.key not in (None, target.key):
        raise errors.LogError(
            f"{target.name}: its config or the code of circlet was edited after Snakemake had "
            "planned it; run snakemake again"
        )
    build.make(target)


def bench(arguments: argparse.Namespace) -> None:
    """Print how fast this machine trains, and how long it would take for the study."""
    study, benchmark = _study(arguments), load("circlet.bench")
    devices = load("circlet.training.devices")
    with devices.claim(arguments.device) as device:
        where = load("torch").device(device)
        measured = benchmark.compare(where) if arguments.peers else benchmark.run(study, where)
    print(json.dumps(measured, indent=2) if arguments.json else benchmark.text(measured))


def compare_folders(arguments: argparse.Namespace) -> None:
    """Print how two studies differ; or where their values do, with exit status 1 if they do."""
    if not arguments.values:
        found = load("circlet.sweeps.between").studies(arguments.a, arguments.b)
        if arguments.outcomes:
            known = sorted(set(found.outcomes["outcome"]))
            if lacking := [name for name in arguments.outcomes if name not in known]:
                raise errors.ConfigError(errors.unknown("outcome", lacking[0], known))
            chosen = found.outcomes["outcome"].isin(arguments.outcomes)
            found = found._replace(outcomes=found.outcomes[chosen])
        print(terminal.compared(found))
        if arguments.table:
            is_csv = arguments.table.suffix == ".csv"
            write = found.outcomes.to_csv if is_csv else found.outcomes.to_parquet
            with files.atomic(arguments.table) as temporary:
                write(temporary, index=False)
        if arguments.figure:
            load("circlet.sweeps.panels").save_forest(found.outcomes, arguments.figure)
        return
    compare = load("circlet.compare")
    said, equal = compare.folders(arguments.a, arguments.b, arguments.rtol, arguments.ignore)
    print(said)
    if not equal:
        sys.exit(1)


def make_new(arguments: argparse.Namespace) -> None:
    """Write template files, and print the next command."""
    new, path = load("circlet.new"), arguments.path
    own = (path, arguments.name) if arguments.kind != "collection" else (path,)
    for file in getattr(new, arguments.kind)(*own):
        print(f"made {file}")
    if arguments.kind == "collection":
        print(f"next: circlet new system {shlex.quote(str(path))} NAME")
        return
    print(f"next: edit it; circlet check {shlex.quote(str(path))}")
    if arguments.kind == "system":
        print(f"then: {terminal.to_run(path / f'{arguments.name}.yaml')}")


def check_collection(arguments: argparse.Namespace) -> None:
    """Check a collection and print what was found; exit status 1 if something is wrong."""
    check = load("circlet.check")
    failed = 0
    for found in check.collection(arguments.path):
        failed += found.result == "error"
        print(f"{found.result:5} {found.about}: {found.text}", flush=True)
    if failed:
        sys.exit(f"{failed} errors" if failed > 1 else "1 error")


def print_completion(arguments: argparse.Namespace) -> None:
    """Print the completion script for a shell."""
    print(load("shtab").complete(_parser(_further([])), arguments.shell))


def make_partial(arguments: argparse.Namespace) -> None:
    """Make tables, figures and pages from the blocks that are done, in a separate folder.

    It reads finished logs only, so it may be called while a sweep runs.
    """
    whole = _study(arguments)
    states = progress.states(whole)
    done = [block for block, state in states if state == "done"]
    if not done:
        raise errors.LogError(f"{whole.results}: no run is done yet")
    study = whole.partial(done)
    *parts, report, explorer = targets.ordered(study)
    outputs = [path for target in (*parts, report, explorer) for path in target.outputs]
    with files.own_folder(study.folder, outputs) as made:
        for target in (*parts, report, explorer):
            try:
                # A target knows only its own experiments; a page knows all that is left out so far.
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
        given = ["--configfile", arguments.configfile]
        if arguments.study is not None:
            given = ["--study", arguments.study]
            given += ["--collections", *arguments.collections] if arguments.collections else []
        print(f"failed:  {failed} blocks, see: python -m circlet status {shlex.join(given)}")
    print(f"report:  {report.outputs[0]}\nexplorer: {explorer.outputs[0]}")
