"""Rules across the keys of a config, which a JSON schema cannot say; each raises ConfigError."""

import functools
import json
import math
from typing import TYPE_CHECKING, Any

from circlet.errors import ConfigError, unknown
from circlet.study import config_file, limits, sweep_values
from circlet.study.interventions import (
    INTERVENTIONS,
    OF_EMBEDDING,
    SPECTRAL,
    is_list_of_values,
    list_interventions,
)
from circlet.study.registry import Systems
from circlet.study.schedules import INT32_MAX
from circlet.study.seeds import PURPOSES
from circlet.systems.spec import SystemSpec

if TYPE_CHECKING:
    from circlet.study.points import Point


def typed(value: Any, schema: dict[str, Any]) -> Any:
    """A parameter value in its declared type: 1 and 1.0 are the same number."""
    if isinstance(value, list):
        return [typed(v, schema.get("items", schema)) for v in value]
    wanted = {"number": float, "integer": int}.get(schema.get("type", ""))
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not (wanted and plain and math.isfinite(value)) or wanted(value) != value:
        return value  # as it is, for the schema to refuse
    return wanted(value) + wanted(0)  # -0.0 is 0.0


def canonicalise(settings: dict[str, Any], systems: Systems, where: str) -> None:
    """Fill in the defaults of its system and bring an experiment's values to their types."""
    system = systems.get(settings["system"])
    known = system.schemas if system else {}
    sweep_values.expand(where, settings, known)
    settings["compare"] = {k: typed(v, known.get(k, {})) for k, v in settings["compare"].items()}
    for more in settings["seeds"]["more"]:
        more["where"] = {k: typed(v, known.get(k, {})) for k, v in more["where"].items()}
    for values in (settings["parameters"], *settings.get("cases", [])):
        values.update({k: typed(v, known.get(k, {})) for k, v in values.items()})
    for name, values in settings["sweep"].items():
        settings["sweep"][name] = typed(values, known.get(name, {}))
    for intervention in settings["interventions"]:
        for name, arguments in intervention.items():
            schemas = INTERVENTIONS.get(name, {})
            given = {k: typed(v, schemas.get(k, {})) for k, v in arguments.items()}
            defaults = {k: s.get("default") for k, s in schemas.items()}  # in their order
            intervention[name] = {k: v for k, v in (defaults | given).items() if v is not None}
    usual = {k: log.schedule for k, log in system.logs.items()} if system else {}
    settings["log"] = usual | settings["log"]


def parents(settings: dict[str, Any]) -> list[str]:
    """Names of the experiments whose outcomes an experiment's interventions look at."""
    return [act["of"] for _, act in list_interventions(settings["interventions"]) if "of" in act]


def varied(settings: dict[str, Any]) -> set[str]:
    """What an experiment varies: parameters, dtype, products, arguments of interventions, seeds."""
    found = set(settings["sweep"]).union(*settings.get("cases", []), listed(settings))
    return found | {f"{k} seed" for k in PURPOSES if isinstance(settings["seeds"][k], list)}


def listed(settings: dict[str, Any]) -> set[str]:
    """Arguments of interventions that an experiment lists several values of, by their columns."""
    every = list_interventions(settings["interventions"])
    return {
        f"{act}_{k}" for act, own in every for k, v in own.items() if is_list_of_values(act, k, v)
    }


