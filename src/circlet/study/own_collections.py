"""Check of all names that a user's collection refers to, when a study is planned.

An unknown name would silently leave out a table, a figure or a claim, or stop a study after hours.
For the shipped collections the tests check all names.
"""

import re
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator
from typing import Any

from circlet.config import schema
from circlet.config.collection import Needs, Role
from circlet.config.experiment import Logs
from circlet.config.model import Config
from circlet.errors import ConfigError
from circlet.study import fingerprint, interventions, registry
from circlet.study.claims_file import WHERE, Claim, claims
from circlet.study.declarations import (
    PLACES,
    columns,
    declared,
    defined,
    in_order,
    literals,
)
from circlet.study.declared_systems import Systems
from circlet.study.own_systems import (
    UNITS,
    check_outcomes,
    check_system,
    columns_of,
    look_up,
)
from circlet.study.registry import Collection, path_of


def check(collections: Iterable[Collection], systems: Systems) -> None:
    """Check all names in the user's collections; raises ConfigError that names the file."""
    user_collections = [collection for collection in collections if not collection.shipped]
    if not user_collections:
        return
    for collection in user_collections:
        _ = collection.metadata  # reading the file checks it
    tables, figures = (registry.modules(collections, kind) for kind in ("tables", "figures"))
    about = {name: role for collection in collections for name, role in collection.roles.items()}
    roles = about.keys()
    logs = {"runs", *Logs.__struct_fields__}
    allowed: dict[str, tuple[str, Names[str]]] = {
        "TABLES": ("table", tables), "OPTIONAL_TABLES": ("table", tables),
        "ROLES": ("role", roles), "OPTIONAL_ROLES": ("role", roles),
        "SYSTEMS": ("system", systems), "LOGS": ("log", logs),
        "PLACES": ("place", PLACES), "CONFIG": ("key", Config.__struct_fields__),
    }  # fmt: skip
    for collection in user_collections:
        for module, says in _declarations(collection):
            path = path_of(module)
            for name, values in says.items():
                if name in allowed and not isinstance(values, str):
                    look_up(f"{path}: {name}", *allowed[name], values)
        _check_modules(collection)
        for module in collection.modules("tables").values():
            _check_table(module, systems, about)
        _check_run_list(collection, systems, collections)
        for name in collection.modules("interventions"):
            _check_intervention(name)
        for system in collection.modules("systems"):
            check_system(systems[system])
            check_outcomes(systems[system], tables)
        where = f"{collection.folder}/collection.yaml"
        look_up(f"{where}: figures", "figure", figures, collection.figures)
        for name, role in collection.roles.items():
            look_up(f"{where}: roles.{name}.tables", "table", tables, role.tables)
            _check_role(f"{where}: roles.{name}.needs", role.needs, systems, roles)
        look_up(f"{where}: headlines", "claim", [c["claim"] for c in claims(collection)],
                 collection.headlines)  # fmt: skip
        for claim in claims(collection):
            _check_claim(f"{collection.folder}/claims.csv", claim, tables, figures, about, systems)
    in_order({name: declared("tables", module)["TABLES"] for name, module in tables.items()})


def _declarations(collection: Collection) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each module of a collection that declares something, with its declarations."""
    for kind in ("tables", "figures", "plots"):
        for module in collection.modules(kind).values():
            yield module, declared(kind, module)
    for kind in ("run_list", "explorer.data"):
        module = f"{collection.package}.{kind}"
        if path_of(module).exists():
            yield module, declared(kind, module)


def _check_modules(collection: Collection) -> None:
    """Check that a collection's modules, and those that they import from it, exist and parse."""
    kinds = (*registry.PARTS, "equations")
    todo = [module for kind in kinds for module in collection.modules(kind).values()]
    todo += [module for module, _ in _declarations(collection)]
    for module in todo:  # grows during the loop
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
            if not any(path.parent.glob(file)):
                raise ConfigError(f"{path}: DATA: there is no file {file!r} beside it")
        imported = sorted(
            n for n in fingerprint.imports(module) if n.startswith(collection.package)
        )
        todo += [name for name in imported if name not in todo]


def _check_intervention(name: str) -> None:
    """Check that an intervention declares its arguments, with defaults that fit their schemas."""
    path = path_of(interventions.module_of(name))
    for argument, declared_schema in interventions.INTERVENTIONS[name].items():
        if "default" in declared_schema:
            where = f"{path}: ARGUMENTS: {argument}: default"
            schema.check(declared_schema["default"], declared_schema, where)


