"""Make a target: the work of one job."""

from dataclasses import replace

from circlet.lazy_import import load
from circlet.study.targets import MAKERS, Target


def make(target: Target) -> None:
    """Make a table, a figure or a page; raises LogError if a table it reads is not as planned."""
    study = replace(target.study, keys=target.table_keys)
    load(MAKERS.get(target.kind, target.module)).make(replace(target, study=study))
