"""Rules across the keys of a config, which a JSON schema cannot say; each raises ConfigError."""

import ast
import functools
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from circlet import config as configuration
from circlet import limits
from circlet.errors import ConfigError
from circlet.interventions import INTERVENTIONS, SPECTRAL, is_list_of_values
from circlet.schedules import INT32_MAX
from circlet.seeds import PURPOSES
from circlet.source import SYSTEMS, declared

if TYPE_CHECKING:
    from circlet.plan import Study
    from circlet.points import Point

_DTYPE = {"dtype": {"enum": ["float32", "float64"]}}  # of the experiment, but may be swept


def typed(value: Any, schema: dict[str, Any]) -> Any:
    """A parameter value in its declared type: 1 and 1.0 are the same number."""
    if isinstance(value, list):
        return [typed(v, schema.get("items", schema)) for v in value]
    wanted = {"number": float, "integer": int}.get(schema.get("type"))
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not (wanted and plain and math.isfinite(value)) or wanted(value) != value:
        return value  # as it is, for the schema to refuse
    return wanted(value) + wanted(0)  # -0.0 is 0.0


def canonicalise(settings: dict[str, Any]) -> None:
    """Fill in the defaults of its system and bring an experiment's values to their types."""
    system = declared(settings["system"]) if settings["system"] in SYSTEMS else {}
    known = system.get("PARAMETERS", {})
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
    settings["log"] = system.get("SCHEDULES", {}) | settings["log"]


def bases(settings: dict[str, Any]) -> list[str]:
    """Names of the experiments whose outcomes an experiment's interventions look at."""
    acts = [act for intervention in settings["interventions"] for act in intervention.values()]
    return [act["of"] for act in acts if "of" in act]


def varied(settings: dict[str, Any]) -> set[str]:
    """What an experiment varies: parameters, dtype, arguments of interventions, seeds."""
    found = set(settings["sweep"]).union(*settings.get("cases", []))
    for intervention in settings["interventions"]:
        for name, arguments in intervention.items():
            found |= {f"{name}_{k}" for k, v in arguments.items() if is_list_of_values(name, k, v)}
    return found | {f"{k} seed" for k in PURPOSES if isinstance(settings["seeds"][k], list)}


def check_experiment(where: str, settings: dict[str, Any]) -> None:
    """All rules about one experiment by itself."""
    if settings["system"] not in SYSTEMS:
        known = ", ".join(SYSTEMS)
        raise ConfigError(f"{where}.system: no system {settings['system']!r} (there are: {known})")
    schemas = declared(settings["system"])["PARAMETERS"]
    _check_values(f"{where}.parameters", schemas, settings["parameters"])
    for name, values in settings["sweep"].items():
        _check_list(f"{where}.sweep", schemas | _DTYPE, name, values)
    for case in settings.get("cases", []):
        for name, value in case.items():
            _check_list(f"{where}.cases", schemas | _DTYPE, name, [value])
    swept = set(settings["sweep"]).union(*settings.get("cases", []))
    if both := swept & set(settings["parameters"]):
        raise ConfigError(f"{where}: {min(both)!r} is both a parameter and swept")
    for case in settings.get("cases", []):
        if both := set(case) & set(settings["sweep"]):
            raise ConfigError(f"{where}: {min(both)!r} is both in sweep and in cases")
    if "steps" in settings and "epochs" in settings:
        raise ConfigError(f"{where}: has both steps and epochs, give one")
    if not {"steps", "epochs"} & set(settings):
        raise ConfigError(f"{where}: needs steps or epochs")
    if "epochs" in settings and not _has_batches(settings):
        raise ConfigError(f"{where}.epochs: {settings['system']} has no batches; give steps")
    _check_seeds(where, settings)
    _check_log(where, settings)
    for intervention in settings["interventions"]:
        for name, arguments in intervention.items():
            if name not in INTERVENTIONS:
                known = ", ".join(INTERVENTIONS)
                raise ConfigError(f"{where}.interventions: no {name!r} (there are: {known})")
            _check_intervention(f"{where}.interventions.{name}", name, arguments)
    named = [name for intervention in settings["interventions"] for name in intervention]
    if twice := {name for name in named if named.count(name) > 1}:
        raise ConfigError(f"{where}.interventions: {min(twice)} is listed twice")
    system = settings["system"]
    if "learning_rate" not in schemas and "freeze" in named:
        raise ConfigError(
            f"{where}.interventions: freeze needs a trained system, {system} is simulated"
        )
    if "signals" not in declared(system)["SCHEDULES"] and (unfit := set(named) & set(SPECTRAL)):
        raise ConfigError(
            f"{where}.interventions: {min(unfit)} is about frequencies, {system} has none"
        )
    if "transfer" in named and "SHAPES" not in declared(system):
        raise ConfigError(f"{where}.interventions: transfer: {system} cannot start from others")


def _has_batches(settings: dict[str, Any]) -> bool:
    return "STEPS_PER_EPOCH" in declared(settings["system"])


def _check_seeds(where: str, settings: dict[str, Any]) -> None:
    seeds, block = settings["seeds"], settings["block"]
    if seeds["order"] is not None and not _has_batches(settings):
        raise ConfigError(f"{where}.seeds.order: {settings['system']} has no batches")
    for key in ("count", "first"):
        if seeds[key] % block:
            raise ConfigError(
                f"{where}.seeds.{key}: {seeds[key]} is not a multiple of the block of {block} "
                "seeds; set `block` to a divisor"
            )
    if (last := seeds["first"] + seeds["count"] - 1) > INT32_MAX:
        raise ConfigError(
            f"{where}.seeds: the last seed would be {last}, at most {INT32_MAX} is allowed"
        )


