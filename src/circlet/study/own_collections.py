"""Check of all names that a user's collection refers to, when a study is planned.

An unknown name would silently leave out a table, a figure or a claim, or stop a study after hours.
For the shipped collections the tests check all names.
"""

import inspect
import re
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from circlet.config import schema
from circlet.config.collection import Needs, Role
from circlet.config.experiment import Logs
from circlet.config.model import Config
from circlet.config.schema import Schema
from circlet.errors import ConfigError, did_you_mean
from circlet.study import fingerprint, interventions, registry
from circlet.study.claims_file import WHERE, Claim, claims
from circlet.study.declarations import (
    PLACES,
    RESERVED,
    RUNS,
    columns,
    declared,
    defined,
    in_order,
    literals,
)
from circlet.study.registry import Collection, Systems, explained, path_of
from circlet.systems.spec import Metric, Outcome, SystemSpec

KEYWORDS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum", "pattern",
)  # fmt: skip
FORMULAS = (
    "flops_per_step", "product_flops_per_step", "weights", "activations", "cpu_batch",
    "steps_per_epoch",
)  # fmt: skip


KINDS = (
    "a network: network, data, loss (and metrics); with a gradient of its own: initial, data, "
    "gradients, metrics; simulated: initial, data, step"
)
UNITS = ["run_id"], ["point"]  # first columns of tables to which circlet adds keys
OPTIMIZERS = ("adamw", "adam", "sgd")


def check(collections: Iterable[Collection], systems: Systems) -> None:
    """Look up all names in the collections of the user; raises ConfigError naming the file."""
    own = [collection for collection in collections if not collection.shipped]
    if not own:
        return
    for collection in own:
        _ = collection.metadata  # checks it
    tables, figures = (
        {n: m for c in collections for n, m in c.modules(kind).items()}
        for kind in ("tables", "figures")
    )
    about = {name: role for collection in collections for name, role in collection.roles.items()}
    roles = about.keys()
    logs = {"runs", *Logs.__struct_fields__}
    known: dict[str, tuple[str, Names[str]]] = {
        "TABLES": ("table", tables), "OPTIONAL_TABLES": ("table", tables),
        "ROLES": ("role", roles), "OPTIONAL_ROLES": ("role", roles),
        "SYSTEMS": ("system", systems), "LOGS": ("log", logs),
        "PLACES": ("place", PLACES), "CONFIG": ("key", Config.__struct_fields__),
    }  # fmt: skip
    for collection in own:
        for module, says in _declarations(collection):
            path = path_of(module)
            for name, values in says.items():
                if name in known and not isinstance(values, str):
                    _look_up(f"{path}: {name}", *known[name], values)
        _check_modules(collection)
        for module in collection.modules("tables").values():
            _check_table(module, systems, about)
        _check_run_list(collection, systems, collections)
        for name in collection.modules("interventions"):
            _check_intervention(name)
        for system in collection.modules("systems"):
            _check_system(systems[system])
            _check_outcomes(systems[system], tables)
        where = f"{collection.folder}/collection.yaml"
        _look_up(f"{where}: figures", "figure", figures, collection.figures)
        for name, role in collection.roles.items():
            _look_up(f"{where}: roles.{name}.tables", "table", tables, role.tables)
            _check_role(f"{where}: roles.{name}.needs", role.needs, systems, roles)
        _look_up(f"{where}: headlines", "claim", [c["claim"] for c in claims(collection)],
                 collection.headlines)  # fmt: skip
        for claim in claims(collection):
            _check_claim(f"{collection.folder}/claims.csv", claim, tables, figures, about, systems)
    in_order({name: declared("tables", module)["TABLES"] for name, module in tables.items()})


MAX_LISTED = 8  # names in a message


def _look_up(where: str, what: str, known: Iterable[str], names: Iterable[str]) -> None:
    for name in names:
        if name not in known:  # imports it, if it is a system
            names_there = list(known)
            hint = did_you_mean(name, names_there).strip()
            if not hint and len(names_there) <= MAX_LISTED:
                hint = f"there are: {', '.join(names_there)}"
            said = f" ({hint})" if hint else ""
            raise ConfigError(f"{where}: there is no {what} {name!r}{said}")


def _declarations(collection: Collection) -> Iterator[tuple[str, dict[str, Any]]]:
    """Modules that declare something, and what."""
    for kind in ("tables", "figures", "plots"):
        for module in collection.modules(kind).values():
            yield module, declared(kind, module)
    for kind in ("run_list", "explorer.data"):
        module = f"{collection.package}.{kind}"
        if path_of(module).exists():
            yield module, declared(kind, module)


