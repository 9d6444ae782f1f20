"""Check of all names that a user's collection refers to, when a study is planned.

An unknown name would silently leave out a table, a figure or a claim, or stop a study after hours.
Only names of columns are checked later, by the jobs of the tables that have or read them. A test
checks the shipped collections.
"""

import re
from collections.abc import Collection as Names
from collections.abc import Iterator

from circlet.config import schema
from circlet.config.collection import Needs, Role
from circlet.config.experiment import Logs
from circlet.config.model import Config
from circlet.errors import ConfigError, check_exist
from circlet.study import fingerprint, interventions, registry
from circlet.study.claims_file import claims
from circlet.study.declarations import (
    KINDS,
    PLACES,
    Declarations,
    Table,
    declared,
    defined,
    in_order,
    literals,
)
from circlet.study.declared_systems import Systems
from circlet.study.registry import Collection, path_of
from circlet.study.user_systems import check_outcomes, check_system


def check(systems: Systems, with_shipped: bool = False) -> None:
    """Check all names in the user's collections; raises ConfigError that names the file."""
    collections = systems.collections
    checked = [c for c in collections if with_shipped or not c.shipped]
    if not checked:
        return
    tables, figures = (registry.modules(collections, kind) for kind in ("tables", "figures"))
    roles = {name: role for collection in collections for name, role in collection.roles.items()}
    logs = {"runs", *Logs.__struct_fields__}
    allowed: dict[str, tuple[str, Names[str]]] = {
        "tables": ("table", tables), "optional_tables": ("table", tables),
        "roles": ("role", roles), "optional_roles": ("role", roles),
        "systems": ("system", systems), "logs": ("log", logs),
        "places": ("place", PLACES), "config": ("key", Config.__struct_fields__),
    }  # fmt: skip
    for collection in checked:
        for module, declaration in _declarations(collection):
            for name in allowed.keys() & declaration.__struct_fields__:
                values = getattr(declaration, name)
                if not isinstance(values, str):
                    check_exist(f"{path_of(module)}: {name.upper()}", *allowed[name], values)
        _check_modules(collection)
        for module in collection.modules("tables").values():
            _check_table(module, systems, roles)
        for name in collection.modules("interventions"):
            _check_intervention(name)
        for system in collection.modules("systems"):
            check_system(systems[system])
            check_outcomes(systems[system], tables)
        where = f"{collection.folder}/collection.yaml"
        check_exist(f"{where}: figures", "figure", figures, collection.figures)
        for name, role in collection.roles.items():
            check_exist(f"{where}: roles.{name}.tables", "table", tables, role.tables)
            _check_role(f"{where}: roles.{name}.needs", role.needs, systems)
        check_exist(f"{where}: headlines", "claim", [c.claim for c in claims(collection)],
                    collection.headlines)  # fmt: skip
        for claim in claims(collection):
            where = f"{collection.folder}/claims.csv: {claim.claim}"
            check_exist(f"{where}: table", "table", tables, [claim.table])
            check_exist(f"{where}: role", "role", roles, [claim.role])
            if claim.figure:
                check_exist(f"{where}: figure", "figure", figures, [claim.figure])
            parameters = systems[roles[claim.role].needs.system].parameters
            texts = f"{claim.conditions};{claim.shorter};{claim.accepts}".split(";")
            names = [re.split("[=>]", text)[0] for text in texts if text]
            conditions = [name for name in names if "." not in name]
            possible = {*parameters, "steps", "epochs", "shared"}
            check_exist(f"{where}: condition", "condition", possible, conditions)
    in_order({name: declared(Table, module).tables for name, module in tables.items()})


def _declarations(collection: Collection) -> Iterator[tuple[str, Declarations]]:
    """Yield each module of a collection that declares something, with its declarations."""
    for name, kind in KINDS.items():
        modules = [*collection.modules(name).values()]
        if name in ("run_list", "explorer.data"):  # one module, not a folder
            modules = [f"{collection.package}.{name}"]
        yield from (
            (module, declared(kind, module)) for module in modules if path_of(module).exists()
        )


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
    for argument, declared_schema in interventions.schemas(name).items():
        if "default" in declared_schema:
            where = f"{path}: ARGUMENTS: {argument}: default"
            schema.check(declared_schema["default"], declared_schema, where)


def _check_table(module: str, systems: Systems, roles: dict[str, Role]) -> None:
    """Check that a table's systems write its logs."""
    declaration = declared(Table, module)
    names = [roles[role].needs.system for role in declaration.roles] or declaration.systems
    existing = [systems[name] for name in names if name in systems]
    if existing:
        logs = {kind for system in existing for kind in system.kinds}
        check_exist(f"{path_of(module)}: LOGS: of its systems", "log", logs, declaration.logs)


def _check_role(where: str, needs: Needs, systems: Systems) -> None:
    check_exist(f"{where}.system", "system", systems, [needs.system])
    system = systems[needs.system]
    check_exist(f"{where}.holds", "parameter", system.parameters, needs.holds)
    check_exist(f"{where}.logs", "log", system.kinds, needs.logs)
    check_exist(f"{where}.every_epoch", "log", system.kinds, needs.every_epoch)
