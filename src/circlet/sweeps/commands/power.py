"""``circlet power``: estimate how many seeds are needed."""

import argparse
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from circlet import formatting, terminal
from circlet.errors import ConfigError, check_exist
from circlet.lazy_import import load
from circlet.study import plots, targets
from circlet.study.plan import Study

HELP = "estimate the seeds needed for each point and outcome, and for each undecided claim"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "--half-width",
        nargs="+",
        default=[],
        metavar="OUTCOME=WIDTH",
        help="outcomes, and target half-widths of their 95 %% intervals (n_circles=0.2); default: "
        "what the figures show, with 0.05 for shares and accuracies, a tenth of the largest "
        "estimate for others, at least 0.1 for counts",
    )


def run(study: Study, arguments: argparse.Namespace) -> None:
    """Print how many seeds are needed."""
    widths = dict(map(_half_width, arguments.half_width))
    names = sorted({outcome.name for system in study.systems for outcome in study.outcomes(system)})
    check_exist("--half-width", "outcome", names, widths)
    power = load("circlet.sweeps.power")
    shown = plots.outcomes(study)
    asked = {(e, name) for e in study.config.experiments for name in widths} or shown
    has_claims = any(target.name == "scorecard" for target in targets.tables(study))
    if not asked and not has_claims:
        raise ConfigError(
            f"--half-width: no figure shows an outcome; give one of: {', '.join(names)}"
        )
    needs = power.of_outcomes(study, widths, asked)
    if has_claims:
        needs += power.of_claims(study)
    print(text(needs, power.more_seeds(study, needs)))
    if not widths:
        claims = " and the claims" if has_claims else ""
        print(f"\nThese are the outcomes that figures show{claims}; --half-width names others.")


def _half_width(text: str) -> tuple[str, float]:
    """Parse an outcome and its half-width, ``NAME=WIDTH``."""
    name, _, width = text.partition("=")
    try:
        if 0 < float(width) < math.inf:
            return name, float(width)
    except ValueError:
        pass
    raise ConfigError(f"--half-width: {text}: must be as n_circles=0.2")


def text(needs: Iterable[Any], seeds: Mapping[str, Any]) -> str:
    """Return the intervals that are too wide, the runs needed, and lines of YAML.

    ``needs`` and ``seeds``, by experiment, come from `circlet.sweeps.power`.
    """
    at_points = [need for need in needs if need.points]
    short = [need for need in at_points if need.needed and need.needed > need.points[0].count]
    rows = [
        (
            need.points[0].experiment,
            need.points[0].name if len(need.points) == 1 else f"{len(need.points)} points",
            need.what,
            need.n,
            formatting.number(need.half) if math.isfinite(need.half) else "none",
            formatting.number(need.target),
            need.needed,
        )
        for need in sorted(short, key=lambda need: -need.needed)[: terminal.MOST_ROWS]
    ]
    header = ("experiment", "point", "outcome", "runs", "half-width", "wanted", "runs needed")
    lines = [terminal.aligned(header, rows, "<<<>>>>")] if rows else []
    if len(short) > terminal.MOST_ROWS:
        lines.append(f"... and {len(short) - terminal.MOST_ROWS} more, which need fewer")
    never = Counter(
        (need.points[0].experiment if need.points else "", need.what, need.why)
        for need in needs
        if need.needed is None
    )
    for (experiment, what, why), n in never.items():
        where = f" in {experiment}" if experiment else ""
        where += f", at {n} points" if n > 1 else ""
        lines.append(f"not estimated: {what}{where}: {why}")
    settled = [need for need in at_points if need.needed]
    if settled and not short:
        waits = any(need.half > need.target for need in settled)
        which = "All other" if never else "All"
        lines.append(
            f"{which} intervals are narrow enough{', once all planned runs are done' * waits}."
        )
    if seeds:
        edit = {"experiments": {name: {"seeds": more} for name, more in seeds.items()}}
        lines += [
            "",
            "To get all of these, change the config; `plan` then says what it costs:",
            "",
        ]
        lines.append(yaml.safe_dump(edit, default_flow_style=None, sort_keys=False).rstrip())
    return "\n".join(lines)
