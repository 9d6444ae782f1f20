"""``python -m circlet sandbox``: the visual sandbox of any run of a transformer."""

import argparse
import time
from pathlib import Path

from circlet.errors import ConfigError
from circlet.lazy_import import load
from circlet.study.plan import Study

HELP = "draw every layer of one run's transformer, or film it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its own arguments, beside those of every command."""
    parser.add_argument("run", metavar="RUN_ID", help="as in the tables: experiment/point/s00000")
    parser.add_argument("--step", type=int, help="a logged step; default: the last")
    parser.add_argument("--film", action="store_true", help="the whole training, as .gif or .mp4")
    parser.add_argument("--frames", type=int, default=200, help="of a film; default: %(default)s")
    parser.add_argument(
        "--output",
        type=Path,
        help=".png, .svg or .pdf; of a film .gif, or .mp4, which needs ffmpeg. Default: in the "
        "results, folder sandbox",
    )


def run(study: Study, arguments: argparse.Namespace) -> None:
    """Draw the panels of one run at one step, or film its training."""
    sandbox = load("circlet.collections.odonnat.sandbox")
    if arguments.film and arguments.step is not None:
        raise ConfigError("--step draws one step and --film draws all steps: give only one of them")
    if not arguments.film:
        print(sandbox.picture(study, arguments.run, arguments.step, arguments.output))
        return
    started = time.monotonic()
    path, frames = sandbox.film(study, arguments.run, arguments.frames, arguments.output)
    spent = time.monotonic() - started
    print(f"{path}: {frames} frames, drawn in {spent:.0f} s ({spent / frames:.2f} s each)")
    if frames < arguments.frames:
        print(
            "The run logs its network at no other steps; to log more: log.parameters: "
            "{every_epochs: 1}."
        )
