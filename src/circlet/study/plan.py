"""The plan of a study: every experiment, point and block, as a function of the config.

Nothing here looks at results, but for `Study._as_found`: a point keeps the folder that it has.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from circlet.errors import ConfigError, unknown
from circlet.study import (
    config_file,
    limits,
    measures,
    milestones,
    own_collections,
    pictures,
    registry,
    roles,
    swept,
    validation,
)
from circlet.study.interventions import columns, is_list_of_values, list_interventions
from circlet.study.pictures import Picture
from circlet.study.points import Block, Point
from circlet.study.registry import Collection
from circlet.study.seeds import PURPOSES
from circlet.study.starts import ParentIndex
from circlet.systems.spec import Metric, Outcome, SystemSpec

# Keys of the config that tables and figures read if they say so (`CONFIG`), and without them.
KEYS: dict[str, Any] = {"milestones": {}, "measures": [], "figures": None}


@dataclass(frozen=True, eq=False)
class Study:
    """A validated config and all that follows from it; `Study.of` and `Study.read` make one."""

    config: dict[str, Any]
    collections: tuple[Collection, ...]
    folder: Path  # of its tables, figures and pages
    missing: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """Blocks that it does without, by point: of a partial study, those that are not done yet."""
    whole: "Study | None" = None  # what a partial study is a part of
    left_out: tuple[str, ...] = ()  # names of the tables and figures that could not be made of it
    keys: Mapping[str, str] = field(default_factory=dict)  # of tables: what their readers check
    notify: str | None = None  # the command to run at its end
    is_resolved: bool = False  # whether a plan has checked it

    @classmethod
    def of(cls, config: dict[str, Any]) -> "Study":
        """The study of a config; raises ConfigError naming the offending key."""
        config_file.check_content(config)
        config = config_file.check(config, config_file.schema())
        study = cls._filled(config, is_resolved=False)
        config_file.check_content(config)  # jobs get it with all defaults
        limits.check_results(config["results"])
        limits.check_totals(config)
        if both := config["experiments"].keys() & config["parents"].keys():
            raise ConfigError(f"parents.{min(both)}: is also an experiment")
        measures.check(study)
        _ = study.points  # no two are the same
        study._check_compared()
        milestones.check(study)
        measures.check_logs(study)
        limits.check_blocks(study)
        if config["figures"]:  # the usual ones need no check, and jobs none of them
            _ = study.pictures
        roles.check(study)
        return study

    @classmethod
    def resolved(cls, config: dict[str, Any]) -> "Study":
        """The study of a config, or of a part, that a plan has checked. It is not checked again."""
        config = config_file.filled(config, config_file.schema())
        return cls._filled(config, is_resolved=True)

    @classmethod
    def _filled(cls, config: dict[str, Any], is_resolved: bool) -> "Study":
        """The study of a config with the schema's defaults, and with those of its systems.

        Its experiments are checked, unless a plan has done so.
        """
        notify = config.pop("notify")  # no result depends on it
        collections = registry.find(config.pop("collections"))
        systems = registry.Systems(collections)
        if not is_resolved:
            own_collections.check(collections, systems)
        for where in ("experiments", "parents"):
            for name, settings in config[where].items():
                validation.canonicalise(settings, systems, f"{where}.{name}")
                if not is_resolved:
                    validation.check_experiment(f"{where}.{name}", settings, systems)
        return cls(
            config, collections, Path(config["results"]), notify=notify, is_resolved=is_resolved
        )

    @classmethod
    def read(cls, path: str | Path) -> "Study":
        """The study of one config file; errors name the file."""
        try:
            return cls.of(config_file.read(path))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None

    @property
    def results(self) -> Path:
        """Folder of all that it writes."""
        return Path(self.config["results"])

    @property
    def reproduce(self) -> dict[str, str]:
        """The experiment of each role that the config gives."""
        return self.config["reproduce"]

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
    def roles(self) -> dict[str, dict[str, Any]]:
        """All roles of its collections, by name."""
        return {name: role for c in self.collections for name, role in c.roles.items()}

    @cached_property
    def known(self) -> registry.Systems:
        """All systems of its collections, by name."""
        return registry.Systems(self.collections)

    @property
    def systems(self) -> list[str]:
        """Names of its systems, in the order of the config."""
        return list(dict.fromkeys(e["system"] for e in self.config["experiments"].values()))

    @cached_property
    def _points(self) -> dict[str, list[Point]]:
        """Points of every experiment, in the order of the config."""
        known: dict[str, list[Point]] = {}
        for name in self.config["experiments"]:
            self._add_points(known, name, [])
        return {name: known[name] for name in self.config["experiments"]}

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
        chosen, kept_roles = set(experiments), set(with_roles)
        every = self._sorted["parents"] | self._sorted["experiments"]
        needed = set(chosen)
        while more := {b for name in needed for b in validation.parents(every[name])} - needed:
            needed |= more
        config = {
            "results": self.config["results"],
            "reproduce": {k: v for k, v in self._sorted["reproduce"].items() if k in kept_roles},
            "experiments": {k: every[k] for k in sorted(chosen)},
            "parents": {k: every[k] for k in sorted(needed - chosen)},
            **{k: self._sorted[k] if k in with_keys else usual for k, usual in KEYS.items()},
        }
        if config["figures"]:
            config["figures"] = [
                f for f in config["figures"] if pictures.experiment_of(f) in chosen
            ]
        return replace(self, config=config)  # without checks: the whole has passed them

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
        """The outcomes of the runs of a system: its own, its milestones and measures."""
        known = self.known[system]
        own = (*known.outcomes, *milestones.outcomes(self.config, known))
        return (*own, *measures.outcomes(self, system))

    def metrics(self, system: str) -> dict[str, Metric]:
        """What curves of a system can show: its own metrics, and measures."""
        more = {name: metric for name, (metric, _) in measures.of(self, system).items()}
        return {**self.known[system].metrics, **more}

    @cached_property
    def pictures(self) -> list[Picture]:
        """The pictures of its experiments."""
        return pictures.of(self)

    def of_systems(self, systems: Iterable[str]) -> list[str]:
        """Names of the experiments with one of these systems."""
        return [k for k, v in self.config["experiments"].items() if v["system"] in set(systems)]

    @property
    def json(self) -> str:
        """The config as canonical JSON, as commands take it."""
        return json.dumps(self.config, sort_keys=True)

    @cached_property
    def _sorted(self) -> dict[str, Any]:
        """The config with its keys sorted, but for those whose order is in names of points."""
        config = json.loads(self.json)
        for settings in (*config["experiments"].values(), *config["parents"].values()):
            validation.canonicalise(settings, self.known, "")
        return config

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Schemas of the key columns: parameters of all systems, arguments of interventions."""
        merged: dict[str, dict[str, Any]] = {}
        for system in self.systems:
            merged |= self.known[system].schemas
        for settings in self.config["experiments"].values():
            for name, _ in list_interventions(settings["interventions"]):
                merged |= columns(name)
        return merged

    def _add_points(self, known: dict[str, list[Point]], experiment: str, above: list[str]) -> None:
        """Make the points of an experiment, after those that they start from."""
        if experiment in known:
            return
        every = self.config["parents"] | self.config["experiments"]
        group = "parents" if experiment in self.config["parents"] else "experiments"
        where = f"{group}.{experiment}"
        settings = every[experiment]
        for parent in validation.parents(settings):
            if parent not in every:
                raise ConfigError(f"{where}.interventions: {unknown('experiment', parent, every)}")
            if parent in (experiment, *above):
                raise ConfigError(f"{where}.interventions: {parent} would start from itself")
            if len(above) >= config_file.limit("chain"):
                raise ConfigError(_too_many_in_a_row(where))
            self._add_points(known, parent, [*above, experiment])
        points: dict[str, Point] = {}
        starts: ParentIndex | None = None
        system = self.known[settings["system"]]
        for point in _combinations(experiment, system, settings, self.results):
            if not self.is_resolved:
                validation.check_point(where, point)
            if names := validation.parents({"interventions": point.interventions}):
                starts = starts or ParentIndex(known[names[0]], point.intervenes("transfer"))
                point = replace(point, parent=starts.find(where, point))
                if point.depth > config_file.limit("chain"):
                    raise ConfigError(_too_many_in_a_row(where))
            if point.name in points:
                raise ConfigError(f"{where}: {point.name} is listed twice")
            points[point.name] = point
        known[experiment] = [
            replace(point, missing=self.missing[point.key]) if point.key in self.missing else point
            for point in self._as_found(experiment, points)
        ]

    def _check_compared(self) -> None:
        """Whether some points differ only in the parameter that `compare` names."""
        for name, settings in self.config["experiments"].items():
            points = self.experiment(name)
            for parameter, ends in settings["compare"].items():
                if any(swept.pairs(points, parameter, ends)):
                    continue
                first, *_ = (p for p in points if swept.value(p, parameter) == ends[0])
                differing = min(
                    (
                        [one.name for one in swept.swept([first, p]) if one.name != parameter]
                        for p in points
                        if swept.value(p, parameter) == ends[1]
                    ),
                    key=len,
                )
                others = pictures.listed(differing)
                raise ConfigError(
                    f"experiments.{name}.compare.{parameter}: no two points differ in {parameter} "
                    f"alone; those with {' and '.join(map(swept.text, ends))} also differ in "
                    f"{others}: add cases with the same {others}, or remove this entry"
                )

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
    most = config_file.limit("chain")
    return f"{where}.interventions: more than {most} experiments start from each other in a row"