def _check_modules(collection: Collection) -> None:
    """Whether its modules and what they import of it are Python, and there."""
    kinds = (*registry.PARTS, "equations")
    todo = [module for kind in kinds for module in collection.modules(kind).values()]
    todo += [module for module, _ in _declarations(collection)]
    for module in todo:  # grows as it goes
        path, files = path_of(module), literals(module).get("DATA", ())
        if "DATA" in defined(module) and "DATA" not in literals(module):
            raise ConfigError(
                f"{path}: DATA must be a literal, because it is read without importing the module"
            )
        for name in fingerprint.absent(module):
            raise ConfigError(f"{path}: imports {name}, which does not exist")
        if not isinstance(files, tuple) or not all(isinstance(file, str) for file in files):
            raise ConfigError(f'{path}: DATA must be a tuple of names, as in ("words.txt",)')
        for file in files:
            if not (path.parent / file).is_file():
                raise ConfigError(f"{path}: DATA: there is no file {file!r} beside it")
        own = sorted(n for n in fingerprint.imports(module) if n.startswith(collection.package))
        todo += [name for name in own if name not in todo]


def _check_system(system: SystemSpec) -> None:
    """Whether its defaults fit its schemas, its schedules are some, and its formulas give numbers.

    `circlet.systems.spec` has types, which only a type checker looks at.
    """
    if way := fingerprint.way_to("torch", system.module):
        raise ConfigError(
            f"{path_of(system.module)}: imports {', which imports '.join([*way[1:], 'torch'])}: "
            f"that takes seconds in every plan; move the computation to "
            f"{path_of(system.equations)}"
        )
    where = f"{path_of(system.module)}: SYSTEM"
    if system.version != "" and type(system.version) is not int:
        raise ConfigError(f"{where}: version must be an integer")
    for name, parameter in system.parameters.items():
        _look_up(f"{where}: {name}", "keyword", KEYWORDS, parameter.limits)
        _fits(f"{where}: {name}: default", parameter.default, parameter.schema)
    schedules = {kind: log.schedule for kind, log in system.logs.items()}
    _fits(f"{where}: logs", schedules, schema.of(Logs))
    for name in FORMULAS:
        formula = getattr(system, name) or (lambda **_: 0)
        if not isinstance(_value(where, name, formula, system), int | float):
            raise ConfigError(f"{where}: {name} must give a number")
    for rule in system.requires:
        _value(where, "requires", rule.holds, system)
    if system.flops_per_step:
        needed = {"weights", "activations"}
        if lacking := sorted(name for name in needed if not getattr(system, name)):
            raise ConfigError(
                f"{where}: gives flops_per_step, but not {lacking[0]}; give both, or neither: then "
                "what its runs cost is measured"
            )
        if system.embedding:
            _look_up(f"{where}: flops_per_step is given, embedding, too", "parameter",
                     system.parameters, ("p", "d"))  # fmt: skip
    _check_metrics(where, system)
    _check_functions(system)


def _check_intervention(name: str) -> None:
    """Whether it declares its arguments, and their defaults fit."""
    path = path_of(interventions.module_of(name))
    for argument, declared_schema in interventions.INTERVENTIONS[name].items():
        if "default" in declared_schema:
            _fits(
                f"{path}: ARGUMENTS: {argument}: default",
                declared_schema["default"],
                declared_schema,
            )


def _check_metrics(where: str, system: SystemSpec) -> None:
    taken = {*RESERVED, *system.parameters}
    for name, metric in system.metrics.items():
        if not isinstance(metric, Metric):
            raise ConfigError(f"{where}: metrics: {name} must be Metric(meaning, unit)")
        if not registry.NAME.fullmatch(name) or name in taken:
            raise ConfigError(
                f"{where}: metrics: {name!r} must be lower-case letters, digits and underscores, "
                "and not a parameter or another column of runs"
            )


def _columns_of(table: str, module: str, system: SystemSpec) -> dict[str, str]:
    """Columns that rows of a system have in a table, with their types; empty if unknown."""
    if table == "runs":
        own = {"run_id": "string"} | RUNS | dict.fromkeys(system.metrics, "number")
    else:
        own = dict(columns(module) or ())
    if [*own][:1] not in UNITS:
        return own
    acts = [interventions.columns(name) for name in interventions.INTERVENTIONS]
    parameters = {k: v["type"] for schemas in (system.schemas, *acts) for k, v in schemas.items()}
    return {"experiment": "string", "system": "string"} | parameters | own