def check_experiment(where: str, settings: dict[str, Any], systems: Systems) -> None:
    """All rules about one experiment by itself."""
    if settings["system"] not in systems:
        said = unknown("system", settings["system"], sorted(systems))
        raise ConfigError(f"{where}.system: {said}")
    system = systems[settings["system"]]
    schemas = system.schemas
    swept_schemas = schemas | config_file.arithmetic()
    _check_values(f"{where}.parameters", schemas, settings["parameters"])
    for name, values in settings["sweep"].items():
        _check_list(f"{where}.sweep", swept_schemas, name, values)
    listed = "sweep" if "sample" in settings else "cases"  # where their values are from
    for case in settings.get("cases", []):
        for name, value in case.items():
            _check_list(f"{where}.{listed}", swept_schemas, name, [value])
    swept = set(settings["sweep"]).union(*settings.get("cases", []))
    if both := swept & set(settings["parameters"]):
        raise ConfigError(f"{where}: {min(both)!r} is both a parameter and swept")
    for case in settings.get("cases", []):
        if both := set(case) & set(settings["sweep"]):
            raise ConfigError(f"{where}: {min(both)!r} is both in sweep and in cases")
    if "steps" in settings and "epochs" in settings:
        raise ConfigError(f"{where}: has both steps and epochs; remove one of them")
    if not {"steps", "epochs"} & set(settings):
        raise ConfigError(f"{where}: needs steps or epochs")
    if "epochs" in settings and not system.steps_per_epoch:
        raise ConfigError(f"{where}.epochs: {system.name} has no batches; give steps")
    for name, pair in settings["compare"].items():
        _check_list(f"{where}.compare", swept_schemas, name, pair)
        if pair[0] == pair[1]:
            raise ConfigError(f"{where}.compare.{name}: {pair} lists a value twice")
        for one in pair:
            _check_has(f"{where}.compare.{name}", settings, system, name, one)
    _check_seeds(where, settings, system)
    _check_log(where, settings, system)
    for act, arguments in list_interventions(settings["interventions"]):
        # Of users' collections those of this study; the process may know others.
        theirs = {name for c in systems.collections for name in c.modules("interventions")}
        if act not in INTERVENTIONS or ("." in act and act not in theirs):
            there = [name for name in INTERVENTIONS if "." not in name or name in theirs]
            raise ConfigError(f"{where}.interventions: {unknown('intervention', act, there)}")
        _check_intervention(f"{where}.interventions.{act}", act, arguments)
    named = [act for act, _ in list_interventions(settings["interventions"])]
    if twice := {act for act in named if named.count(act) > 1}:
        raise ConfigError(f"{where}.interventions: {min(twice)} is listed twice")
    if "learning_rate" not in schemas and "freeze" in named:
        raise ConfigError(
            f"{where}.interventions: freeze needs a trained system, but {system.name} is simulated"
        )
    if not system.embedding and (unfit := set(named) & set(OF_EMBEDDING)):
        raise ConfigError(
            f"{where}.interventions: {min(unfit)} acts on the embedding, but {system.name} has none"
        )
    if "signals" not in system.logs and (unfit := set(named) & set(SPECTRAL)):
        raise ConfigError(
            f"{where}.interventions: {min(unfit)} acts on frequencies, but {system.name} has none"
        )
    if "transfer" in named and not system.shapes:
        raise ConfigError(
            f"{where}.interventions: transfer: {system.name} cannot start from others: write an "
            "intervention of your own, as docs/extending.md shows"
        )


def _check_seeds(where: str, settings: dict[str, Any], system: SystemSpec) -> None:
    seeds, block = settings["seeds"], settings["block"]
    has_batches = system.steps_per_epoch or "batch_size" in system.parameters
    if seeds["order"] is not None and not has_batches:
        raise ConfigError(f"{where}.seeds.order: {system.name} has no batches")
    counts = {f"more.{i}.count": more["count"] for i, more in enumerate(seeds["more"])}
    for key, number in {"count": seeds["count"], "first": seeds["first"], **counts}.items():
        if block and number % block:
            raise ConfigError(
                f"{where}.seeds.{key}: {number} is not a multiple of the block of {block} seeds; "
                "set `block` to a divisor, or leave it out"
            )
    for i, more in enumerate(seeds["more"]):
        here = f"{where}.seeds.more.{i}"
        if more["count"] < seeds["count"]:
            raise ConfigError(f"{here}.count: must be at least the count of all, {seeds['count']}")
        for name, value in more["where"].items():
            _check_list(f"{here}.where", system.schemas | config_file.arithmetic(), name, [value])
            _check_has(f"{here}.where.{name}", settings, system, name, value)
    last = seeds["first"] + max([seeds["count"], *counts.values()]) - 1
    if last > INT32_MAX:
        raise ConfigError(
            f"{where}.seeds: the last seed would be {last}, at most {INT32_MAX} is allowed"
        )


def _check_has(
    where: str, settings: dict[str, Any], system: SystemSpec, name: str, value: Any
) -> None:
    """Whether a point of an experiment has a value of a parameter."""
    arithmetic = {k: settings[k] for k in config_file.arithmetic()}
    usual = (system.defaults | arithmetic | settings["parameters"])[name]
    cases = [case.get(name, usual) for case in settings.get("cases", [{}])]
    known = settings["sweep"].get(name, cases)
    if value not in known:
        is_swept = name in settings["sweep"] or len(set(cases)) > 1
        has = config_file.shown([*dict.fromkeys(known)])[1:-1]
        said = f"there are: {has}" if is_swept else f"{name} is not swept: all points have {has}"
        raise ConfigError(f"{where}: no point has {value!r} ({said})")


