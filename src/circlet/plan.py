"""The plan of a study: every experiment, point and block, as a pure function of the config.

Nothing here looks at results.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from circlet import checks, limits
from circlet import config as configuration
from circlet.errors import ConfigError
from circlet.interventions import columns, is_list_of_values
from circlet.points import Block, Point
from circlet.schedules import Schedules
from circlet.seeds import PURPOSES
from circlet.source import declared, evaluate
from circlet.starts import Bases


class Study:
    """A validated config and all that follows from it.

    ``folder`` is where its tables, figures and report are, ``missing`` the blocks that it does
    without: of a partial study, those that are not done yet.
    """

    missing: Mapping[tuple[str, str], frozenset[str]] = MappingProxyType({})  # seeds by point
    whole: "Study | None" = None  # what a partial study is a part of
    left_out: Sequence[str] = ()  # names of the tables and figures that could not be made of it
    keys: Mapping[str, str] = MappingProxyType({})  # of tables: what whoever reads them checks

    def __init__(self, config: dict[str, Any]):
        self.config = configuration.validate(config)
        for where in ("experiments", "bases"):
            for name, settings in self.config[where].items():
                checks.canonicalise(settings)
                checks.check_experiment(f"{where}.{name}", settings)
        configuration.check_content(self.config)  # jobs get it with all defaults
        limits.check_results(self.config["results"])
        limits.check_totals(self.config)
        self.folder = self.results = Path(self.config["results"])
        self.reproduce: dict[str, str] = self.config["reproduce"]
        if both := self.config["experiments"].keys() & self.config["bases"].keys():
            raise ConfigError(f"bases.{min(both)}: is also an experiment")
        _ = self.points  # no two are the same
        checks.check_roles(self)

    @classmethod
    def read(cls, path: str | Path) -> "Study":
        """The study of one config file; errors name the file."""
        try:
            return cls(configuration.read(path))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None

    @property
    def systems(self) -> list[str]:
        """Systems of the study, in the order of the config."""
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

    def part(self, experiments: Iterable[str], roles: Iterable[str] = ()) -> "Study":
        """The study of some of its experiments and roles; what they start from becomes a base.

        Its keys are sorted, as in ``json``: a table has its rows in the same order whether it is
        made by a job or from the config file.
        """
        chosen, kept_roles = set(experiments), set(roles)
        every = self._sorted["bases"] | self._sorted["experiments"]
        needed = set(chosen)
        while more := {b for name in needed for b in checks.bases(every[name])} - needed:
            needed |= more
        part = object.__new__(Study)  # no checks: the whole has passed them
        part.results, part.folder = self.results, self.folder
        part.missing, part.whole, part.keys = self.missing, self.whole, self.keys
        part.reproduce = {k: v for k, v in self._sorted["reproduce"].items() if k in kept_roles}
        part.config = {
            "results": str(self.results),
            "reproduce": part.reproduce,
            "experiments": {k: every[k] for k in sorted(chosen)},
            "bases": {k: every[k] for k in sorted(needed - chosen)},
        }
        return part

    def partial(self, done: Iterable[Block]) -> "Study":
        """The study with no more than the blocks that are done, and a folder of its own.

        Experiments without any are left out; planned numbers of runs stay.
        """
        done = {block.key for block in done}
        begun = {experiment for experiment, _, _ in done}
        missing = {
            p.key: frozenset(b.name for b in p.blocks if b.key not in done) for p in self.points
        }
        roles = [role for role, name in self.reproduce.items() if name in begun]
        part = self.part(begun, roles)
        part.folder = self.results / "partial"
        part.missing = {key: names for key, names in missing.items() if names}
        part.whole, part.left_out = self, []
        return part

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
        for settings in (*config["experiments"].values(), *config["bases"].values()):
            checks.canonicalise(settings)
        return config

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Schemas of the key columns: parameters of all systems, arguments of interventions."""
        merged: dict[str, dict[str, Any]] = {}
        for system in self.systems:
            merged |= declared(system)["PARAMETERS"]
        for settings in self.config["experiments"].values():
            for intervention in settings["interventions"]:
                for name in intervention:
                    merged |= columns(name)
        return merged

    def _add_points(self, known: dict[str, list[Point]], experiment: str, above: list[str]) -> None:
        """Make the points of an experiment, after those that they start from."""
        if experiment in known:
            return
        every = self.config["bases"] | self.config["experiments"]
        group = "bases" if experiment in self.config["bases"] else "experiments"
        where = f"{group}.{experiment}"
        settings = every[experiment]
        for base in checks.bases(settings):
            if base not in every:
                raise ConfigError(f"{where}.interventions: there is no experiment {base!r}")
            if base in (experiment, *above):
                raise ConfigError(f"{where}.interventions: {base} would start from itself")
            if len(above) >= configuration.limit("chain"):
                raise ConfigError(_too_many_in_a_row(where))
            self._add_points(known, base, [*above, experiment])
        points: dict[str, Point] = {}
        starts: Bases | None = None
        for point in _combinations(experiment, settings, self.results):
            checks.check_point(where, point)
            if names := checks.bases({"interventions": point.interventions}):
                starts = starts or Bases(known[names[0]], point.intervenes("transfer"))
                point = replace(point, base=starts.find(where, point))
                if point.depth > configuration.limit("chain"):
                    raise ConfigError(_too_many_in_a_row(where))
            if point.key in self.missing:
                point = replace(point, missing=self.missing[point.key])
            if point.name in points:
                raise ConfigError(f"{where}: {point.name} is listed twice")
            points[point.name] = point
        known[experiment] = list(points.values())


def _too_many_in_a_row(where: str) -> str:
    most = configuration.limit("chain")
    return f"{where}.interventions: more than {most} experiments start from each other in a row"


def _combinations(experiment: str, settings: dict[str, Any], results: Path) -> Iterator[Point]:
    """Every combination of what an experiment varies, as a point."""
    system, sweep, seeds = settings["system"], settings["sweep"], settings["seeds"]
    schemas = declared(system)["PARAMETERS"]
    defaults = {name: checks.typed(schema["default"], schema) for name, schema in schemas.items()}
    fixed = [seeds[k] if isinstance(seeds[k], list) else [seeds[k]] for k in PURPOSES]
    acts = [_alternatives(intervention) for intervention in settings["interventions"]]
    schedules = Schedules()
    for case in settings.get("cases", [{}]):
        for values in itertools.product(*sweep.values()):
            varied = settings["parameters"] | case | dict(zip(sweep, values, strict=True))
            dtype = varied.pop("dtype", settings["dtype"])
            for chosen in itertools.product(*fixed):
                parameters = defaults | varied
                own = settings | {
                    "dtype": dtype,
                    "seeds": seeds | dict(zip(PURPOSES, chosen, strict=True)),
                }
                if epochs := own.pop("epochs", None):
                    own["steps"] = epochs * int(evaluate(system, "STEPS_PER_EPOCH", parameters))
                for combination in itertools.product(*acts):
                    acting = list(combination)
                    yield Point(experiment, system, parameters, acting, own, results, schedules)


def _alternatives(intervention: dict[str, dict[str, Any]]) -> list[dict[str, dict[str, Any]]]:
    """An intervention with each combination of the values that its arguments list."""
    ((name, arguments),) = intervention.items()
    options = [
        value if is_list_of_values(name, argument, value) else [value]
        for argument, value in arguments.items()
    ]
    return [{name: dict(zip(arguments, v, strict=True))} for v in itertools.product(*options)]
