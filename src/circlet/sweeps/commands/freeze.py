"""``circlet freeze``: the small tables of a study, for a repository; see `circlet.frozen`."""

import argparse
from pathlib import Path

from circlet import formatting
from circlet.lazy_import import load
from circlet.storage import progress
from circlet.study.plan import Study
from circlet.study.planning import plan_file

HELP = "copy the small tables of a finished study into a folder, without its logs; see audit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    text = "destination; a frozen study in it is replaced"
    parser.add_argument("folder", type=Path, metavar="FOLDER", help=text)
    text = "further tables; default: the scorecard, all that it is made from, and summaries"
    parser.add_argument("--tables", nargs="+", default=[], metavar="NAME", help=text)
    text = (
        "for a study made in parts: freeze what `circlet partial` made of the finished runs, and "
        "keep the other experiments of the frozen study"
    )
    parser.add_argument("--join", action="store_true", help=text)


def run(study: Study, arguments: argparse.Namespace) -> None:
    """Freeze the study and print the number and size of its tables."""
    folder = arguments.folder
    frozen, earlier = load("circlet.frozen"), None
    if arguments.join:
        earlier = plan_file(folder / frozen.CONFIG)
        study = study.partial(b for b, state in progress.states(study) if state == "done")
    for line in frozen.freeze(study, folder, arguments.tables, earlier):
        print(line)
    sizes = [path.stat().st_size for path in folder.rglob("*.parquet")]
    print(f"{folder}: {len(sizes)} tables, {formatting.size(sum(sizes))}")