def _check_table(module: str, systems: Systems, roles: dict[str, Role]) -> None:
    """Whether its systems have its logs, its columns names of their own, and among these is what it
    measures.
    """
    says, own = declared("tables", module), columns(module)
    about = [roles[role].needs.system for role in says.get("ROLES", ())]
    known = [systems[name] for name in about or says.get("SYSTEMS", ()) if name in systems]
    if known:
        logs = {kind for system in known for kind in system.kinds}
        _look_up(f"{path_of(module)}: LOGS: of its systems", "log", logs, says.get("LOGS", ()))
    if own is None:
        return
    where, names = f"{path_of(module)}: COLUMNS", [name for name, _ in own]
    keys = {"experiment", "system"}.union(*(system.parameters for system in known))
    _check_once(where, names, keys if names[:1] in UNITS else set())
    if measured := says.get("DERIVED_METRICS", ()):
        _look_up(f"{where}, with DERIVED_METRICS", "column", names, ("run_id", "step", *measured))


def _check_run_list(
    collection: Collection, systems: Systems, collections: Iterable[Collection]
) -> None:
    """Whether its columns have names of their own, and its systems show some that there are."""
    own = [systems[name] for name in collection.modules("systems")]
    modules = {c.name: f"{c.package}.run_list" for c in collections}
    lists = {c: columns(module) for c, module in modules.items() if path_of(module).exists()}
    names = {c: [name for name, _ in found or ()] for c, found in lists.items()}
    keys = {"experiment", "system", "run_id", "seed", "outcome", "shown", "moments"}
    added = keys.union(*(system.parameters for system in own), *(s.metrics for s in own))
    where = f"{path_of(modules[collection.name])}: COLUMNS"
    _check_once(where, names.get(collection.name, []), added)
    for system in own if None not in lists.values() else ():
        known = {*system.metrics, *(name for found in names.values() for name in found)}
        known |= {f"{name.removesuffix('_step')}_epoch" for name in known if "_step" in name}
        where = f"{path_of(system.module)}: SYSTEM"
        _look_up(f"{where}: run_columns", "column", known, system.run_columns)
        coloured = [system.coloured_signals] if system.coloured_signals else []
        _look_up(f"{where}: coloured_signals", "column", known, coloured)


def _check_once(where: str, names: list[str], added: Names[str]) -> None:
    for name in names:
        if name in added:
            raise ConfigError(
                f"{where}: {name!r} is a column that circlet adds; choose another name"
            )
        if names.count(name) > 1:
            raise ConfigError(f"{where}: {name!r} is listed twice")


def _check_outcomes(system: SystemSpec, tables: dict[str, str]) -> None:
    where = f"{path_of(system.module)}: SYSTEM: outcomes"
    seen = set()
    for one in system.outcomes:
        if not isinstance(one, Outcome):
            raise ConfigError(f"{where}: must be Outcome(name, label, kind, ...), each")
        if not registry.NAME.fullmatch(one.name) or one.name in seen:
            raise ConfigError(
                f"{where}: {one.name!r} must be lower-case letters, digits and underscores, once"
            )
        seen.add(one.name)
        _look_up(f"{where}: {one.name}", "kind", ("share", "mean", "count", "time"), [one.kind])
        _look_up(f"{where}: {one.name}", "table", tables, [one.table])
        low, high = one.bounds
        threshold = {"type": ["number", "null"], "minimum": low, "maximum": high}
        _fits(f"{where}: {one.name}: threshold", one.threshold, threshold)
        _fits(f"{where}: {one.name}: where", one.where, {"type": "object"})
        _check_column(f"{where}: {one.name}", one, system, tables)


