"""Rules across the keys of an experiment, beyond its JSON schema; violations raise ConfigError.

`resolved` makes an experiment complete: with the defaults of its system, its values in the types
that the system declares, and lists in place of ranges.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from circlet.config import schema, sweep_values
from circlet.config.experiment import INT32_MAX, Experiment, Logs, Schedule
from circlet.config.schema import Schema, check_list, check_values, is_finite
from circlet.errors import ConfigError, check_exist
from circlet.study import interventions, limits
from circlet.study.declared_systems import Systems
from circlet.study.interventions import (
    IN_TRAINING,
    OF_EMBEDDING,
    SETTINGS,
    SPECTRAL,
    columns,
    is_list_of_values,
    list_interventions,
)
from circlet.study.points import Point
from circlet.study.seeds import PURPOSES
from circlet.systems.spec import SystemSpec

# Settings of an experiment that may be swept as parameters are.
ARITHMETIC = {name: schema.of(Experiment)["properties"][name] for name in ("dtype", "products")}


def typed(value: Any, declared: Schema) -> Any:
    """Return a parameter value in its declared type: 1 and 1.0 are the same number."""
    if isinstance(value, list):
        return [typed(v, declared.get("items", declared)) for v in value]
    kind = declared.get("type")
    if isinstance(value, bool) or not isinstance(value, int | float) or not is_finite(value):
        return value  # as it is, for the schema to refuse
    if kind == "number":
        return float(value) + 0.0  # -0.0 is 0.0
    return int(value) if kind == "integer" and int(value) == value else value


def _all_typed(values: Mapping[str, Any], schemas: Mapping[str, Schema]) -> dict[str, Any]:
    return {name: typed(value, schemas.get(name, {})) for name, value in values.items()}


def resolved(where: str, experiment: Experiment, system: SystemSpec) -> Experiment:
    """Return an experiment with the defaults of its system, typed values, and without ranges."""
    schemas = system.schemas
    experiment = sweep_values.expanded(where, experiment, schemas)
    seeds = experiment.seeds
    differing = _differing(experiment, system)
    more = [
        structs.replace(entry, where=_all_typed(entry.where, differing)) for entry in seeds.more
    ]
    declared = {kind: log.schedule for kind, log in system.logs.items()}
    schedules = schema.decoded(declared, dict[str, Schedule | None])
    return structs.replace(
        experiment,
        parameters=_all_typed(experiment.parameters, schemas),
        sweep=_all_typed(experiment.sweep, schemas),
        cases=experiment.cases and [_all_typed(case, schemas) for case in experiment.cases],
        seeds=structs.replace(seeds, more=more),
        compare=_all_typed(experiment.compare, differing),
        interventions=[
            {name: _with_defaults(name, arguments)}
            for name, arguments in list_interventions(experiment.interventions)
        ],
        log=Logs(**(schedules | experiment.log.schedules)),
    )


def _with_defaults(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an intervention with defaults."""
    schemas = interventions.schemas(name)
    defaults = {key: declared.get("default") for key, declared in schemas.items()}
    values = defaults | _all_typed(arguments, schemas)
    return {key: value for key, value in values.items() if value is not None}


def _differing(experiment: Experiment, system: SystemSpec) -> dict[str, Schema]:
    """Return the schemas of all that points can differ in, arguments of interventions included."""
    schemas = system.schemas | ARITHMETIC
    for name, _ in list_interventions(experiment.interventions):
        schemas |= columns(name) if name in interventions.names() else {}
    return schemas


def parents(of: Experiment | Point) -> list[str]:
    """Return the names of the experiments that interventions of an experiment or a point read."""
    arguments = (by_name for _, by_name in list_interventions(of.interventions))
    return [by_name["of"] for by_name in arguments if "of" in by_name]


def varied(experiment: Experiment) -> set[str]:
    """Return what an experiment varies: parameters, dtype, products, arguments and seeds."""
    shared = [
        purpose for purpose in PURPOSES if isinstance(getattr(experiment.seeds, purpose), list)
    ]
    return experiment.swept | listed(experiment) | {f"{purpose} seed" for purpose in shared}


def listed(experiment: Experiment) -> set[str]:
    """Return the columns of the intervention arguments for which an experiment lists values."""
    return {
        f"{name}_{key}"
        for name, arguments in list_interventions(experiment.interventions)
        for key, value in arguments.items()
        if is_list_of_values(name, key, value)
    }