def _check_table(module: str, systems: Systems, roles: dict[str, Role]) -> None:
    """Check that a table's systems write its logs, and that its columns have free names and include
    its derived metrics.
    """
    says, declared_columns = declared("tables", module), columns(module)
    about = [roles[role].needs.system for role in says.get("ROLES", ())]
    known_systems = [systems[name] for name in about or says.get("SYSTEMS", ()) if name in systems]
    if known_systems:
        logs = {kind for system in known_systems for kind in system.kinds}
        look_up(f"{path_of(module)}: LOGS: of its systems", "log", logs, says.get("LOGS", ()))
    if declared_columns is None:
        return
    where, names = f"{path_of(module)}: COLUMNS", [name for name, _ in declared_columns]
    keys = {"experiment", "system"}.union(*(system.parameters for system in known_systems))
    _check_once(where, names, keys if names[:1] in UNITS else set())
    if measured := says.get("DERIVED_METRICS", ()):
        look_up(f"{where}, with DERIVED_METRICS", "column", names, ("run_id", "step", *measured))


def _check_run_list(
    collection: Collection, systems: Systems, collections: Iterable[Collection]
) -> None:
    """Check that a run list's columns have free names, and its systems show existing columns."""
    user_systems = [systems[name] for name in collection.modules("systems")]
    modules = {c.name: f"{c.package}.run_list" for c in collections}
    lists = {c: columns(module) for c, module in modules.items() if path_of(module).exists()}
    names = {c: [name for name, _ in list_columns or ()] for c, list_columns in lists.items()}
    keys = {"experiment", "system", "run_id", "seed", "outcome", "shown", "moments"}
    added = keys.union(
        *(system.parameters for system in user_systems), *(s.metrics for s in user_systems)
    )
    where = f"{path_of(modules[collection.name])}: COLUMNS"
    _check_once(where, names.get(collection.name, []), added)
    for system in user_systems if None not in lists.values() else ():
        allowed = {
            *system.metrics,
            *(name for list_columns in names.values() for name in list_columns),
        }
        allowed |= {f"{name.removesuffix('_step')}_epoch" for name in allowed if "_step" in name}
        where = f"{path_of(system.module)}: SYSTEM"
        look_up(f"{where}: run_columns", "column", allowed, system.run_columns)
        coloured = [system.coloured_signals] if system.coloured_signals else []
        look_up(f"{where}: coloured_signals", "column", allowed, coloured)


def _check_once(where: str, names: list[str], added: Names[str]) -> None:
    for name in names:
        if name in added:
            raise ConfigError(
                f"{where}: {name!r} is a column that circlet adds; choose another name"
            )
        if names.count(name) > 1:
            raise ConfigError(f"{where}: {name!r} is listed twice")


def _check_role(where: str, needs: Needs, systems: Systems, roles: Names[str]) -> None:
    look_up(f"{where}.system", "system", systems, [needs.system])
    system = systems[needs.system]
    look_up(f"{where}.holds", "parameter", system.parameters, needs.holds)
    look_up(f"{where}.logs", "log", system.kinds, needs.logs)
    look_up(f"{where}.every_epoch", "log", system.kinds, needs.every_epoch)
    if needs.start:
        look_up(f"{where}.from", "role", roles, [needs.start])


def _check_claim(
    path: str,
    claim: Claim,
    tables: dict[str, str],
    figures: Names[str],
    roles: dict[str, Role],
    systems: Systems,
) -> None:
    where = f"{path}: {claim['claim']}"
    look_up(f"{where}: table", "table", tables, [claim["table"]])
    look_up(f"{where}: role", "role", roles, [claim["role"]])
    if claim["figure"]:
        look_up(f"{where}: figure", "figure", figures, [claim["figure"]])
    system = systems[roles[claim["role"]].needs.system]
    if table_columns := columns_of(claim["table"], tables[claim["table"]], system):
        keys = [
            name.removeprefix(WHERE) for name in claim if name.startswith(WHERE) and claim[name]
        ]
        names = [claim[key] for key in ("column", "rival") if claim[key]]
        estimates = [f"{name}{end}" for name in names for end in ("", "_low", "_high", "_n")]
        needed = [*keys, *estimates, "n_runs", "n_planned"]
        look_up(f"{where}: table {claim['table']}", "column", table_columns, needed)
    allowed = {*system.parameters, "steps", "epochs", "shared"}
    texts = ";".join(claim[key] for key in ("conditions", "shorter", "accepts")).split(";")
    names = [re.split("[=>]", text)[0] for text in texts if text]
    look_up(f"{where}: condition", "condition", allowed, [n for n in names if "." not in n])
