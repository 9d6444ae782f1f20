"""``circlet power``: how many seeds would do."""

import argparse
import math

from circlet import terminal
from circlet.errors import ConfigError, unknown
from circlet.lazy_import import load
from circlet.study import pictures, targets
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
    parser.add_argument(
        "--outcomes",
        nargs="+",
        default=[],
        metavar="NAME",
        help="only these; default: those of --half-width, or else those that the figures show; "
        "claims, too",
    )


def run(study: Study, arguments: argparse.Namespace) -> None:
    """Print how many seeds would do."""
    widths = dict(map(_half_width, arguments.half_width))
    names = sorted({one.name for system in study.systems for one in study.outcomes(system)})
    for name in (*widths, *arguments.outcomes):
        if name not in names:
            raise ConfigError(unknown("outcome", name, names))
    if arguments.outcomes and (unused := widths.keys() - set(arguments.outcomes)):
        raise ConfigError(f"--half-width: {min(unused)} is not in --outcomes; add it there, too")
    power = load("circlet.sweeps.power")
    shown = pictures.outcomes(study)
    chosen = arguments.outcomes or list(widths)
    asked = {(e, name) for e in study.config.experiments for name in chosen} or shown
    has_claims = any(target.name == "scorecard" for target in targets.tables(study))
    if not asked and not has_claims:
        raise ConfigError(f"--outcomes: name some, because no figure shows any: {', '.join(names)}")
    needs = power.of_outcomes(study, widths, asked)
    if has_claims and not arguments.outcomes:
        needs += power.of_claims(study)
    found = power.wanted(study, needs)
    print(terminal.power(study, needs, found))
    if not chosen:
        claims = " and the claims" if has_claims else ""
        print(f"\nThese are the outcomes that figures show{claims}; --outcomes names others.")


def _half_width(text: str) -> tuple[str, float]:
    """An outcome and its half-width."""
    name, _, width = text.partition("=")
    try:
        if 0 < float(width) < math.inf:
            return name, float(width)
    except ValueError:
        pass
    raise ConfigError(f"--half-width: {text}: must be as n_circles=0.2")
