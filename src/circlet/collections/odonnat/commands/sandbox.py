"""``python -m circlet sandbox``: the visual sandbox of any run of a transformer."""

import argparse
from pathlib import Path

from circlet.lazy_import import load
from circlet.study.plan import Study

HELP = "draw every layer of one run's transformer"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("run", metavar="RUN_ID", help="as in the tables: experiment/point/s00000")
    parser.add_argument("--step", type=int, help="a logged step; default: the last")
    parser.add_argument(
        "--output",
        type=Path,
        help=".png, .svg or .pdf; default: in the results, folder sandbox",
    )


def run(study: Study, arguments: argparse.Namespace) -> None:
    """Draw the panels of one run at one step."""
    sandbox = load("circlet.collections.odonnat.sandbox")
    print(sandbox.picture(study, arguments.run, arguments.step, arguments.output))