def _check_log(where: str, settings: dict[str, Any]) -> None:
    has = declared(settings["system"])["SCHEDULES"]
    needed = {"signals", "embeddings"} & set(has) or {"curves", "parameters"}
    for kind, schedule in settings["log"].items():
        if kind not in has and schedule is not None:
            raise ConfigError(
                f"{where}.log.{kind}: {settings['system']} has no such log (it has: "
                f"{', '.join(has)})"
            )
        if schedule is None and kind in needed:
            raise ConfigError(
                f"{where}.log.{kind}: the tables need its first and last step at least; write {{}}"
            )
        if "every_epochs" in (schedule or {}) and not _has_batches(settings):
            raise ConfigError(
                f"{where}.log.{kind}.every_epochs: {settings['system']} has no batches"
            )


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
            raise ConfigError(f"{where}: strongest and of go together")


def _check_list(where: str, schemas: dict[str, Any], name: str, values: list) -> None:
    """Whether a parameter may have each of these values."""
    valid = _validator(json.dumps(_bounded(schemas[name]))) if name in schemas else None
    for value in values:
        if not (valid and valid(value) and _is_finite(value)):
            _check_values(where, schemas, {name: value})  # says what is wrong


def _check_values(where: str, schemas: dict[str, Any], given: dict[str, Any]) -> None:
    properties = {name: _bounded(schema) for name, schema in schemas.items()}
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    configuration.check(given, schema, where)
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
    return configuration.validator(json.loads(schema)).is_valid


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def check_point(where: str, point: "Point") -> None:
    """Whether the values of a point go together."""
    limits.check_name(where, point)
    for rule in declared(point.system).get("REQUIRES", ()):
        if not point.holds(rule):
            names = [node.id for node in ast.walk(ast.parse(rule)) if isinstance(node, ast.Name)]
            known = [name for name in dict.fromkeys(names) if name in point.parameters]
            has = ", ".join(f"{name} = {point.parameters[name]}" for name in known)
            raise ConfigError(f"{where}: needs {rule}, but {point.name} has {has}")
    limits.check_logs(where, point)
    _check_frequencies(where, point)


def _check_frequencies(where: str, point: "Point") -> None:
    """Whether its modulus has the frequencies that its interventions name."""
    last = (point.parameters["p"] - 1) // 2
    for intervention in point.interventions:
        for name, arguments in intervention.items():
            named = [arguments.get("frequency"), *arguments.get("frequencies", [])]
            for k in named:
                if k is not None and k > last:
                    raise ConfigError(
                        f"{where}.interventions.{name}: there is no frequency {k}; p = "
                        f"{point.parameters['p']} has 1 to {last}"
                    )
            wanted = arguments.get("random", arguments.get("strongest", 0))
            if max(wanted, 2 if name == "construct" else 0) > last:
                raise ConfigError(
                    f"{where}.interventions.{name}: p = {point.parameters['p']} has only {last} "
                    "frequencies"
                )


def check_roles(study: "Study") -> None:
    """Whether every experiment of ``reproduce`` can be what its figure or table is made from."""
    roles = configuration.schema()["properties"]["reproduce"]["properties"]
    for role, name in study.reproduce.items():
        where = f"reproduce.{role}"
        if name not in study.config["experiments"]:
            raise ConfigError(f"{where}: there is no experiment {name!r}")
        for wanted, has in _unmet(study, name, roles[role]["x-needs"]):
            raise ConfigError(f"{where}: needs an experiment {wanted}, {name} {has}")


def _unmet(study: "Study", name: str, needs: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a role needs and an experiment has not, as (needed, what it has instead)."""
    settings, point = study.config["experiments"][name], study.experiment(name)[0]
    if settings["system"] != needs["system"]:
        yield f"with {needs['system']}", "is not"
        return
    allowed = set(needs["varies"])
    if others := varied(settings) - allowed:
        only = " and ".join(sorted(allowed)) or "nothing"
        yield f"that varies only {only}", f"varies {', '.join(sorted(others))}"
    acts = {act for intervention in settings["interventions"] for act in intervention}
    if acts != set(needs.get("interventions", ())):
        wanted = " and ".join(needs.get("interventions", ())) or "no intervention"
        yield f"with {wanted}", f"has {' and '.join(sorted(acts)) or 'none'}"
    if "argument" in needs and f"keep_{needs['argument']}" not in point.keys:
        yield f"that keeps {needs['argument']} frequencies", "does not"
    start = study.reproduce.get(needs.get("from"))  # a part of a study may lack it
    if start and point.base.experiment != start:
        yield f"that starts from {start}", f"starts from {point.base.experiment}"
    for rule in needs.get("holds", ()):
        if not all(p.holds(rule) for p in study.experiment(name)):
            yield f"with {rule}", "is not"
    for kind in needs.get("every_epoch", ()):
        for p in study.experiment(name):
            epochs = range(0, p.steps + 1, p.steps_per_epoch)
            if not p.schedule(kind).contains(epochs):
                yield f"that logs {kind} of every epoch", "does not"
                return
    if "every_signal" in needs:
        dense = range(min(needs["every_signal"], point.steps) + 1)
        if not point.schedule("signals").contains(dense):
            yield f"that logs signals of every step to {dense[-1]}", "does not"
    for kind in needs.get("logs", ()):
        if settings["log"][kind] is None:
            yield f"that logs {kind}", "does not"
    if any("d" in needs and p.parameters["d"] != needs["d"] for p in study.experiment(name)):
        yield f"with d = {needs['d']}", "is not"