def check_experiment(where: str, experiment: Experiment, systems: Systems) -> None:
    """Apply all rules about one resolved experiment by itself."""
    system = systems[experiment.system]
    check_values(f"{where}.parameters", system.schemas, experiment.parameters)
    _check_swept(where, experiment, system)
    _check_steps(where, experiment, system)
    _check_compared(where, experiment, system)
    _check_seeds(where, experiment, system)
    _check_log(where, experiment.log, system)
    _check_interventions(f"{where}.interventions", experiment, system, systems)


def _check_swept(where: str, experiment: Experiment, system: SystemSpec) -> None:
    schemas = system.schemas | ARITHMETIC
    for name, values in experiment.grid.items():
        check_list(f"{where}.sweep", schemas, name, values)
    source = "sweep" if experiment.sample else "cases"
    for case in experiment.listed_cases:
        for name, value in case.items():
            check_list(f"{where}.{source}", schemas, name, [value])
    if duplicates := experiment.swept & set(experiment.parameters):
        raise ConfigError(f"{where}: {min(duplicates)!r} is both a parameter and swept")
    for case in experiment.listed_cases:
        if duplicates := set(case) & set(experiment.sweep):
            raise ConfigError(f"{where}: {min(duplicates)!r} is both in sweep and in cases")


def _check_steps(where: str, experiment: Experiment, system: SystemSpec) -> None:
    if experiment.steps and experiment.epochs:
        raise ConfigError(f"{where}: has both steps and epochs; remove one of them")
    if not (experiment.steps or experiment.epochs):
        raise ConfigError(f"{where}: needs steps or epochs")
    if experiment.epochs and not system.steps_per_epoch:
        raise ConfigError(f"{where}.epochs: {system.name} has no batches; give steps")


def _check_compared(where: str, experiment: Experiment, system: SystemSpec) -> None:
    for name, pair in experiment.compare.items():
        check_list(f"{where}.compare", _differing(experiment, system), name, pair)
        if pair[0] == pair[1]:
            raise ConfigError(f"{where}.compare.{name}: {pair} lists a value twice")


def _check_interventions(
    where: str, experiment: Experiment, system: SystemSpec, systems: Systems
) -> None:
    # The process may know users' collections of other studies, whose interventions do not count.
    in_study = {name for c in systems.collections for name in c.modules("interventions")}
    available = [name for name in interventions.names() if "." not in name or name in in_study]
    names = []
    for name, arguments in list_interventions(experiment.interventions):
        check_exist(where, "intervention", available, [name])
        _check_intervention(f"{where}.{name}", name, arguments)
        names.append(name)
    if len(starts := sorted({*parents(experiment)})) > 1:
        raise ConfigError(
            f"{where}: all must start from one experiment, not {' and '.join(starts)}"
        )
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"{where}: {min(twice)} is listed twice; each can be listed once")
    advice = "write an intervention of your own, as docs/extending.md shows"
    for is_fit, acting, needs, instead in (
        (system.is_trained, IN_TRAINING, "needs a trained system", "is simulated"),
        (system.embedding, OF_EMBEDDING, "acts on the embedding", "has none"),
        ("signals" in system.logs, SPECTRAL, "acts on frequencies", "has none"),
        (system.shapes, ("transfer",), "starts from runs", f"cannot start from others: {advice}"),
    ):
        if not is_fit and (unsupported := set(names) & set(acting)):
            raise ConfigError(f"{where}: {min(unsupported)} {needs}, but {system.name} {instead}")
    changed = dict(list_interventions(experiment.interventions)).get("change", {})
    if missing := changed.keys() & set(SETTINGS) - system.parameters.keys():
        raise ConfigError(f"{where}.change: {system.name} has no parameter {min(missing)}")


def _check_seeds(where: str, experiment: Experiment, system: SystemSpec) -> None:
    seeds, block = experiment.seeds, experiment.block
    has_batches = system.steps_per_epoch or "batch_size" in system.parameters
    if seeds.order is not None and not has_batches:
        raise ConfigError(f"{where}.seeds.order: {system.name} has no batches")
    counts = {f"more.{i}.count": more.count for i, more in enumerate(seeds.more)}
    for key, number in {"count": seeds.count, "first": seeds.first, **counts}.items():
        if block and number % block:
            raise ConfigError(
                f"{where}.seeds.{key}: {number} is not a multiple of the block of {block} seeds; "
                "set `block` to a divisor, or leave it out"
            )
    for i, more in enumerate(seeds.more):
        location = f"{where}.seeds.more.{i}"
        if more.count < seeds.count:
            raise ConfigError(f"{location}.count: must be at least the count of all, {seeds.count}")
        for name, value in more.where.items():
            check_list(f"{location}.where", _differing(experiment, system), name, [value])
    last = seeds.first + max([seeds.count, *counts.values()]) - 1
    if last > INT32_MAX:
        raise ConfigError(
            f"{where}.seeds: the last seed would be {last}, at most {INT32_MAX} is allowed"
        )


