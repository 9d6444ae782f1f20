"""Points: the combinations of parameters of a study, with their names, seeds, blocks and parents.

Paths are readable, canonical (0.30 is 0.3) and stable. The name of a point has the parameters that
are labelled, swept or not at their defaults. All others are at their defaults, so the name
identifies the point. A point that has a folder keeps its name (`circlet.study.plan`), so no edit
renames folders. No name has a ``=``, which other tools would read as a column (Hive partitions).
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from circlet.config.experiment import Experiment, Schedule
from circlet.config.schedules import steps_of
from circlet.errors import ConfigError
from circlet.study import fingerprint
from circlet.study.blocks import Block, balanced_group_size, default_size, first_seeds
from circlet.study.interventions import VERSION as INTERVENTIONS_VERSION
from circlet.study.interventions import list_interventions, module_of, reads, schemas
from circlet.study.seeds import PURPOSES, Seeds
from circlet.systems.spec import SystemSpec


def canonical(value: Any) -> str:
    """Return a parameter value as text in names: 0.30, .3 and 3e-1 are all "0.3"."""
    if isinstance(value, list):
        return "+".join(map(canonical, value))
    return format(value, ".15g") if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Point:
    """One combination of parameters of an experiment."""

    experiment: str
    system: SystemSpec
    parameters: dict[str, Any]
    interventions: list[dict[str, dict[str, Any]]]  # each {name: {argument: value}}
    settings: Experiment  # its experiment, with the point's steps, dtype, products and seeds
    results: Path
    parent: "Point | None" = None  # whose logs an intervention reads
    missing: frozenset[str] = frozenset()  # names of blocks that a partial study does without
    swept: frozenset[str] = frozenset()  # columns that its name has even at their defaults

    @property
    def key(self) -> tuple[str, str]:
        """Its experiment and its own name."""
        return self.experiment, self.name

    @cached_property
    def name(self) -> str:
        """Folder name: parameters that are labelled, swept or not at their defaults."""
        texts = [text for text, column in self._parts if not column or column in self.swept]
        return "".join(texts)[1:] or "defaults"

    @property
    def _parts(self) -> Iterator[tuple[str, str]]:
        """Possible parts of its name, each with its column if it is at its default, else empty."""
        declared = self.system.parameters
        for key, value in self.parameters.items():
            is_left_out = not declared[key].label and value == declared[key].default
            text = (declared[key].label or f"{key}-") + canonical(value)
            yield f"_{text}", key if is_left_out else ""
        for key, value in self.arithmetic.items():
            yield f"_{key}-{value}", key if value == "float32" else ""
        for purpose, seed in self.fixed_seeds.items():
            yield f"_{purpose}-{seed}", ""
        for name, arguments in list_interventions(self.interventions):
            yield f"_{name}", ""
            for key, value in arguments.items():
                is_left_out = value == schemas(name)[key].get("default")
                yield f"-{key}-{canonical(value)}", f"{name}_{key}" if is_left_out else ""

    @property
    def named(self) -> list[str]:
        """Columns that its name has although they are at their defaults."""
        return [column for _, column in self._parts if column in self.swept]

    def called(self, names: Iterable[str]) -> "Point":
        """Return the point with the first of ``names`` that it has if other things are swept."""
        parts = list(self._parts)
        columns = [column for _, column in parts if column]
        expression = "".join(
            f"({re.escape(t)})?" if column else re.escape(t) for t, column in parts
        )
        pattern = re.compile(expression)
        for name in names:
            if matched := pattern.fullmatch("" if name == "defaults" else f"_{name}"):
                texts = zip(columns, matched.groups(), strict=True)
                return replace(self, swept=frozenset(column for column, text in texts if text))
        return self

    @property
    def labels(self) -> dict[str, Any]:
        """Keys of its runs in logs, for readers without the config; lists become texts."""
        named = {"experiment": self.experiment, "system": self.system.name, "point": self.name}
        values = self.values.items()
        return named | {k: canonical(v) if isinstance(v, list) else v for k, v in values}

    @property
    def arithmetic(self) -> dict[str, str]:
        """Type of its numbers, and precision to which factors of matrix products are rounded."""
        return {"dtype": self.settings.dtype, "products": self.settings.products}

    @property
    def keys(self) -> dict[str, Any]:
        """Its parameters and the arguments of its interventions, by the columns of tables."""
        values = dict(self.parameters)
        for name, arguments in list_interventions(self.interventions):
            values |= {f"{name}_{k}": v for k, v in arguments.items()} or {name: True}
        return values

    @property
    def values(self) -> dict[str, Any]:
        """All that points of an experiment can differ in, except shared seeds."""
        return self.arithmetic | self.keys

    def intervenes(self, name: str) -> bool:
        """Return whether it has an intervention of this name."""
        return name in dict(list_interventions(self.interventions))

    @cached_property
    def depth(self) -> int:
        """Number of its ancestors: its parent, the parent of its parent, and so on."""
        return self.parent.depth + 1 if self.parent else 0

    @property
    def logs(self) -> tuple[str, ...]:
        """Kinds of logs that a block of this point has."""
        return self.system.kinds

    def cpu_batch(self, count: int) -> int:
        """Return how many of ``count`` runs advance together on a CPU, in nearly equal groups."""
        formula = self.system.cpu_batch
        return balanced_group_size(count, int(formula(**self.parameters)) if formula else count)

    def steps_logged(self, kind: str) -> list[int]:
        """Return the sorted steps at which a kind of log is written."""
        steps: list[int] = self._steps_logged(kind).tolist()
        return steps

    def n_logged(self, kind: str) -> int:
        """Return the number of steps at which a kind of log is written."""
        return self._steps_logged(kind).size

    def logs_every_epoch(self, kind: str) -> bool:
        """Return whether a kind of log is written at the end of each epoch, and at step 0."""
        ends = range(0, self.steps + 1, self.steps_per_epoch)
        return len(ends) <= self.n_logged(kind) and {*ends} <= {*self.steps_logged(kind)}

    def _steps_logged(self, kind: str) -> np.ndarray:
        always = tuple(self.system.logs[kind].always)
        return steps_of(self.schedules[kind], self.steps, self.steps_per_epoch, always)

    @cached_property
    def schedules(self) -> dict[str, Schedule | None]:
        """The schedule of each kind of log."""
        return self.settings.log.schedules

    @property
    def steps(self) -> int:
        """Number of steps of a run."""
        steps = self.settings.steps
        assert steps, "a config is checked, and epochs are counted in steps"
        return steps

    @cached_property
    def steps_per_epoch(self) -> int:
        """Number of steps in which a run sees its train set once."""
        formula = self.system.steps_per_epoch
        return int(formula(**self.parameters)) if formula else 1

    @property
    def reads(self) -> list[str]:
        """Kinds of logs of its parent that its interventions read."""
        return [log for name, _ in list_interventions(self.interventions) if (log := reads(name))]

    @cached_property
    def blocks(self) -> list[Block]:
        """Its blocks, in the order of seeds."""
        starts = first_seeds(self.all_seeds, self.block_size, bool(self.settings.block))
        bounds = [*starts, self.all_seeds.stop]
        blocks = (Block(self, a, b - a) for a, b in itertools.pairwise(bounds))
        return [block for block in blocks if block.name not in self.missing]

    @cached_property
    def block_size(self) -> int:
        """Largest number of seeds of a block: from the config, or else enough to be worth a job."""
        return self.settings.block or default_size(self.system, self.parameters)

    @property
    def all_seeds(self) -> range:
        """The seeds of all its runs, as planned."""
        seeds = self.settings.seeds
        return range(seeds.first, seeds.first + seeds.count)

    @property
    def count(self) -> int:
        """Number of its runs, as planned."""
        return self.settings.seeds.count

    def seeds(self, seed: int) -> Seeds:
        """Return the seeds of the run with a given seed."""
        return Seeds(*(self.fixed_seeds.get(k, seed) for k in PURPOSES))

    @property
    def fixed_seeds(self) -> dict[str, int]:
        """Seeds that all its runs share, by purpose."""
        seeds = {purpose: getattr(self.settings.seeds, purpose) for purpose in PURPOSES}
        return {purpose: seed for purpose, seed in seeds.items() if seed is not None}

    def run_id(self, seed: int) -> str:
        """Return the identity of a run across the study."""
        return f"{self.experiment}/{self.name}/s{seed:05d}"

    @property
    def identity(self) -> dict[str, Any]:
        """All settings of its config that decide the numbers of its runs.

        Defaults of parameters and logs are left out, so that an option of a later release does not
        make finished runs outdated. If a default itself changes, the version is raised.
        """
        system = self.system
        schedules = json.loads(msgspec.json.encode(self.schedules))
        identity = {
            "system": system.name,
            "parameters": {
                name: value
                for name, value in self.parameters.items()
                if value != system.parameters[name].default
            },
            "steps": self.steps,
            "dtype": self.settings.dtype,
            "seeds": self.fixed_seeds,
            "log": {
                kind: schedule
                for kind, schedule in schedules.items()  # that of a log it does not have is null
                if kind in system.logs and schedule != system.logs[kind].schedule
            },
        }
        if self.settings.products != "float32":
            identity["products"] = self.settings.products
        return identity | ({"interventions": self.interventions} if self.interventions else {})

    @property
    def spec(self) -> dict[str, Any]:
        """Settings and code version that a log must record to be valid for this point."""
        spec = self.identity | {"version": self.version}
        # Logs call the parent "base", in all releases.
        return spec | ({"base": self.parent.spec} if self.parent else {})

    @property
    def version(self) -> int | str | list[int | str]:
        """Version of the code that decides its numbers: its system's and its interventions'."""
        declared = self.system.version
        version = fingerprint.of_equations(self.system) if declared == "" else declared
        modules = [module_of(name) for name, _ in list_interventions(self.interventions)]
        fingerprints = [fingerprint.local_code(module) for module in modules if module]
        return [version, INTERVENTIONS_VERSION, *fingerprints] if self.interventions else version


class ParentIndex:
    """Index of an experiment's points, in which points of other experiments find their parents.

    A point starts from the point with the same parameters. For a transfer only two kinds of
    parameters must agree: those that decide the shapes of the arrays, and those that the parent's
    experiment varies.
    """

    def __init__(self, candidates: list[Point], transfer: bool):
        self.name, self.transfer = candidates[0].experiment, transfer
        first = candidates[0].parameters
        self._swept = {
            k for parent in candidates for k, v in parent.parameters.items() if v != first.get(k)
        }
        self._by_key: dict[tuple[Any, ...], list[Point]] = {}
        for parent in candidates:
            self._by_key.setdefault(self._key(parent), []).append(parent)

    def _alike(self, point: Point) -> list[str]:
        """Return the names of the parameters in which a point and its parent must agree."""
        names = list(point.parameters)
        if not self.transfer:
            return names
        return [k for k in names if k in self._swept or k in point.system.shapes]

    def _key(self, point: Point) -> tuple[Any, ...]:
        same = [point.parameters[name] for name in self._alike(point)]
        return point.system.name, point.fixed_seeds.get("embedding"), *same

    def find(self, where: str, point: Point) -> Point:
        """Return a point's parent; raises ConfigError unless one point has its seeds and logs."""
        candidates = self._by_key.get(self._key(point), [])
        if len(candidates) > 1:  # several agree in the embedding seed: compare all else
            candidates = [
                parent
                for parent in candidates
                if parent.fixed_seeds == point.fixed_seeds and parent.arithmetic == point.arithmetic
            ]
        if len(candidates) != 1:
            how_many = "more than one point" if candidates else "no point"
            same = f"the {', '.join(self._alike(point))}" if self.transfer else "the parameters"
            raise ConfigError(
                f"{where}.interventions: {self.name} has {how_many} with {same} and seeds of "
                f"{point.name}"
            )
        available, needed = candidates[0].all_seeds, point.all_seeds
        if needed.start < available.start or needed.stop > available.stop:
            missing_seed = needed.start if needed.start not in available else available.stop
            raise ConfigError(
                f"{where}.seeds: {self.name}, which it starts from, has no seed {missing_seed}"
            )
        for kind in point.reads:
            if candidates[0].schedules[kind] is None:
                raise ConfigError(f"{where}.interventions: {self.name} does not log {kind}")
        return candidates[0]
