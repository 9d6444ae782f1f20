"""``circlet power``: how many seeds would do, and into the config with them."""

import argparse
from pathlib import Path

from circlet import terminal
from circlet.errors import ConfigError, unknown
from circlet.lazy_import import load
from circlet.study import targets
from circlet.study.plan import Study

HELP = "how many seeds would do: for each point and outcome, and each claim that is not decided"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its own arguments, beside those of every command."""
    parser.add_argument(
        "--half-width",
        nargs="+",
        default=[],
        metavar="OUTCOME=WIDTH",
        help="wanted half-widths of 95 %% intervals, n_circles=0.2; default: 0.05 of shares and "
        "accuracies, a tenth of the largest estimate of others, but 0.1 at least of counts",
    )
    parser.add_argument("--outcomes", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument(
        "--write",
        action="store_true",
        help="put the seeds into the config file; what else is in it stays as it is",
    )


def run(study: Study, arguments: argparse.Namespace) -> None:
    """Print how many seeds would do, and put them into the config file if asked."""
    if arguments.write and arguments.study is not None:
        raise ConfigError("--write: needs --configfile, the file to write to")
    widths = dict(map(_half_width, arguments.half_width))
    names = sorted({one.name for system in study.systems for one in study.outcomes(system)})
    for name in (*widths, *arguments.outcomes):
        if name not in names:
            raise ConfigError(unknown("outcome", name, names))
    power = load("circlet.sweeps.power")
    needs = power.of_outcomes(study, widths, arguments.outcomes or list(widths))
    if any(t.name == "scorecard" for t in targets.tables(study)) and not arguments.outcomes:
        needs += power.of_claims(study)
    found = power.wanted(study, needs)
    print(terminal.power(study, needs, found))
    if arguments.write and found.seeds:
        load("circlet.config_edit").set_seeds(Path(arguments.configfile), found.seeds)
        print(
            f"\nwritten: {arguments.configfile}; now run: "
            f"{terminal.to_run(Path(arguments.configfile))}"
        )


def _half_width(text: str) -> tuple[str, float]:
    """An outcome and its half-width."""
    name, _, width = text.partition("=")
    try:
        if float(width) > 0:
            return name, float(width)
    except ValueError:
        pass
    raise ConfigError(f"--half-width: {text}: must be as n_circles=0.2")
