"""``circlet audit``: whether the tables of a frozen study follow from each other."""

import argparse
import sys

from circlet.lazy_import import load
from circlet.study.plan import Study

HELP = "make the tables of a frozen study (--configfile FOLDER/config.yaml) again, and compare"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(study: Study, arguments: argparse.Namespace) -> None:
    """Print what was made again; exit status 1 if something differs."""
    done, differing = load("circlet.frozen").audit(study)
    print("\n".join(differing) or f"{study.results}: the same: {', '.join(done)}")
    if differing:
        sys.exit(1)