def _check_log(where: str, log: Logs, system: SystemSpec) -> None:
    kinds = system.logs.keys()
    needed = {"signals", "embeddings"} & kinds or {"curves", "parameters"} & kinds
    needed = {kind for kind in needed if system.logs[kind].schedule is not None}
    for kind, schedule in log.schedules.items():
        if kind not in kinds and schedule is not None:
            raise ConfigError(
                f"{where}.log.{kind}: {system.name} has no such log (it has: {', '.join(kinds)})"
            )
        if schedule is None and kind in needed:
            raise ConfigError(
                f"{where}.log.{kind}: the tables need its first and last step at least; write {{}}"
            )
        if schedule and schedule.every_epochs and not system.steps_per_epoch:
            raise ConfigError(f"{where}.log.{kind}.every_epochs: {system.name} has no batches")


def _check_intervention(where: str, name: str, arguments: dict[str, Any]) -> None:
    schemas = interventions.schemas(name)
    for argument, value in arguments.items():
        values = value if is_list_of_values(name, argument, value) else [value]
        if not values:
            raise ConfigError(f"{where}.{argument}: is empty")
        check_list(where, schemas, argument, values)
    required = [key for key, declared in schemas.items() if "default" not in declared]
    if missing := [key for key in required if key not in arguments]:
        raise ConfigError(f"{where}: needs {', '.join(missing)}")
    if name == "change" and not arguments.keys() & set(SETTINGS):
        raise ConfigError(f"{where}: needs {' or '.join(SETTINGS)}")
    if name == "keep":
        if len(arguments.keys() - {"of"}) != 1:
            raise ConfigError(f"{where}: needs one of frequencies, random, strongest")
        if ("of" in arguments) != ("strongest" in arguments):
            raise ConfigError(f"{where}: strongest and of must both be given, or neither")


def check_point(where: str, point: Point) -> None:
    """Check that the settings of a point are compatible, and that its name and logs fit limits."""
    parameters, settings = point.parameters, point.settings
    for rule in point.system.requires:
        if not rule.holds(**parameters):
            values = ", ".join(f"{name} = {parameters[name]}" for name in rule.names)
            raise ConfigError(f"{where}: needs {rule.text}, but {point.name} has {values}")
    if settings.products != "float32" and settings.dtype != "float32":
        raise ConfigError(
            f"{where}: {point.name} has products = {settings.products}, which rounds "
            "float32 numbers, but its dtype is float64"
        )
    is_sgd = parameters.get("optimizer", "adamw") == "sgd"
    if parameters.get("momentum") and not is_sgd and point.system.is_trained:
        momentum = parameters["momentum"]
        raise ConfigError(
            f"{where}: {point.name} has momentum = {momentum}, which only the optimizer sgd "
            "has; give it only where the optimizer is sgd, such as `cases: [{optimizer: adamw}, "
            f"{{optimizer: sgd, momentum: {momentum}}}]`"
        )
    for name, arguments in list_interventions(point.interventions):
        if name in ("change", "clamp") and arguments["step"] >= point.steps:
            raise ConfigError(
                f"{where}.interventions.{name}: begins after step {arguments['step']}, but runs "
                f"have {point.steps} steps"
            )
        last = {"change": ("step", "over"), "warm_up": ("steps",)}.get(name, ())
        if (ends := sum(arguments[key] for key in last)) > point.steps:
            raise ConfigError(
                f"{where}.interventions.{name}: ends after step {ends}, but runs have "
                f"{point.steps} steps"
            )
    limits.check_name(where, point)
    limits.check_logs(where, point)
    _check_frequencies(where, point)


def _check_frequencies(where: str, point: Point) -> None:
    """Check that the modulus of a point has the frequencies that its interventions name."""
    if "p" not in point.parameters:
        return
    p, last = point.parameters["p"], (point.parameters["p"] - 1) // 2
    for name, arguments in list_interventions(point.interventions):
        if name not in SPECTRAL:
            continue
        location = f"{where}.interventions.{name}"
        for k in (arguments.get("frequency", 0), *arguments.get("frequencies", [])):
            if k > last:
                raise ConfigError(f"{location}: there is no frequency {k}; p = {p} has 1 to {last}")
        number = arguments.get("random", arguments.get("strongest", 0))
        if max(number, 2 if name == "construct" else 0) > last:
            raise ConfigError(f"{location}: p = {p} has only {last} frequencies")
