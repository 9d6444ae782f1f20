"""The plan of a study: every run, block and path, as a pure function of the config.

Paths are readable, canonical (0.30 is 0.3) and stable: the name of a point depends on its own
parameters alone, so more seeds, values or experiments never rename what exists. Nothing here looks
at results, and nobody else invents the path of a log.
"""

import itertools
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from circlet import config as configuration
from circlet import source
from circlet.errors import ConfigError
from circlet.seeds import PURPOSES, Seeds

SYSTEMS = tuple(source.modules("systems"))

# Where logs are, below the folder of the results.
LOG = "logs/{experiment}/{point}/seeds_{seeds}/{kind}.parquet"
JOB_LOG = "job_logs/{experiment}/{point}/seeds_{seeds}.log"


def declared(system: str) -> dict[str, Any]:
    """What a system's file declares: VERSION, PARAMETERS, LOGS, FLOPS_PER_STEP."""
    return source.literals(f"circlet.systems.{system}")


def canonical(value: Any) -> str:
    """Text of a parameter value in names: 0.30, .3 and 3e-1 are all "0.3"."""
    return format(value, ".15g") if isinstance(value, float) else str(value)


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

    def log(self, kind: str) -> Path:
        """Path of one of its logs."""
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
    def study(self) -> str:
        """Config of the study that is just this block, as canonical JSON: what its job runs.

        It names nothing of the other blocks, and no default that another release may add, so
        that neither changes a job that is done.
        """
        settings = self.point.identity
        seeds = settings["seeds"] | {"first": self.first, "count": self.count}
        experiment = settings | {"seeds": seeds, "block": self.count}
        config = {
            "results": str(self.point.results),
            "experiments": {self.point.experiment: experiment},
        }
        return json.dumps(config, sort_keys=True)

    @property
    def cost(self) -> float:
        """Expected floating-point operations."""
        flops = declared(self.point.system)["FLOPS_PER_STEP"]
        # A formula of the parameters, written as text in the system's file so that the plan can
        # cost a study without importing torch. It is our own source, not the user's.
        per_step = eval(flops, {"__builtins__": {}}, dict(self.point.parameters))
        return per_step * self.point.steps * self.count


@dataclass(frozen=True)
class Point:
    """One combination of parameters of an experiment."""

    experiment: str
    system: str
    parameters: dict[str, Any]
    settings: dict[str, Any]  # the rest of the experiment: steps, dtype, block, seeds, log
    results: Path

    @property
    def name(self) -> str:
        """Folder name: labelled parameters always, others where they are not at their default."""
        schemas = declared(self.system)["PARAMETERS"]
        return "_".join(
            schemas[key].get("label", f"{key}=") + canonical(value)
            for key, value in self.parameters.items()
            if "label" in schemas[key] or value != schemas[key]["default"]
        )

    @property
    def logs(self) -> tuple[str, ...]:
        """Kinds of logs that a block of this point has."""
        return declared(self.system)["LOGS"]

    @property
    def steps(self) -> int:
        """Number of steps of a run."""
        return self.settings["steps"]

    @property
    def blocks(self) -> list[Block]:
        """Its blocks, in the order of seeds."""
        seeds, size = self.settings["seeds"], self.settings["block"]
        return [
            Block(self, first, size)
            for first in range(seeds["first"], seeds["first"] + seeds["count"], size)
        ]

    def seeds(self, seed: int) -> Seeds:
        """The three seeds of the run with a given seed."""
        fixed = self.settings["seeds"]
        return Seeds(*(seed if fixed[k] is None else fixed[k] for k in PURPOSES))

    @property
    def fixed_seeds(self) -> dict[str, int]:
        """Seeds that all its runs share, by purpose."""
        seeds = self.settings["seeds"]
        return {k: seeds[k] for k in PURPOSES if seeds[k] is not None}

    def run_id(self, seed: int) -> str:
        """Identity of a run across the study."""
        return f"{self.experiment}/{self.name}/s{seed:05d}"

    @property
    def identity(self) -> dict[str, Any]:
        """All that determines the numbers of its runs, but for the version of the system.

        What is at its default is left out: an option that a later release adds must not make
        finished runs again. Should a default itself change, VERSION is raised.
        """
        schemas = declared(self.system)["PARAMETERS"]
        kinds = configuration.schema()["$defs"]["experiment"]["properties"]["log"]["properties"]
        return {
            "system": self.system,
            "parameters": {
                name: value
                for name, value in self.parameters.items()
                if value != schemas[name]["default"]
            },
            "steps": self.steps,
            "dtype": self.settings["dtype"],
            "seeds": self.fixed_seeds,
            "log": {
                kind: schedule
                for kind, schedule in self.settings["log"].items()
                if kind in self.logs and (schedule or kinds[kind]["default"])
            },
        }

    @property
    def spec(self) -> dict[str, Any]:
        """Identity and version: what a log must have been made with to be this point's."""
        return self.identity | {"version": declared(self.system)["VERSION"]}


