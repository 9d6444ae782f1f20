"""Points: the combinations of parameters of a study, with their names, seeds and blocks.

Paths are readable, canonical (0.30 is 0.3) and stable: the name of a point has its own parameters
and what its experiment sweeps. It identifies the point, because what it leaves out is at its
default, and a point that has a folder keeps its name (`circlet.study.plan`). So no edit renames
what exists. No name has a ``=``, which other tools would read as a column (Hive partitions).
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
from circlet.study import fingerprint
from circlet.study.block_sizes import balanced_group_size, default_size, first_seeds
from circlet.study.blocks import Block
from circlet.study.interventions import INTERVENTIONS, list_interventions, module_of, reads
from circlet.study.interventions import VERSION as INTERVENTIONS_VERSION
from circlet.study.seeds import PURPOSES, Seeds
from circlet.systems.spec import SystemSpec

# The folders that a study makes in that of its results. No study may be in one of another's.
FOLDERS = ("logs", "job_logs", "job_configs", "tables", "figures", "partial")


def canonical(value: Any) -> str:
    """Text of a parameter value in names: 0.30, .3 and 3e-1 are all "0.3"."""
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
    settings: Experiment  # of its experiment, with its own steps, dtype, products and seeds
    results: Path
    parent: "Point | None" = None  # whose outcome an intervention looks at
    missing: frozenset[str] = frozenset()  # names of blocks that a partial study does without
    swept: frozenset[str] = frozenset()  # columns that stand in its name even at their default

    @property
    def key(self) -> tuple[str, str]:
        """Its experiment and its own name."""
        return self.experiment, self.name

    @cached_property
    def name(self) -> str:
        """Folder name: what is labelled or swept, and all that is not at its default."""
        texts = [text for text, column in self._parts if not column or column in self.swept]
        return "".join(texts)[1:] or "defaults"

    @property
    def _parts(self) -> Iterator[tuple[str, str]]:
        """All that its name may have, each with its column if it is at its default."""
        known = self.system.parameters
        for key, value in self.parameters.items():
            is_left_out = not known[key].label and value == known[key].default
            text = (known[key].label or f"{key}-") + canonical(value)
            yield f"_{text}", key if is_left_out else ""
        for key, value in self.arithmetic.items():
            yield f"_{key}-{value}", key if value == "float32" else ""
        for purpose, seed in self.fixed_seeds.items():
            yield f"_{purpose}-{seed}", ""
        for name, arguments in list_interventions(self.interventions):
            yield f"_{name}", ""
            for key, value in arguments.items():
                is_left_out = value == INTERVENTIONS[name][key].get("default")
                yield f"-{key}-{canonical(value)}", f"{name}_{key}" if is_left_out else ""

    @property
    def named(self) -> list[str]:
        """Columns that its name has although they are at their default."""
        return [column for _, column in self._parts if column in self.swept]

    def called(self, names: Iterable[str]) -> "Point":
        """The same point by the first of some names that it has if other parameters are swept."""
        parts = list(self._parts)
        columns = [column for _, column in parts if column]
        own = "".join(f"({re.escape(t)})?" if column else re.escape(t) for t, column in parts)
        pattern = re.compile(own)
        for name in names:
            if found := pattern.fullmatch("" if name == "defaults" else f"_{name}"):
                texts = zip(columns, found.groups(), strict=True)
                return replace(self, swept=frozenset(column for column, text in texts if text))
        return self

    @property
    def labels(self) -> dict[str, Any]:
        """What a log says of its runs, for who reads it without the config; lists as texts."""
        named = {"experiment": self.experiment, "system": self.system.name, "point": self.name}
        values = self.arithmetic | self.keys
        return named | {k: canonical(v) if isinstance(v, list) else v for k, v in values.items()}

    @property
    def arithmetic(self) -> dict[str, str]:
        """Type of its numbers, and what the factors of products are rounded to."""
        return {"dtype": self.settings.dtype, "products": self.settings.products}

    @property
    def keys(self) -> dict[str, Any]:
        """Its parameters and the arguments of its interventions, by the columns of tables."""
        found = dict(self.parameters)
        for name, arguments in list_interventions(self.interventions):
            found |= {f"{name}_{k}": v for k, v in arguments.items()} or {name: True}
        return found

    def intervenes(self, name: str) -> bool:
        """Whether an intervention is among its own."""
        return name in dict(list_interventions(self.interventions))

    @cached_property
    def depth(self) -> int:
        """How many points it starts from, one after the other."""
        return self.parent.depth + 1 if self.parent else 0

    @property
    def logs(self) -> tuple[str, ...]:
        """Kinds of logs that a block of this point has."""
        return self.system.kinds

    def cpu_batch(self, count: int) -> int:
        """How many runs of a block of ``count`` advance together on a CPU, in groups alike."""
        formula = self.system.cpu_batch
        return balanced_group_size(count, int(formula(**self.parameters)) if formula else count)

    def steps_logged(self, kind: str) -> list[int]:
        """Sorted steps at which a kind of log is written."""
        steps: list[int] = self._steps_logged(kind).tolist()
        return steps

    def n_logged(self, kind: str) -> int:
        """How many these are."""
        return self._steps_logged(kind).size

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
        """Kinds of logs of its parent that its interventions look at."""
        return [log for name, _ in list_interventions(self.interventions) if (log := reads(name))]

    @cached_property
    def blocks(self) -> list[Block]:
        """Its blocks, in the order of seeds."""
        bounds = [*self._starts, self.every_seed.stop]
        blocks = (Block(self, a, b - a) for a, b in itertools.pairwise(bounds))
        return [block for block in blocks if block.name not in self.missing]

    @property
    def n_blocks(self) -> int:
        """Number of its blocks, as planned; without `block` about."""
        return -(-self.count // self.block_size)

    @property
    def last_block(self) -> str:
        """Name of its last block, which is the longest."""
        last = self.every_seed.stop - 1
        return Block(self, last, 1).name

    @cached_property
    def block_size(self) -> int:
        """Most seeds of a block: as the config says, else what is worth a job."""
        return self.settings.block or default_size(self.system, self.parameters)

    @property
    def _starts(self) -> list[int]:
        """First seeds of its blocks."""
        return first_seeds(self.every_seed, self.block_size, bool(self.settings.block))

    @property
    def every_seed(self) -> range:
        """The seeds of all its runs, as planned."""
        seeds = self.settings.seeds
        return range(seeds.first, seeds.first + seeds.count)

    @property
    def count(self) -> int:
        """Number of its runs, as planned."""
        return self.settings.seeds.count

    def seeds(self, seed: int) -> Seeds:
        """The seeds of the run with a given seed."""
        return Seeds(*(self.fixed_seeds.get(k, seed) for k in PURPOSES))

    @property
    def fixed_seeds(self) -> dict[str, int]:
        """Seeds that all its runs share, by purpose."""
        seeds = {purpose: getattr(self.settings.seeds, purpose) for purpose in PURPOSES}
        return {purpose: seed for purpose, seed in seeds.items() if seed is not None}

    def run_id(self, seed: int) -> str:
        """Identity of a run across the study."""
        return f"{self.experiment}/{self.name}/s{seed:05d}"

    @property
    def identity(self) -> dict[str, Any]:
        """All that its own config says of the numbers of its runs.

        What is at its default is left out: an option that a later release adds must not make
        finished runs again. Should a default itself change, the version is raised.
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
            "log": {k: v for k, v in schedules.items() if v != system.logs[k].schedule},
        }
        if self.settings.products != "float32":
            identity["products"] = self.settings.products
        return identity | ({"interventions": self.interventions} if self.interventions else {})

    @property
    def spec(self) -> dict[str, Any]:
        """Identity and version: what a log must have been made with to be this point's."""
        spec = self.identity | {"version": self.version}
        # Logs of all editions call it base.
        return spec | ({"base": self.parent.spec} if self.parent else {})

    @property
    def version(self) -> int | str | list[int | str]:
        """Version of the code that decides its numbers: its system's and its interventions'."""
        given = self.system.version
        own = fingerprint.of_equations(self.system) if given == "" else given
        modules = [module_of(name) for name, _ in list_interventions(self.interventions)]
        theirs = [fingerprint.own_code(module) for module in modules if module]
        return [own, INTERVENTIONS_VERSION, *theirs] if self.interventions else own
