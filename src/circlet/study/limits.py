"""Limits of a study: what would not fit into a file, a name or a workflow.

This follows from the config, so the plan refuses such a study before any job starts. Limits of
single keys and their reasons are in the schema, and so are those of the whole (``x-limits``).
"""

import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from circlet.errors import ConfigError
from circlet.study import config_file, cost, measured, registry
from circlet.study.interventions import is_list_of_values, list_interventions
from circlet.study.points import FOLDERS
from circlet.study.schedules import INT32_MAX
from circlet.study.seeds import PURPOSES

if TYPE_CHECKING:
    from circlet.study.plan import Study
    from circlet.study.points import Point

LONGEST_NAME = 255  # bytes of the name of a file or folder, on Linux
LONGEST_RESULTS = 3000  # bytes of the path of the results, of 4096: the rest is for what is in them


def check_results(results: str) -> None:
    """Raise ConfigError if its results cannot be in a folder, or may lie in another study's."""
    path, given, full = Path(results), config_file.shown(results), os.path.realpath(results)
    if path.name == ".." or full in (os.path.realpath("."), "/"):
        raise ConfigError(f"results: {given} must be a folder of its own, such as results/mine")
    # A command of a collection has a folder of its name.
    folders = (*FOLDERS, *(name for c in registry.SHIPPED for name in c.modules("commands")))
    for above, name in zip(path.parents, reversed(path.parts), strict=False):
        # What lies above an absolute path is not the user's choice: there only a study counts.
        if name in folders and (not path.is_absolute() or (above / "job_logs").is_dir()):
            raise ConfigError(
                f"results: {given} may lie inside another study: every study makes the folders "
                f"{', '.join(folders)} in its results; choose a path without {name!r}"
            )
    if max(len(part) for part in path.parts) > LONGEST_NAME:
        raise ConfigError(f"results: a folder's name is longer than {LONGEST_NAME} bytes")
    if len(os.fsencode(full)) > LONGEST_RESULTS:
        raise ConfigError(f"results: the full path is longer than {LONGEST_RESULTS} bytes")


def check_totals(config: dict[str, Any]) -> None:
    """Raise ConfigError if there are too many points. Nothing is listed to find out."""
    points = 0
    for group in ("experiments", "parents"):
        for name, settings in config[group].items():
            points += _count(settings)
            _check_total(f"{group}.{name}", "points", points, "vary less")


def check_blocks(study: "Study") -> None:
    """Raise ConfigError if there are too many blocks. Nothing is listed to find out."""
    blocks = 0
    for point in study.points:
        blocks += point.n_blocks
        _check_total(f"experiments.{point.experiment}", "blocks", blocks, "set a larger `block`")


def _check_total(where: str, what: str, found: int, then: str) -> None:
    if found > config_file.limit(what):
        raise ConfigError(
            f"{where}: with it the study has {found} {what}, at most {config_file.limit(what)} are "
            f"allowed; split the study, or {then}"
        )


def _count(settings: dict[str, Any]) -> int:
    """Number of points of an experiment."""
    lists = [settings.get("cases", [{}]), *settings["sweep"].values()]
    lists += [settings["seeds"][k] for k in PURPOSES if isinstance(settings["seeds"][k], list)]
    for name, arguments in list_interventions(settings["interventions"]):
        lists += [v for k, v in arguments.items() if is_list_of_values(name, k, v)]
    return math.prod(map(len, lists))


def check_name(where: str, point: "Point") -> None:
    """Raise ConfigError if it cannot name folders and files, or makes too long a name."""
    if not re.fullmatch(r"[\w.,+\-]+", point.name, re.ASCII):
        raise ConfigError(
            f"{where}: {config_file.shown(point.name)} becomes the name of a folder: values that "
            "are texts may have only letters, digits and . , + - _"
        )
    # The wildcards of a job are its folders. The SLURM plugin makes one name out of all of them.
    longest = len("_".join([*point.key, point.last_block]))
    if longest > LONGEST_NAME:
        raise ConfigError(
            f"{where}: {config_file.shown(point.name)} makes a name of {longest} bytes, at most "
            f"{LONGEST_NAME} are allowed; set fewer parameters, or keep fewer frequencies"
        )


def check_logs(where: str, point: "Point") -> None:
    """Raise ConfigError if a log is of a step after the last, or too large for one file."""
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
        late = [at for at in (point.settings["log"][kind] or {}).get("at", ()) if at > point.steps]
        if late:
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


def check_measured(points: Iterable["Point"]) -> None:
    """Measure what the plan cannot know, and whether logs of that size fit; raises CircletError."""
    points = [point for point in points if point.system.is_measured]
    measured.measure(points)
    for point in points:
        check_logs(f"experiments.{point.experiment}", point)
