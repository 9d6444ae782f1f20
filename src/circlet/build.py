"""Make a target: the work of one job."""

from circlet.lazy_import import load
from circlet.study.targets import MAKERS, Target


def make(target: Target) -> None:
    """Make a table, a figure or a page.

    Raises LogError if a table it reads is not the planned one, or if its code was edited before
    all of it was imported.
    """
    load(target.module)
    load(MAKERS.get(target.kind, target.module)).make(target.with_verified_keys())