class Study:
    """A validated config and all that follows from it."""

    def __init__(self, config: dict[str, Any]):
        self.config = configuration.validate(config)
        for settings in self.config["experiments"].values():
            _canonicalise(settings)
        self.results = Path(self.config["results"])
        self.reproduce: dict[str, str] = self.config["reproduce"]
        self._check()

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
    def points(self) -> list[Point]:
        """All points, in the order of the config."""
        return [
            point
            for name, settings in self.config["experiments"].items()
            for point in self._points(name, settings)
        ]

    @property
    def blocks(self) -> Iterator[Block]:
        """All blocks."""
        return (block for point in self.points for block in point.blocks)

    def experiment(self, name: str) -> list[Point]:
        """Points of one experiment."""
        return [point for point in self.points if point.experiment == name]

    def table(self, name: str) -> Path:
        """Path of a table."""
        return self.results / "tables" / f"{name}.parquet"

    def part(self, experiments: Iterable[str], roles: Iterable[str] = ()) -> "Study":
        """The study of some of its experiments and roles."""
        chosen, kept_roles = set(experiments), set(roles)
        every = self.config["experiments"]
        part = object.__new__(Study)  # no checks: the whole has passed them
        part.results = self.results
        part.reproduce = {k: v for k, v in self.reproduce.items() if k in kept_roles}
        part.config = {
            "results": str(self.results),
            "reproduce": part.reproduce,
            "experiments": {k: v for k, v in every.items() if k in chosen},
        }
        return part

    def of_systems(self, systems: Iterable[str]) -> list[str]:
        """Names of the experiments with one of these systems."""
        return [k for k, v in self.config["experiments"].items() if v["system"] in set(systems)]

    @property
    def json(self) -> str:
        """The config as canonical JSON, as commands take it."""
        return json.dumps(self.config, sort_keys=True)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Parameters of all systems of the study with their schemas, in the order declared."""
        merged: dict[str, dict[str, Any]] = {}
        for system in self.systems:
            merged |= declared(system)["PARAMETERS"]
        return merged

    def _points(self, experiment: str, settings: dict[str, Any]) -> list[Point]:
        system, sweep = settings["system"], settings["sweep"]
        schemas = declared(system)["PARAMETERS"]
        defaults = {name: _typed(schema["default"], schema) for name, schema in schemas.items()}
        points = {}
        for case in settings.get("cases", [{}]):
            for values in itertools.product(*sweep.values()):
                varied = case | dict(zip(sweep, values, strict=True))
                parameters = defaults | settings["parameters"] | varied
                point = Point(experiment, system, parameters, settings, self.results)
                if point.name in points:
                    raise ConfigError(f"experiments.{experiment}: {point.name} is listed twice")
                points[point.name] = point
        return list(points.values())

    def _check(self) -> None:
        """Rules across keys, which a schema cannot say; raises ConfigError."""
        for name, settings in self.config["experiments"].items():
            _check_experiment(f"experiments.{name}", settings)
        _ = self.points  # no two are the same
        roles = configuration.schema()["properties"]["reproduce"]["properties"]
        for role, name in self.reproduce.items():
            self._check_role(f"reproduce.{role}", name, **roles[role]["x-needs"])

    def _check_role(self, where: str, name: str, system: str, varies: str, d: int = 0) -> None:
        """Whether an experiment can be what a published table or figure is made from."""
        if name not in self.config["experiments"]:
            raise ConfigError(f"{where}: there is no experiment {name!r}")
        for point in self.experiment(name):
            if point.system != system:
                raise ConfigError(f"{where}: needs an experiment with {system}, {name} is not")
            if others := _varied(point.settings) - {varies}:
                raise ConfigError(
                    f"{where}: needs an experiment that varies only {varies}, {name} varies "
                    f"{', '.join(sorted(others))}"
                )
            if d and point.parameters["d"] != d:
                raise ConfigError(f"{where}: needs an experiment with d = {d}, {name} is not")


def _varied(settings: dict[str, Any]) -> set[str]:
    """Parameters that an experiment varies."""
    return set(settings["sweep"]).union(*settings.get("cases", []))


def _check_experiment(where: str, settings: dict[str, Any]) -> None:
    if settings["system"] not in SYSTEMS:
        known = ", ".join(SYSTEMS)
        raise ConfigError(f"{where}.system: no system {settings['system']!r} (there are: {known})")
    _check_parameters(f"{where}.parameters", settings["system"], settings["parameters"])
    for name, values in settings["sweep"].items():
        for value in values:
            _check_parameters(f"{where}.sweep", settings["system"], {name: value})
    for case in settings.get("cases", []):
        _check_parameters(f"{where}.cases", settings["system"], case)
    if both := _varied(settings) & set(settings["parameters"]):
        raise ConfigError(f"{where}: {min(both)!r} is both a parameter and swept")
    for case in settings.get("cases", []):
        if both := set(case) & set(settings["sweep"]):
            raise ConfigError(f"{where}: {min(both)!r} is both in sweep and in cases")
    seeds, block = settings["seeds"], settings["block"]
    for key in ("count", "first"):
        if seeds[key] % block:
            raise ConfigError(
                f"{where}.seeds.{key}: {seeds[key]} is not a multiple of the block of {block} "
                "seeds; set `block` to a divisor"
            )
    for kind, schedule in settings["log"].items():
        late = [step for step in schedule.get("at", []) if step > settings["steps"]]
        if late:
            raise ConfigError(
                f"{where}.log.{kind}.at: step {late[0]} is beyond the {settings['steps']} steps "
                "of a run"
            )


def _check_parameters(where: str, system: str, given: dict[str, Any]) -> None:
    schemas = declared(system)["PARAMETERS"]
    schema = {"type": "object", "additionalProperties": False, "properties": schemas}
    configuration.check(given, schema, where)
    for name, value in given.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{where}.{name}: {value} is no number")


def _typed(value: Any, schema: dict[str, Any]) -> Any:
    """A parameter value in its declared type: 1 and 1.0 are the same number."""
    wanted = {"number": float, "integer": int}.get(schema.get("type"))
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not (wanted and plain and math.isfinite(value)) or wanted(value) != value:
        return value  # as it is, for the schema to refuse
    return wanted(value)


def _canonicalise(settings: dict[str, Any]) -> None:
    """Bring the parameters of an experiment to their types, wherever they stand, in place."""
    known = declared(settings["system"])["PARAMETERS"] if settings["system"] in SYSTEMS else {}
    for values in (settings["parameters"], *settings.get("cases", [])):
        values.update({k: _typed(v, known.get(k, {})) for k, v in values.items()})
    for name, values in settings["sweep"].items():
        settings["sweep"][name] = [_typed(value, known.get(name, {})) for value in values]


def schedule_steps(schedule: dict[str, Any], steps: int) -> list[int]:
    """Sorted steps that a schedule names, the first and the last step among them."""
    chosen = {0, steps, *schedule.get("at", [])}
    if "every" in schedule:
        chosen |= set(range(0, steps + 1, schedule["every"]))
    return sorted(chosen)
