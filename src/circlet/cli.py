"""Plan, run and inspect studies of tiny networks that learn modular addition."""

import argparse
import logging
import os
import signal
import sys
import time
from pathlib import Path
from types import ModuleType

from circlet import commands, errors
from circlet.config import reading
from circlet.lazy_import import load
from circlet.storage import progress
from circlet.study import registry, sources

log = logging.getLogger("circlet")

CONFIG = "config/config.yaml"
GRACE = 600.0  # seconds that a job waits after SIGTERM, for SLURM to end it


def _commands_of_collections(argv: list[str]) -> dict[str, str]:
    """Return the modules of commands, by name; a user's command only if `argv` names it."""
    collections = registry.SHIPPED
    if argv and "." in argv[0]:
        parser = argparse.ArgumentParser(add_help=False)
        parser.add_argument("--configfile", default=CONFIG)
        parser.add_argument("--collections", nargs="+")
        options, _ = parser.parse_known_args(argv[1:])
        folders = options.collections or reading.collections(options.configfile)
        collections = registry.find(folders)
    modules = registry.modules(collections, "commands")
    return {n: m for n, m in modules.items() if "." not in n or n == argv[0]}


def _load_command(module: str) -> ModuleType:
    """Load the module of a command of a collection; raises ConfigError if it is not valid."""
    path = registry.path_of(module)
    with registry.explained(path):
        command = load(module)
    needed = ("HELP", "add_arguments", "run")
    if missing := [name for name in needed if not hasattr(command, name)]:
        raise errors.ConfigError(f"{path}: does not define {missing[0]}")
    return command


def _parser(modules: dict[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="circlet", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_study_commands(subparsers)
    _add_target_commands(subparsers)
    _add_bench(subparsers)
    _add_commands_without_config(subparsers)
    for name, module in modules.items():
        command = _load_command(module)

        def run(arguments: argparse.Namespace, command: ModuleType = command) -> None:
            command.run(commands.study_of(arguments), arguments)

        command.add_arguments(_add(subparsers, name, command.HELP, run))
    return parser


def _add(subparsers, name: str, text: str, function) -> argparse.ArgumentParser:
    """Add a command that takes a study, and return its parser."""
    parser = subparsers.add_parser(name, help=text, description=text)
    parser.set_defaults(function=function)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--configfile", default=CONFIG, help="default: %(default)s")
    which.add_argument("--study", metavar="JSON", help="the config as JSON, or a .json file")
    parser.add_argument(
        "--collections",
        nargs="+",
        metavar="FOLDER",
        help="with --study: folders of further collections",
    )
    parser.add_argument("--log", type=Path, help="also write messages to this file")
    return parser


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="source",
        metavar="URL",
        help="where the results lie, if not on this machine: s3://bucket/results",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="where its files lie, the first one first, if this machine has the results in another "
        "folder",
    )


def _add_study_commands(subparsers) -> None:
    text = "list experiments, points, runs, blocks and expected cost"
    _add(subparsers, "plan", text, commands.show_plan)
    text = "count planned, done and failed runs of each experiment"
    status = _add(subparsers, "status", text, commands.show_status)
    how = status.add_mutually_exclusive_group()
    how.add_argument("--verify", action="store_true", help="read every byte of all logs and tables")
    how.add_argument("--watch", action="store_true", help="display progress until all is done")
    _add_source(status)
    text = "print the results of a finished study: verdicts by paper, or trends of its sweeps"
    _add(subparsers, "summary", text, commands.print_scorecard)
    text = "print the scorecard: every published claim, our value and the verdict"
    _add(subparsers, "scorecard", text, commands.print_scorecard)
    text = "make tables, figures and pages from the runs finished so far"
    _add_source(_add(subparsers, "partial", text, commands.make_partial))
    text = "run all blocks of the study on this machine, also finished ones, and write their logs"
    run = _add(subparsers, "run", text, commands.run_blocks)
    _add_output(run)
    run.add_argument(
        "--checkpoints",
        metavar="URL",
        help="also keep checkpoints at this address, such as s3://bucket/checkpoints",
    )
    run.add_argument(
        "--grouped",
        action="store_true",
        help="keep copies of logs, and use them again, until the study is done",
    )
    run.add_argument(
        "--device",
        choices=["auto", "cpu", "cuda"],
        default="auto",
        help="auto: a GPU if there is one",
    )


def _add_target_commands(subparsers) -> None:
    for name, text in (
        ("table", "make one table"),
        ("figure", "draw one figure, as SVG and PNG"),
        ("report", "write the report page"),
        ("explorer", "write the explorer page"),
    ):
        parser = _add(subparsers, name, text, commands.make_target)
        _add_output(parser)
        parser.add_argument("--key", help="fail if the config or the code now gives another key")
        parser.add_argument(
            "--tables",
            metavar="NAME=KEY ...",
            help="read only tables with these keys; default: the keys that the config gives",
        )
        if name in ("table", "figure"):
            parser.add_argument("name")


def _add_bench(subparsers) -> None:
    text = "measure training speed on this machine in half a minute: each system at its defaults"
    parser = subparsers.add_parser("bench", help=text, description=text)
    parser.set_defaults(function=commands.bench, log=None)
    parser.add_argument("--json", action="store_true", help="print all measurements as JSON")
    parser.add_argument(
        "--device",
        choices=["cpu", "cuda"],
        default="cpu",
        help="device for training; default: %(default)s",
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="instead, compare with JAX on one core, without logs, in three minutes",
    )


def _add_commands_without_config(subparsers) -> None:
    text = (
        "compare config, code, outcomes (paired by seed) and verdicts of two studies, or all values"
    )
    parser = subparsers.add_parser("compare", help=text, description=text)
    parser.set_defaults(function=commands.compare_folders, log=None)
    parser.add_argument("a", type=Path, metavar="A", help="a results folder")
    parser.add_argument("b", type=Path, metavar="B", help="another results folder")
    parser.add_argument(
        "--values",
        action="store_true",
        help="compare the values in all logs and tables; exit status 1 if any differ",
    )
    parser.add_argument(
        "--rtol", type=float, default=0, help="with --values: relative tolerance; default: 0, exact"
    )
    parser.add_argument(
        "--ignore",
        nargs="+",
        default=[],
        metavar="NAME",
        help="with --values: columns to ignore",
    )
    text = (
        "write a study as a data set for the Hugging Face Hub or Zenodo: tables, a card, and "
        "Croissant metadata"
    )
    parser = subparsers.add_parser("publish", help=text, description=text)
    parser.set_defaults(function=commands.publish, log=None)
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="a results folder, or a frozen study"
    )
    text = "destination; default: FOLDER/published, and for a frozen study results/NAME/published"
    parser.add_argument("--to", type=Path, metavar="FOLDER", help=text)
    parser.add_argument("--logs", action="store_true", help="also copy the logs of all runs")
    text = "SPDX identifier of the licence; default: %(default)s, as circlet has"
    parser.add_argument("--licence", default="MIT", metavar="NAME", help=text)
    text = "folders of your own collections, if the study uses any"
    parser.add_argument("--collections", nargs="+", default=[], metavar="FOLDER", help=text)
    text = "create a collection, or add a working system, table or figure to one"
    new = subparsers.add_parser("new", help=text, description=text)
    kinds = new.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind in ("collection", "system", "table", "figure"):
        text = f"add a {kind} to a collection" if kind != "collection" else "create a collection"
        parser = kinds.add_parser(kind, help=text, description=text)
        parser.add_argument("path", type=Path, metavar="PATH", help="folder of the collection")
        if kind != "collection":
            parser.add_argument("name", metavar="NAME")
        parser.set_defaults(function=commands.make_new, log=None)
    text = "check a collection: systems, gradients, logs, tables and figures"
    parser = subparsers.add_parser("check", help=text, description=text)
    parser.add_argument("path", type=Path, metavar="PATH", help="folder of the collection")
    parser.set_defaults(function=commands.check_collection, log=None)


