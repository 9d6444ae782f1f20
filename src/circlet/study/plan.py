"""A study: its config, and the experiments, points and blocks that follow from it.

Only `Study._with_existing_names` looks at results, because a point keeps the folder that it has.
`circlet.study.planning` makes a study from a config.
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
from circlet.config.experiment import Arguments, Experiment
from circlet.config.model import Config, experiment_of
from circlet.errors import ConfigError, check_exist
from circlet.study import declared_systems, milestones, registry, validation
from circlet.study.blocks import Block
from circlet.study.declarations import Table, declared
from circlet.study.interventions import columns, is_list_of_values, list_interventions, schemas
from circlet.study.points import ParentIndex, Point
from circlet.study.registry import Collection
from circlet.study.seeds import PURPOSES
from circlet.systems.spec import Metric, Outcome, SystemSpec

# Keys of the config that targets read if they declare them in `CONFIG`, and their defaults.
KEYS: dict[str, Any] = {"milestones": {}, "derived_metrics": [], "figures": None}


@dataclass(frozen=True, eq=False)
class Study:
    """A config, with the defaults of its systems, and all that follows from it."""

    config: Config
    collections: tuple[Collection, ...]
    folder: Path  # of its tables, figures and pages
    missing: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """Blocks that it does without, by point: of a partial study, those that are not done yet."""
    whole: "Study | None" = None  # of a partial study, the whole one
    left_out: tuple[str, ...] = ()  # names of the tables and figures that could not be made
    keys: Mapping[str, str] = field(default_factory=dict)  # of tables, by name; readers check them
    checkpoints: str | None = None  # the address where jobs also keep their checkpoints
    is_checked: bool = False  # whether a plan has checked it
    root: Path | None = None  # where this machine has the results, if in another folder
    is_remote: bool = False  # whether the results are in a storage, not on this machine

    @property
    def results(self) -> Path:
        """Folder of all files that it writes."""
        return self.root or Path(self.config.results)

    @property
    def reproduce(self) -> dict[str, str]:
        """The experiment that the config assigns to each role."""
        return self.config.reproduce

    @property
    def folders(self) -> list[str]:
        """Folders of the user's collections; for those of installed packages, their names."""
        return [c.place for c in self.collections if not c.shipped]

    @property
    def used_collections(self) -> list[Collection]:
        """Collections that support its systems; for a partial study, those of the whole study."""
        systems = (self.whole or self).systems
        return [c for c in self.collections if c.supports(systems)]

    @cached_property
    def roles(self) -> dict[str, Role]:
        """All roles of its collections, by name."""
        return {name: role for c in self.collections for name, role in c.roles.items()}

    @cached_property
    def specs(self) -> declared_systems.Systems:
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
        """Return the points of one experiment."""
        return self._points[name]

    def table(self, name: str) -> Path:
        """Return the path of a table."""
        return self.folder / "tables" / f"{name}.parquet"

    def subset(
        self,
        experiments: Iterable[str],
        with_roles: Iterable[str] = (),
        with_keys: Iterable[str] = KEYS,
    ) -> "Study":
        """Return the study of some experiments and roles; others that these need become parents.

        Optional keys of its config are kept if they are in ``with_keys``, and otherwise left out.

        All keys are sorted, as in ``json``, so that a table has its rows in the same order whether
        it is made by a job or from the config file.
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
            keys["figures"] = [
                figure for figure in keys["figures"] if experiment_of(figure) in chosen
            ]
        part = Config(
            results=config.results,
            reproduce={k: v for k, v in config.reproduce.items() if k in kept_roles},
            experiments={name: available[name] for name in sorted(chosen)},
            parents={name: available[name] for name in sorted(needed - chosen)},
            **keys,
        )
        return replace(self, config=part, is_checked=True)  # with the whole

    def partial(self, done: Iterable[Block]) -> "Study":
        """Return the study of the blocks that are done, with a separate folder.

        Experiments without finished blocks are left out; the planned numbers of runs stay.
        """
        keys = {block.key for block in done}
        begun = {experiment for experiment, _, _ in keys}
        missing = {
            p.key: frozenset(b.name for b in p.blocks if b.key not in keys) for p in self.points
        }
        kept = [role for role, name in self.reproduce.items() if name in begun]
        return replace(
            self.subset(begun, kept),
            folder=self.results / "partial",
            missing={key: names for key, names in missing.items() if names},
            whole=self,
        )

    def outcomes(self, system: str) -> tuple[Outcome, ...]:
        """Return the outcomes of a system's runs: declared ones, milestones and derived metrics."""
        spec = self.specs[system]
        derived = [
            Outcome(name, name.replace("_", " "), "mean", table, unit=metric.unit)
            for name, (metric, table) in self.derived_metrics(system).items()
        ]
        return (*spec.outcomes, *milestones.outcomes(self.config, spec), *derived)

    def derived_metrics(self, system: str) -> dict[str, tuple[Metric, str]]:
        """Return the derived metrics of a system by name: declaration and table of each.

        These are numbers of a run at logged steps. Their tables cost time and need logs that are
        not written by default, so they are made only if the config lists them.
        """
        modules = registry.modules(self.collections, "tables")
        metrics: dict[str, tuple[Metric, str]] = {}
        for table in self.config.derived_metrics:
            declaration = declared(Table, modules[table])
            if not declaration.systems or system in declaration.systems:
                meanings = declaration.derived_metrics.items()
                metrics |= {name: (Metric(*meaning), table) for name, meaning in meanings}
        return metrics

    def of_systems(self, systems: Iterable[str]) -> list[str]:
        """Return the names of the experiments with one of these systems."""
        return [k for k, v in self.config.experiments.items() if v.system in set(systems)]

    @property
    def json(self) -> str:
        """The config as canonical JSON, as commands take it."""
        return msgspec.json.encode(self.config, order="sorted").decode()

    @property
    def whole_json(self) -> str:
        """The config as in ``json``, with the user's collections and the address of checkpoints."""
        more = {"collections": self.folders, "checkpoints": self.checkpoints}
        return msgspec.json.encode(structs.replace(self.config, **more), order="sorted").decode()

    def staged(self, root: Path) -> "Study":
        """Return the study with its files in another folder; its config and keys stay."""
        return replace(self, root=root, folder=root)

    @cached_property
    def _sorted(self) -> Config:
        """The config with sorted keys."""
        return msgspec.json.decode(self.json, type=Config)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Schemas of the key columns: parameters of all systems, arguments of interventions."""
        merged: dict[str, dict[str, Any]] = {}
        for system in self.systems:
            merged |= self.specs[system].schemas
        for experiment in self.config.experiments.values():
            for name, _ in list_interventions(experiment.interventions):
                merged |= columns(name)
        return merged

    def _add_points(self, made: dict[str, list[Point]], name: str, above: list[str]) -> None:
        """Add the points of an experiment to ``made``, after the points that they start from."""
        if name in made:
            return
        available = self.config.parents | self.config.experiments
        where = f"{'parents' if name in self.config.parents else 'experiments'}.{name}"
        experiment = available[name]
        for parent in validation.parents(experiment):
            check_exist(f"{where}.interventions", "experiment", available, [parent])
            if parent in (name, *above):
                raise ConfigError(f"{where}.interventions: {parent} would start from itself")
            self._add_points(made, parent, [*above, name])
        points: dict[str, Point] = {}
        starts: ParentIndex | None = None
        for point in _combinations(name, self.specs[experiment.system], experiment, self.results):
            if not self.is_checked:
                validation.check_point(where, point)
            if parents := validation.parents(point):
                starts = starts or ParentIndex(made[parents[0]], point.intervenes("transfer"))
                point = replace(point, parent=starts.find(where, point))
            if point.name in points:
                repeated = "`sweep`, `cases` or `interventions` repeat a value"
                raise ConfigError(f"{where}: two points are {point.name}: {repeated}")
            points[point.name] = point
        made[name] = [
            replace(point, missing=self.missing[point.key]) if point.key in self.missing else point
            for point in self._with_existing_names(name, points)
        ]

    def _with_existing_names(self, experiment: str, points: dict[str, Point]) -> list[Point]:
        """Return points named as their existing folders, made when other parameters were swept.

        Such a folder counts only if there is none with the name that the config gives. The job of
        a block finds the latter, because Snakemake makes it first.
        """
        if self.is_remote:  # each machine must find the same names
            return [*points.values()]
        there = {path.name for path in (self.results / "logs" / experiment).glob("*")}
        others = sorted(there - points.keys())
        return [
            point if name in there or not others else point.called(others)
            for name, point in points.items()
        ]


def _combinations(
    name: str, system: SystemSpec, experiment: Experiment, results: Path
) -> Iterator[Point]:
    """Yield a point for each combination of the values that an experiment varies."""
    seeds, schemas, grid = experiment.seeds, system.schemas, experiment.grid
    defaults = {k: validation.typed(v, schemas[k]) for k, v in system.defaults.items()}
    arithmetic = {key: getattr(experiment, key) for key in validation.ARITHMETIC}
    # The order in which jobs have the parameters, because their configs are sorted.
    sweep = {key: grid[key] for key in (*arithmetic, *defaults) if key in grid}
    shared = [getattr(seeds, purpose) for purpose in PURPOSES]
    seed_choices = [entry if isinstance(entry, list) else [entry] for entry in shared]
    interventions = [_alternatives(entry) for entry in experiment.interventions]
    swept = frozenset(experiment.swept | validation.listed(experiment))
    for case, *values in itertools.product(experiment.listed_cases, *sweep.values()):
        varied = experiment.parameters | case | dict(zip(sweep, values, strict=True))
        case_arithmetic = {key: varied.pop(key, usual) for key, usual in arithmetic.items()}
        parameters = defaults | varied
        steps = experiment.steps or 0  # without both, `validation.check_experiment` raises an error
        if experiment.epochs and system.steps_per_epoch:
            steps = experiment.epochs * int(system.steps_per_epoch(**parameters))
        for chosen in itertools.product(*seed_choices):
            case_seeds = structs.replace(seeds, **dict(zip(PURPOSES, chosen, strict=True)))
            settings = structs.replace(experiment, seeds=case_seeds, steps=steps, **case_arithmetic)
            for acting in itertools.product(*interventions):
                yield _with_count(
                    Point(name, system, parameters, list(acting), settings, results, swept=swept)
                )


def _with_count(point: Point) -> Point:
    """Return a point with its number of seeds: `count`, or the largest of `more` that match."""
    seeds = point.settings.seeds
    if not seeds.more:
        return point
    counts = [more.count for more in seeds.more if more.applies_to(point.values)]
    counted = structs.replace(seeds, count=max(counts, default=seeds.count), more=[])
    return replace(point, settings=structs.replace(point.settings, seeds=counted))


def _alternatives(intervention: dict[str, Arguments]) -> list[dict[str, Arguments]]:
    """Return an intervention with each combination of the values that its arguments list."""
    ((name, given),) = intervention.items()
    # In the order of their declaration, as in names of points: configs of jobs are sorted.
    arguments = {argument: given[argument] for argument in schemas(name) if argument in given}
    options = [
        value if is_list_of_values(name, argument, value) else [value]
        for argument, value in arguments.items()
    ]
    return [{name: dict(zip(arguments, v, strict=True))} for v in itertools.product(*options)]