def _combinations(
    experiment: str, system: SystemSpec, settings: dict[str, Any], results: Path
) -> Iterator[Point]:
    """Every combination of what an experiment varies, as a point."""
    seeds, schemas = settings["seeds"], system.schemas
    defaults = {k: validation.typed(v, schemas[k]) for k, v in system.defaults.items()}
    arithmetic = config_file.arithmetic()
    # In this order a job has them, too, whose config is sorted.
    sweep = {k: settings["sweep"][k] for k in (*arithmetic, *defaults) if k in settings["sweep"]}
    fixed = [seeds[k] if isinstance(seeds[k], list) else [seeds[k]] for k in PURPOSES]
    choices = [_alternatives(intervention) for intervention in settings["interventions"]]
    cases = settings.get("cases", [])
    swept = frozenset([*sweep, *itertools.chain(*cases), *validation.listed(settings)])
    for case in settings.get("cases", [{}]):
        for values in itertools.product(*sweep.values()):
            varied = settings["parameters"] | case | dict(zip(sweep, values, strict=True))
            computing = {k: varied.pop(k, settings[k]) for k in arithmetic}
            for chosen in itertools.product(*fixed):
                parameters = defaults | varied
                own_seeds = seeds | dict(zip(PURPOSES, chosen, strict=True))
                own_seeds["count"] = _seeds(seeds, parameters | computing)
                own = settings | computing | {"seeds": own_seeds}
                per_epoch = system.steps_per_epoch
                if (epochs := own.pop("epochs", None)) and per_epoch:
                    own["steps"] = epochs * int(per_epoch(**parameters))
                for combination in itertools.product(*choices):
                    acting = list(combination)
                    yield Point(experiment, system, parameters, acting, own, results, swept=swept)


def _seeds(seeds: dict[str, Any], has: dict[str, Any]) -> int:
    """Number of seeds at a point: of all, or the most of those that name its parameters."""
    more = [
        one["count"]
        for one in seeds["more"]
        if all(has.get(name) == value for name, value in one["where"].items())
    ]
    return max(more, default=seeds["count"])


def _alternatives(intervention: dict[str, dict[str, Any]]) -> list[dict[str, dict[str, Any]]]:
    """An intervention with each combination of the values that its arguments list."""
    ((name, arguments),) = intervention.items()
    options = [
        value if is_list_of_values(name, argument, value) else [value]
        for argument, value in arguments.items()
    ]
    return [{name: dict(zip(arguments, v, strict=True))} for v in itertools.product(*options)]
