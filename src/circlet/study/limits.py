"""Limits of a study: sizes beyond which a file, a name or a workflow would fail.

Sizes follow from the config, so the plan refuses a study beyond a limit before any job starts.
Limits of single keys are in `circlet.config.model`.
"""

import math
import os
import re
from collections.abc import Iterable

from circlet.config.experiment import INT32_MAX, Experiment
from circlet.config.model import Config
from circlet.config.schema import shown
from circlet.errors import ConfigError
from circlet.study import cost, measured
from circlet.study.blocks import Block
from circlet.study.interventions import is_list_of_values, list_interventions
from circlet.study.points import Point
from circlet.study.seeds import PURPOSES

# Points of all experiments and parents; Snakemake and the pages list each of them.
MAX_POINTS = 20_000
# Each block is a job: Snakemake needs minutes and gigabytes for this many.
MAX_BLOCKS = 100_000
LONGEST_NAME = 255  # bytes of the name of a file or folder, on Linux


def check_results(results: str) -> None:
    """Raise ConfigError if the results folder is the working folder."""
    if os.path.realpath(results) == os.path.realpath("."):
        raise ConfigError(
            f"results: {shown(results)} must be a folder of its own, such as results/mine"
        )


def check_totals(config: Config) -> None:
    """Raise ConfigError if there are too many points to list."""
    points = 0
    for where, experiment in config.located:
        points += _count(experiment)
        _check_total(where, "points", points, MAX_POINTS, "vary less")


def check_blocks(points: Iterable[Point]) -> None:
    """Raise ConfigError if there are too many blocks."""
    blocks = 0
    for point in points:
        blocks += -(-point.count // point.block_size)  # approximate without `block`
        where = f"experiments.{point.experiment}"
        _check_total(where, "blocks", blocks, MAX_BLOCKS, "set a larger `block`")


def _check_total(where: str, what: str, total: int, cap: int, remedy: str) -> None:
    if total > cap:
        raise ConfigError(
            f"{where}: with it the study has {total} {what}, at most {cap} are allowed; split the "
            f"study, or {remedy}"
        )


def _count(experiment: Experiment) -> int:
    """Return the number of points of an experiment."""
    seeds = [getattr(experiment.seeds, purpose) for purpose in PURPOSES]
    lists = [experiment.listed_cases, *experiment.grid.values()]
    lists += [shared for shared in seeds if isinstance(shared, list)]
    for name, arguments in list_interventions(experiment.interventions):
        lists += [value for k, value in arguments.items() if is_list_of_values(name, k, value)]
    return math.prod(map(len, lists))


def check_name(where: str, point: Point) -> None:
    """Raise ConfigError if a point's name is not valid for folders and files, or is too long."""
    if not re.fullmatch(r"[\w.,+\-]+", point.name, re.ASCII):
        raise ConfigError(
            f"{where}: {shown(point.name)} becomes the name of a folder: values that "
            "are texts may have only letters, digits and . , + - _"
        )
    # The wildcards of a job are its folders. The SLURM plugin makes one name out of all of them.
    last = Block(point, point.all_seeds.stop - 1, 1)  # no block has a longer name
    longest = len("_".join([*point.key, last.name]))
    if longest > LONGEST_NAME:
        raise ConfigError(
            f"{where}: {shown(point.name)} makes a name of {longest} bytes, at most "
            f"{LONGEST_NAME} are allowed; set fewer parameters, or keep fewer frequencies"
        )


def check_logs(where: str, point: Point) -> None:
    """Raise ConfigError if a log names a step after the last, or is too large for one file."""
    if point.steps > INT32_MAX:
        raise ConfigError(
            f"{where}.epochs: are {point.steps} steps, at most {INT32_MAX} are allowed"
        )
    block = point.block_size
    for kind in point.logs[1:]:
        try:
            logged = point.n_logged(kind)
        except ConfigError as error:
            raise ConfigError(f"{where}.log.{kind}: {error}") from None
        schedule = point.schedules[kind]
        if late := [at for at in (schedule and schedule.at) or () if at > point.steps]:
            raise ConfigError(
                f"{where}.log.{kind}.at: step {late[0]} is beyond the {point.steps} steps of a run"
            )
        values = int(block * logged * cost.values(point, kind))
        if values > INT32_MAX:
            raise ConfigError(
                f"{where}.log.{kind}: a block of {point.name} would have {values} values in one "
                f"column, at most {INT32_MAX} fit into a file: set a smaller `block`, or log fewer "
                "steps"
            )


def check_measured(points: Iterable[Point]) -> None:
    """Measure networks of unknown size, and check that their logs fit; raises CircletError."""
    points = [point for point in points if point.system.is_measured]
    measured.measure(points)
    for point in points:
        check_logs(f"experiments.{point.experiment}", point)