def main(argv: list[str] | None = None) -> None:
    """Run a subcommand; errors that the user can fix are one line and exit status 1."""
    words = sys.argv[1:] if argv is None else argv
    try:
        arguments = _parser(_commands_of_collections(words)).parse_args(words)
        _start_logging(arguments.log)
        # End as on ctrl-C, through all `finally` clauses, so that no half-written file is left.
        signal.signal(signal.SIGTERM, _terminate)
        arguments.function(arguments)
        sources.keep()
    except errors.CircletError as error:
        log.error("error: %s", error)
        sys.exit(1)
    except errors.Interrupted as stop:
        log.error("ended by %s: %s", signal.Signals(stop.signal).name, stop.saved)
        if stop.signal == signal.SIGTERM and "SLURM_JOB_ID" in os.environ:
            # SLURM requeues a pre-empted job only if SLURM has to end it. A job that ends by itself
            # during the grace period counts as failed. Another SIGTERM ends the wait.
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
        place = registry.place_in_user_code(error)
        where, what = place or "a bug, please report it", type(error).__name__
        # The line comes before the traceback: displays and lists of failures show only the line.
        trace = not place or "--log" in words
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
            handlers.clear()  # stderr would overwrite the display, which shows lines of the file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # The empty line takes room: the message of a disk that gets full later has a place.
            path.write_bytes(b"\n")
            # Append each line: an earlier job of the same block may still be writing.
            handlers.append(logging.FileHandler(path, mode="a"))
        except OSError as error:
            sys.exit(f"error: {path}: cannot be written: {error.strerror}")
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # its advice is not for users
    logging.basicConfig(level=logging.INFO, handlers=handlers, format="%(message)s", force=True)
