"""``circlet audit``: recompute the tables of a frozen study and compare them."""

import argparse
import sys

from circlet.lazy_import import load
from circlet.study.plan import Study

HELP = "recompute the tables of a frozen study (--configfile FOLDER/config.yaml) and compare them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no argument."""


def run(study: Study, arguments: argparse.Namespace) -> None:
    """Print the recomputed tables; exit status 1 if something differs."""
    done, differing = load("circlet.frozen").audit(study)
    print("\n".join(differing) or f"{study.results}: the same: {', '.join(done)}")
    if differing:
        sys.exit(1)
