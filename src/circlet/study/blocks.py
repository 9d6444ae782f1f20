"""Blocks: ranges of seeds of one point, each trained in one job, with the paths of their logs.

Only this module makes paths of logs.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from circlet.study.interventions import list_interventions
from circlet.systems.spec import SystemSpec

if TYPE_CHECKING:
    from circlet.study.points import Point

# Paths of logs below the folder of results.
LOG = "logs/{experiment}/{point}/seeds_{seeds}/{kind}.parquet"
JOB_LOG = "job_logs/{experiment}/{point}/seeds_{seeds}.log"
SIZES = (50, 20, 10, 5, 2, 1)  # seeds per block, if the config does not say


@dataclass(frozen=True)
class Block:
    """An aligned range of seeds of one point: one job, one tensor program, one log folder."""

    point: "Point"
    first: int
    count: int

    @property
    def name(self) -> str:
        """Folder name: ``00000-00049``, first and last seed."""
        return f"{self.first:05d}-{self.first + self.count - 1:05d}"

    @property
    def seeds(self) -> range:
        """The seeds of its runs."""
        return range(self.first, self.first + self.count)

    @property
    def ends(self) -> list[int]:
        """First and last seed, as footers have them."""
        return [self.first, self.first + self.count - 1]

    @property
    def key(self) -> tuple[str, str, str]:
        """Its experiment, point and seeds, by name: unique in the study."""
        return (*self.point.key, self.name)

    def log(self, kind: str) -> Path:
        """Return the path of one of its logs."""
        return self._path(LOG, kind=kind)

    @property
    def logs(self) -> list[Path]:
        """Paths of all its logs."""
        return [self.log(kind) for kind in self.point.logs]

    @property
    def job_log(self) -> Path:
        """Text log of the job that makes it."""
        return self._path(JOB_LOG)

    def _path(self, template: str, **fields: str) -> Path:
        point = self.point
        names = {"experiment": point.experiment, "point": point.name, "seeds": self.name}
        return point.results / template.format(**names, **fields)

    @property
    def checkpoint(self) -> Path:
        """File of its checkpoint until it is done; beside its logs, but not itself a log."""
        return self.log("checkpoint").with_suffix(".pt")

    @property
    def state(self) -> Path:
        """File of the final state of its runs and their optimiser, if these are kept."""
        return self.log("state").with_suffix(".pt")

    @property
    def parents(self) -> list["Block"]:
        """Blocks of the runs that its own runs start from; none without such an intervention."""
        parent = self.point.parent
        seeds = self.seeds
        return [
            block
            for block in (parent.blocks if parent else ())
            if block.first < seeds.stop and seeds.start < block.seeds.stop
        ]

    @property
    def inputs(self) -> list[Path]:
        """Logs that must exist before it can run."""
        return [block.log(kind) for block in self.parents for kind in self.point.reads]

    @staticmethod
    def _experiment(blocks: list["Block"]) -> dict[str, Any]:
        """Return the config of an experiment that has only these blocks of one point."""
        point, first, last = blocks[0].point, blocks[0], blocks[-1]
        identity, settings = point.identity, point.settings
        ends = {"first": first.first, "count": last.first + last.count - first.first}
        config = identity | {"seeds": identity["seeds"] | ends}
        if settings.block:
            config["block"] = settings.block
        if settings.keep_state:
            config["keep_state"] = True
        # Sweeping a default value that is in the point's name keeps this name.
        values = point.arithmetic | point.parameters
        if sweep := {name: [values[name]] for name in point.named if name in values}:
            config["sweep"] = sweep
        if interventions := list_interventions(point.interventions):
            config["interventions"] = [
                {
                    name: {
                        k: [v] if f"{name}_{k}" in point.named else v for k, v in arguments.items()
                    }
                }
                for name, arguments in interventions
            ]
        return config

    @property
    def json(self) -> str:
        """Config of a study with only this block, as canonical JSON, for its job.

        The config names no other blocks, and no default of a parameter or log that another release
        may add, so that neither changes a finished job.
        """
        config = {
            "results": str(self.point.results),
            "experiments": {self.point.experiment: self._experiment([self])},
        }
        parents, blocks = {}, self.parents
        while blocks:
            parents[blocks[0].point.experiment] = self._experiment(blocks)
            # Ranges of seeds are unbroken, so the first and the last block have all parents.
            blocks = list({b.name: b for b in (*blocks[0].parents, *blocks[-1].parents)}.values())
        if parents:
            config["parents"] = parents
        return json.dumps(config, sort_keys=True)


def balanced_group_size(count: int, limit: int) -> int:
    """Return the size of the fewest, nearly equal groups of at most ``limit`` out of ``count``."""
    return math.ceil(count / math.ceil(count / limit))


def default_size(system: SystemSpec, parameters: dict[str, Any]) -> int:
    """Return the largest number of seeds of a block, if the config does not set it.

    The number is fifty if ten thousand steps of fifty runs take at most a minute; otherwise the
    largest of the other ``SIZES`` for which they take at most ten minutes. It depends only on the
    parameters and on what the system declares, so no other edit changes a block. For systems whose
    cost is measured it is twenty.
    """
    if not system.flops_per_step:
        return SIZES[1]
    seconds = 1e4 * system.flops_per_step(**parameters) / system.flops_per_second
    if SIZES[0] * seconds <= 60:
        return SIZES[0]
    return next((size for size in SIZES[1:] if size * seconds <= 600), 1)


def first_seeds(seeds: range, size: int, is_configured: bool) -> list[int]:
    """Return the first seed of each block of a range of seeds.

    Without ``block`` in the config these are the first of all seeds and the multiples of the size;
    for blocks of fifty also seed 20. So adding seeds changes at most the last block, and only if
    its last seed changes.
    """
    first = seeds.start if is_configured else seeds.start // size * size + size
    starts = {seeds.start, *range(first, seeds.stop, size)}
    if size == SIZES[0] and not is_configured and SIZES[1] in seeds:
        starts.add(SIZES[1])
    return sorted(starts)