def _check_column(where: str, outcome: Outcome, system: SystemSpec, tables: dict[str, str]) -> None:
    """Whether an outcome's table has rows of all runs of its system, and its columns."""
    needed = [outcome.table]
    for name in needed:  # grows as it goes
        says = declared("tables", tables[name])
        if says.keys() & {"ROLES", "OPTIONAL_ROLES"}:
            raise ConfigError(
                f"{where}: the table {name} has only runs with a role; an outcome needs a table "
                "with SYSTEMS in place of ROLES"
            )
        needed += [other for other in says["TABLES"] if other in tables and other not in needed]
    where = f"{where}: table {outcome.table}"
    about = declared("tables", tables[outcome.table]).get("SYSTEMS", (system.name,))
    if system.name not in about:
        raise ConfigError(f"{where}: has no run of {system.name}, which is not in its SYSTEMS")
    known = _columns_of(outcome.table, tables[outcome.table], system)
    if not known:
        return
    if "run_id" not in known:
        raise ConfigError(f"{where}: has no row per run; its first column must be RUN")
    column = outcome.column or outcome.name
    after = [f"{column}_after"] if outcome.kind == "time" else []
    _look_up(where, "column", known, [column, *after, *outcome.where])
    if known[column] in ("string", "array"):
        raise ConfigError(f"{where}: column {column!r} must be numbers or truth values")
    for name, value in outcome.where.items():
        if known[name] and isinstance(value, str) != (known[name] == "string"):
            raise ConfigError(f"{where}: where: the column {name!r} never equals {value!r}")


def _check_functions(system: SystemSpec) -> None:
    """Whether its equations have the functions of some kind of system, and it their parameters."""
    has, file = defined(system.equations), path_of(system.equations)
    is_network = {"network", "loss"} <= has
    if "loss" in has:
        needed = {"data"} if is_network else {"data", "initial"}
    else:
        needed = {"data", "initial"} | ({"metrics"} if "gradients" in has else {"step"})
    if lacking := sorted(needed - has):
        raise ConfigError(f"{file}: does not define {lacking[0]}() ({KINDS})")
    where = f"{path_of(system.module)}: SYSTEM"
    if has & {"loss", "gradients"} and not system.is_trained:
        raise ConfigError(
            f"{where}: it is trained, but has no parameter 'learning_rate'; use LEARNING_RATE of "
            "circlet.systems.parameters"
        )
    if "optimizer" in system.parameters:
        choices = system.parameters["optimizer"].limits.get("enum", ["any text"])
        _look_up(f"{where}: optimizer", "optimiser", OPTIMIZERS, choices)
    if system.embedding not in ("", "embedding") and not is_network:
        raise ConfigError(
            f"{where}: embedding must be 'embedding', the name that initial() returns"
        )


def _fits(where: str, value: Any, allowed: Schema) -> None:
    try:
        schema.check(value, allowed)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _value(where: str, name: str, formula: Any, system: SystemSpec) -> Any:
    """A formula at the defaults."""
    wanted = inspect.signature(formula).parameters.values()
    required = [p.name for p in wanted if p.kind is not p.VAR_KEYWORD and p.default is p.empty]
    _look_up(f"{where}: {name}", "parameter", system.parameters, required)
    with explained(Path(inspect.getfile(formula)), f"{name} at the defaults"):
        return formula(**system.defaults)


def _check_role(where: str, needs: Needs, systems: Systems, roles: Names[str]) -> None:
    _look_up(f"{where}.system", "system", systems, [needs.system])
    system = systems[needs.system]
    _look_up(f"{where}.holds", "parameter", system.parameters, needs.holds)
    _look_up(f"{where}.logs", "log", system.kinds, needs.logs)
    _look_up(f"{where}.every_epoch", "log", system.kinds, needs.every_epoch)
    if needs.start:
        _look_up(f"{where}.from", "role", roles, [needs.start])


def _check_claim(
    path: str,
    claim: Claim,
    tables: dict[str, str],
    figures: Names[str],
    roles: dict[str, Role],
    systems: Systems,
) -> None:
    where = f"{path}: {claim['claim']}"
    _look_up(f"{where}: table", "table", tables, [claim["table"]])
    _look_up(f"{where}: role", "role", roles, [claim["role"]])
    if claim["figure"]:
        _look_up(f"{where}: figure", "figure", figures, [claim["figure"]])
    system = systems[roles[claim["role"]].needs.system]
    if has := _columns_of(claim["table"], tables[claim["table"]], system):
        keys = [
            name.removeprefix(WHERE) for name in claim if name.startswith(WHERE) and claim[name]
        ]
        names = [claim[key] for key in ("column", "rival") if claim[key]]
        estimates = [f"{name}{end}" for name in names for end in ("", "_low", "_high", "_n")]
        wanted = [*keys, *estimates, "n_runs", "n_planned"]
        _look_up(f"{where}: table {claim['table']}", "column", has, wanted)
    known = {*system.parameters, "steps", "epochs", "shared"}
    texts = ";".join(claim[key] for key in ("conditions", "shorter", "accepts")).split(";")
    names = [re.split("[=>]", text)[0] for text in texts if text]
    _look_up(f"{where}: condition", "condition", known, [n for n in names if "." not in n])
