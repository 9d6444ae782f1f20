"""A study: its config, and every experiment, point and block, which follow from it.

Nothing here looks at results, but for `Study._as_found`: a point keeps the folder that it has.
`circlet.study.planning` makes a study of a config.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from circlet.config.collection import Role
from circlet.config.experiment import Arguments, Experiment, Seeds
from circlet.config.model import Config, experiment_of
from circlet.errors import ConfigError, unknown
from circlet.study import declared_systems, derived_metrics, milestones, validation
from circlet.study.blocks import Block
from circlet.study.interventions import columns, is_list_of_values, list_interventions
from circlet.study.limits import MAX_CHAIN
from circlet.study.points import Point
from circlet.study.registry import Collection
from circlet.study.seeds import PURPOSES
from circlet.study.starts import ParentIndex
from circlet.systems.spec import Metric, Outcome, SystemSpec

# Keys of the config that tables and figures read if they say so (`CONFIG`), and without them.
KEYS: dict[str, Any] = {"milestones": {}, "derived_metrics": [], "figures": None}


@dataclass(frozen=True, eq=False)
class Study:
    """A config, with the defaults of its systems, and all that follows from it."""

    config: Config
    collections: tuple[Collection, ...]
    folder: Path  # of its tables, figures and pages
    missing: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """Blocks that it does without, by point: of a partial study, those that are not done yet."""
    whole: "Study | None" = None  # what a partial study is a part of
    left_out: tuple[str, ...] = ()  # names of the tables and figures that could not be made of it
    keys: Mapping[str, str] = field(default_factory=dict)  # of tables: what their readers check
    notify: str | None = None  # the command to run at its end
    is_checked: bool = False  # whether a plan has checked it

    @property
    def results(self) -> Path:
        """Folder of all that it writes."""
        return Path(self.config.results)

    @property
    def reproduce(self) -> dict[str, str]:
        """The experiment of each role that the config gives."""
        return self.config.reproduce

    @property
    def folders(self) -> list[str]:
        """Folders of the collections that are its user's."""
        return [str(c.folder) for c in self.collections if not c.shipped]

    @property
    def used_collections(self) -> list[Collection]:
        """Its collections, but those of other systems; of a partial study, as of the whole."""
        systems = (self.whole or self).systems
        return [c for c in self.collections if c.supports(systems)]

    @cached_property
    def roles(self) -> dict[str, Role]:
        """All roles of its collections, by name."""
        return {name: role for c in self.collections for name, role in c.roles.items()}

    @cached_property
    def known(self) -> declared_systems.Systems:
        """All systems of its collections, by name."""
        return declared_systems.Systems(self.collections)

    @property
    def systems(self) -> list[str]:
        """Names of its systems, in the order of the config."""
        return list(dict.fromkeys(e.system for e in self.config.experiments.values()))

    @cached_property
    def _points(self) -> dict[str, list[Point]]:
        """Points of every experiment, in the order of the config."""
        made: dict[str, list[Point]] = {}
        for name in self.config.experiments:
            self._add_points(made, name, [])
        return {name: made[name] for name in self.config.experiments}

    @property
    def points(self) -> list[Point]:
        """All points, in the order of the config."""
        return [point for points in self._points.values() for point in points]

    @property
    def blocks(self) -> Iterator[Block]:
        """All blocks."""
        return (block for point in self.points for block in point.blocks)

    @property
    def ordered_blocks(self) -> list[Block]:
        """All blocks, each after the blocks that it starts from."""
        return sorted(self.blocks, key=lambda block: block.point.depth)

    def experiment(self, name: str) -> list[Point]:
        """Points of one experiment."""
        return self._points[name]

    def table(self, name: str) -> Path:
        """Path of a table."""
        return self.folder / "tables" / f"{name}.parquet"

    def part(
        self,
        experiments: Iterable[str],
        with_roles: Iterable[str] = (),
        with_keys: Iterable[str] = KEYS,
    ) -> "Study":
        """The study of some of its experiments and roles; what they start from becomes a parent.

        Of the other keys of its config it has those of ``with_keys``; the rest are not given.

        Its keys are sorted, as in ``json``: a table has its rows in the same order whether it is
        made by a job or from the config file.
        """
        chosen, kept_roles, config = set(experiments), set(with_roles), self._sorted
        available = config.parents | config.experiments
        needed = set(chosen)
        while (
            more := {parent for name in needed for parent in validation.parents(available[name])}
            - needed
        ):
            needed |= more
        keys = {key: getattr(config, key) if key in with_keys else KEYS[key] for key in KEYS}
        if keys["figures"]:
            keys["figures"] = [one for one in keys["figures"] if experiment_of(one) in chosen]
        part = Config(
            results=config.results,
            reproduce={k: v for k, v in config.reproduce.items() if k in kept_roles},
            experiments={name: available[name] for name in sorted(chosen)},
            parents={name: available[name] for name in sorted(needed - chosen)},
            **keys,
        )
        return replace(self, config=part)  # without checks: the whole has passed them

    def partial(self, done: Iterable[Block]) -> "Study":
        """The study with no more than the blocks that are done, and a folder of its own.

        Experiments without finished blocks are left out; the planned numbers of runs stay.
        """
        keys = {block.key for block in done}
        begun = {experiment for experiment, _, _ in keys}
        missing = {
            p.key: frozenset(b.name for b in p.blocks if b.key not in keys) for p in self.points
        }
        kept = [role for role, name in self.reproduce.items() if name in begun]
        return replace(
            self.part(begun, kept),
            folder=self.results / "partial",
            missing={key: names for key, names in missing.items() if names},
            whole=self,
        )

    def outcomes(self, system: str) -> tuple[Outcome, ...]:
        """The outcomes of the runs of a system: its own, its milestones and derived metrics."""
        spec = self.known[system]
        derived = derived_metrics.outcomes(self.collections, self.config.derived_metrics, system)
        return (*spec.outcomes, *milestones.outcomes(self.config, spec), *derived)

    def derived_metrics(self, system: str) -> dict[str, tuple[Metric, str]]:
        """The derived metrics of the runs of a system by name: what they are, and their table."""
        return derived_metrics.of_system(self.collections, self.config.derived_metrics, system)

    def metrics(self, system: str) -> dict[str, Metric]:
        """What curves of a system can show: its own metrics, and derived ones."""
        more = {name: metric for name, (metric, _) in self.derived_metrics(system).items()}
        return {**self.known[system].metrics, **more}

    def of_systems(self, systems: Iterable[str]) -> list[str]:
        """Names of the experiments with one of these systems."""
        return [k for k, v in self.config.experiments.items() if v.system in set(systems)]

    @property
    def json(self) -> str:
        """The config as canonical JSON, as commands take it."""
        return msgspec.json.encode(self.config, order="sorted").decode()

    @property
    def whole_json(self) -> str:
        """The same, with the folders of its user's collections."""
        config = structs.replace(self.config, collections=self.folders)
        return msgspec.json.encode(config, order="sorted").decode()

    def at(self, results: Path) -> "Study":
        """The same study with another folder of results."""
        return replace(
            self, config=structs.replace(self.config, results=str(results)), folder=results
        )

    @cached_property
    def _sorted(self) -> Config:
        """The config with its keys sorted, but for those whose order is in names of points."""
        config = msgspec.json.decode(self.json, type=Config)
        return resolved(config, self.known)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Schemas of the key columns: parameters of all systems, arguments of interventions."""
        merged: dict[str, dict[str, Any]] = {}
        for system in self.systems:
            merged |= self.known[system].schemas
        for experiment in self.config.experiments.values():
            for name, _ in list_interventions(experiment.interventions):
                merged |= columns(name)
        return merged

    def _add_points(self, made: dict[str, list[Point]], name: str, above: list[str]) -> None:
        """Make the points of an experiment, after those that they start from."""
        if name in made:
            return
        available = self.config.parents | self.config.experiments
        where = f"{'parents' if name in self.config.parents else 'experiments'}.{name}"
        experiment = available[name]
        for parent in validation.parents(experiment):
            if parent not in available:
                said = unknown("experiment", parent, available)
                raise ConfigError(f"{where}.interventions: {said}")
            if parent in (name, *above):
                raise ConfigError(f"{where}.interventions: {parent} would start from itself")
            if len(above) >= MAX_CHAIN:
                raise ConfigError(_too_many_in_a_row(where))
            self._add_points(made, parent, [*above, name])
        points: dict[str, Point] = {}
        starts: ParentIndex | None = None
        for point in _combinations(name, self.known[experiment.system], experiment, self.results):
            if not self.is_checked:
                validation.check_point(where, point)
            if parents := validation.parents(point):
                starts = starts or ParentIndex(made[parents[0]], point.intervenes("transfer"))
                point = replace(point, parent=starts.find(where, point))
                if point.depth > MAX_CHAIN:
                    raise ConfigError(_too_many_in_a_row(where))
            if point.name in points:
                raise ConfigError(f"{where}: {point.name} is listed twice")
            points[point.name] = point
        made[name] = [
            replace(point, missing=self.missing[point.key]) if point.key in self.missing else point
            for point in self._as_found(name, points)
        ]

    def _as_found(self, experiment: str, points: dict[str, Point]) -> list[Point]:
        """Points by the names of their folders, if these were made when other things were swept.

        A folder is looked for only if the one of the name that the config gives is not there. The
        job of a block finds that one, because Snakemake makes it first.
        """
        there = {path.name for path in (self.results / "logs" / experiment).glob("*")}
        others = sorted(there - points.keys())
        return [
            point if name in there or not others else point.called(others)
            for name, point in points.items()
        ]


def _too_many_in_a_row(where: str) -> str:
    return (
        f"{where}.interventions: more than {MAX_CHAIN} experiments start from each other in a row"
    )


def resolved(config: Config, systems: declared_systems.Systems) -> Config:
    """Return a config with the defaults of its systems; see `validation.resolved`."""
    groups = {
        group: {
            name: validation.resolved(f"{group}.{name}", experiment, systems[experiment.system])
            for name, experiment in getattr(config, group).items()
        }
        for group in ("experiments", "parents")
    }
    return structs.replace(config, **groups)


def _combinations(
    name: str, system: SystemSpec, experiment: Experiment, results: Path
) -> Iterator[Point]:
    """Every combination of what an experiment varies, as a point."""
    seeds, schemas, grid = experiment.seeds, system.schemas, experiment.grid
    defaults = {k: validation.typed(v, schemas[k]) for k, v in system.defaults.items()}
    arithmetic = {key: getattr(experiment, key) for key in validation.ARITHMETIC}
    # In this order a job has them, too, whose config is sorted.
    sweep = {key: grid[key] for key in (*arithmetic, *defaults) if key in grid}
    shared = [getattr(seeds, purpose) for purpose in PURPOSES]
    seed_choices = [one if isinstance(one, list) else [one] for one in shared]
    interventions = [_alternatives(one) for one in experiment.interventions]
    swept = frozenset(experiment.swept | validation.listed(experiment))
    for case, *values in itertools.product(experiment.listed_cases, *sweep.values()):
        varied = experiment.parameters | case | dict(zip(sweep, values, strict=True))
        own_arithmetic = {key: varied.pop(key, usual) for key, usual in arithmetic.items()}
        parameters = defaults | varied
        count = _seeds(seeds, parameters | own_arithmetic)
        for chosen in itertools.product(*seed_choices):
            own_seeds = structs.replace(
                seeds, count=count, more=[], **dict(zip(PURPOSES, chosen, strict=True))
            )
            settings = structs.replace(
                experiment,
                seeds=own_seeds,
                steps=_steps(experiment, system, parameters),
                **own_arithmetic,
            )
            for acting in itertools.product(*interventions):
                yield Point(name, system, parameters, list(acting), settings, results, swept=swept)


def _steps(experiment: Experiment, system: SystemSpec, parameters: Arguments) -> int:
    """Number of steps of a run."""
    if experiment.epochs and system.steps_per_epoch:
        return experiment.epochs * int(system.steps_per_epoch(**parameters))
    return experiment.steps or 0  # of neither, the check of the experiment says so


def _seeds(seeds: Seeds, values: Arguments) -> int:
    """Number of seeds at a point: of all, or the most of those that name its parameters."""
    return max((more.count for more in seeds.more if more.is_about(values)), default=seeds.count)


def _alternatives(intervention: dict[str, Arguments]) -> list[dict[str, Arguments]]:
    """An intervention with each combination of the values that its arguments list."""
    ((name, arguments),) = intervention.items()
    options = [
        value if is_list_of_values(name, argument, value) else [value]
        for argument, value in arguments.items()
    ]
    return [{name: dict(zip(arguments, v, strict=True))} for v in itertools.product(*options)]