def _check_log(where: str, settings: dict[str, Any], system: SystemSpec) -> None:
    has = system.logs
    needed = {"signals", "embeddings"} & set(has) or {"curves", "parameters"} & set(has)
    needed = {kind for kind in needed if has[kind].schedule is not None}
    for kind, schedule in settings["log"].items():
        if kind not in has and schedule is not None:
            raise ConfigError(
                f"{where}.log.{kind}: {system.name} has no such log (it has: {', '.join(has)})"
            )
        if schedule is None and kind in needed:
            raise ConfigError(
                f"{where}.log.{kind}: the tables need its first and last step at least; write {{}}"
            )
        if "every_epochs" in (schedule or {}) and not system.steps_per_epoch:
            raise ConfigError(f"{where}.log.{kind}.every_epochs: {system.name} has no batches")


def _check_intervention(where: str, name: str, arguments: dict[str, Any]) -> None:
    schemas = INTERVENTIONS[name]
    for argument, value in arguments.items():
        values = value if is_list_of_values(name, argument, value) else [value]
        if not values:
            raise ConfigError(f"{where}.{argument}: is empty")
        _check_list(where, schemas, argument, values)
    if lacking := [k for k, s in schemas.items() if "default" not in s and k not in arguments]:
        raise ConfigError(f"{where}: needs {', '.join(lacking)}")
    if name == "keep":
        if len(arguments.keys() - {"of"}) != 1:
            raise ConfigError(f"{where}: needs one of frequencies, random, strongest")
        if ("of" in arguments) != ("strongest" in arguments):
            raise ConfigError(f"{where}: strongest and of must both be given, or neither")


def _check_list(where: str, schemas: dict[str, Any], name: str, values: list) -> None:
    """Whether a parameter may have each of these values."""
    valid = _validator(json.dumps(_bounded(schemas[name]))) if name in schemas else None
    for value in values:
        if not (valid and valid(value) and _is_finite(value)):
            _check_values(where, schemas, {name: value})  # says what is wrong


def _check_values(where: str, schemas: dict[str, Any], given: dict[str, Any]) -> None:
    properties = {name: _bounded(schema) for name, schema in schemas.items()}
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    config_file.check(given, schema, where)
    for name, value in given.items():
        if not _is_finite(value):
            raise ConfigError(f"{where}.{name}: {value} must be finite")


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a parameter, with what fits a column of a table."""
    if schema.get("type") == "integer":
        return {"maximum": INT32_MAX} | schema
    return schema | ({"items": _bounded(schema["items"])} if "items" in schema else {})


@functools.cache
def _validator(schema: str) -> Any:
    return config_file.validator(json.loads(schema)).is_valid


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def check_point(where: str, point: "Point") -> None:
    """Whether the values of a point go together."""
    for rule in point.system.requires:
        if not rule.holds(**point.parameters):
            has = ", ".join(f"{name} = {point.parameters[name]}" for name in rule.names)
            raise ConfigError(f"{where}: needs {rule.text}, but {point.name} has {has}")
    if point.settings["products"] != "float32" and point.settings["dtype"] != "float32":
        raise ConfigError(
            f"{where}: {point.name} has products = {point.settings['products']}, which rounds "
            "float32 numbers, but its dtype is float64"
        )
    own = point.parameters
    if own.get("momentum") and own.get("optimizer", "adamw") != "sgd" and point.system.is_trained:
        raise ConfigError(
            f"{where}: {point.name} has momentum = {own['momentum']}, which only the optimizer sgd "
            "has; give it only where the optimizer is sgd, such as `cases: [{optimizer: adamw}, "
            f"{{optimizer: sgd, momentum: {own['momentum']}}}]`"
        )
    limits.check_name(where, point)
    limits.check_logs(where, point)
    _check_frequencies(where, point)


def _check_frequencies(where: str, point: "Point") -> None:
    """Whether its modulus has the frequencies that its interventions name."""
    if "p" not in point.parameters:
        return
    p, last = point.parameters["p"], (point.parameters["p"] - 1) // 2
    for name, arguments in list_interventions(point.interventions):
        own = f"{where}.interventions.{name}"
        for k in (arguments.get("frequency", 0), *arguments.get("frequencies", [])):
            if k > last:
                raise ConfigError(f"{own}: there is no frequency {k}; p = {p} has 1 to {last}")
        wanted = arguments.get("random", arguments.get("strongest", 0))
        if max(wanted, 2 if name == "construct" else 0) > last:
            raise ConfigError(f"{own}: p = {p} has only {last} frequencies")
