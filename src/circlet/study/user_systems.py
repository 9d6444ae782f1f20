"""Check of the declarations and functions of a user's systems, when a study is planned."""

import inspect
import math
from collections.abc import Collection as Names
from pathlib import Path
from typing import Any

from circlet.config import schema
from circlet.config.experiment import Logs
from circlet.errors import ConfigError, check_exist
from circlet.study import registry
from circlet.study.declarations import RESERVED, Table, declared, defined
from circlet.study.registry import explained, path_of
from circlet.systems.spec import Metric, Outcome, Parameter, Rule, SystemSpec

KEYWORDS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum", "pattern",
)  # fmt: skip
FORMULAS = ("flops_per_step", "weights", "activations", "cpu_batch", "steps_per_epoch")
KINDS = (
    "a network: network, data, loss (and metrics); with a gradient of its own: initial, data, "
    "gradients, metrics; simulated: initial, data, step"
)
OPTIMIZERS = ("adamw", "adam", "sgd")


def check_system(system: SystemSpec) -> None:
    """Check that defaults fit schemas, schedules are valid, and formulas return numbers.

    The types in `circlet.systems.spec` do not suffice, because only type checkers read them.
    """
    where = f"{path_of(system.module)}: SYSTEM"
    if system.version != "" and type(system.version) is not int:
        raise ConfigError(f"{where}: version must be an integer")
    for name, parameter in system.parameters.items():
        if not isinstance(parameter, Parameter):
            raise ConfigError(f"{where}: parameters: {name} must be a Parameter")
        _check_name(f"{where}: parameters", name, RESERVED, "a column of runs")
        check_exist(f"{where}: {name}", "keyword", KEYWORDS, parameter.limits)
        schema.check(parameter.default, parameter.schema, f"{where}: {name}: default")
    schedules = {kind: log.schedule for kind, log in system.logs.items()}
    schema.check(schedules, schema.of(Logs), f"{where}: logs")
    _check_formulas(where, system)
    check_exist(f"{where}: shapes", "parameter", system.parameters, system.shapes)
    for rule in system.requires:
        if not isinstance(rule, Rule):
            raise ConfigError(f"{where}: requires: each must be a Rule")
        _value(where, "requires", rule.holds, system)
    taken, what = {*RESERVED, *system.parameters}, "a parameter or another column of runs"
    for name, metric in system.metrics.items():
        if not isinstance(metric, Metric):
            raise ConfigError(f"{where}: metrics: {name} must be Metric(meaning, unit)")
        _check_name(f"{where}: metrics", name, taken, what)
    _check_functions(system)


def _check_formulas(where: str, system: SystemSpec) -> None:
    """Check that formulas give positive numbers, and that those of a step's cost are complete."""
    for name in FORMULAS:
        if formula := getattr(system, name):
            value = _value(where, name, formula, system)
            if not isinstance(value, int | float):
                raise ConfigError(f"{where}: {name} must give a number")
            if not 0 < value < math.inf:
                raise ConfigError(f"{where}: {name} must give a number above 0, not {value}")
    if system.flops_per_step:
        needed = {"weights", "activations"}
        if missing := sorted(name for name in needed if not getattr(system, name)):
            raise ConfigError(
                f"{where}: gives flops_per_step, but not {missing[0]}; give both, or neither: then "
                "what its runs cost is measured"
            )
        if system.embedding:
            check_exist(f"{where}: flops_per_step is given, embedding, too", "parameter",
                        system.parameters, ("p", "d"))  # fmt: skip


def _check_name(where: str, name: str, taken: Names[str], what: str) -> None:
    if not registry.NAME.fullmatch(name) or name in taken:
        raise ConfigError(
            f"{where}: {name!r} must be lower-case letters, digits and underscores, and not {what}"
        )


def check_outcomes(system: SystemSpec, tables: dict[str, str]) -> None:
    """Check that outcomes of a system have valid names and kinds, and name tables of its runs."""
    where = f"{path_of(system.module)}: SYSTEM: outcomes"
    seen = set[str]()
    for outcome in system.outcomes:
        if not isinstance(outcome, Outcome):
            raise ConfigError(f"{where}: must be Outcome(name, label, kind, ...), each")
        _check_name(where, outcome.name, seen, "that of another outcome")
        seen.add(outcome.name)
        check_exist(
            f"{where}: {outcome.name}", "kind", ("share", "mean", "count", "time"), [outcome.kind]
        )
        check_exist(f"{where}: {outcome.name}", "table", tables, [outcome.table])
        low, high = outcome.bounds
        threshold = {"type": ["number", "null"], "minimum": low, "maximum": high}
        schema.check(outcome.threshold, threshold, f"{where}: {outcome.name}: threshold")
        schema.check(outcome.where, {"type": "object"}, f"{where}: {outcome.name}: where")
        _check_rows(f"{where}: {outcome.name}", outcome, system, tables)


def _check_rows(where: str, outcome: Outcome, system: SystemSpec, tables: dict[str, str]) -> None:
    """Check that an outcome's table has rows of all runs of the system."""
    needed = [outcome.table]
    for name in needed:  # grows during the loop
        declaration = declared(Table, tables[name])
        if declaration.roles or declaration.optional_roles:
            raise ConfigError(
                f"{where}: the table {name} has only runs with a role; an outcome needs a table "
                "with SYSTEMS in place of ROLES"
            )
        needed += [other for other in declaration.tables if other in tables and other not in needed]
    systems = declared(Table, tables[outcome.table]).systems
    if systems and system.name not in systems:
        raise ConfigError(
            f"{where}: the table {outcome.table} has no runs of {system.name}; add this name to "
            "its SYSTEMS"
        )


def _check_functions(system: SystemSpec) -> None:
    """Check that equations define the functions of a kind of system, and SYSTEM its parameters."""
    defined_names, file = defined(system.equations), path_of(system.equations)
    is_network = {"network", "loss"} <= defined_names
    if "loss" in defined_names:
        needed = {"data"} if is_network else {"data", "initial"}
    else:
        needed = {"data", "initial"} | ({"metrics"} if "gradients" in defined_names else {"step"})
    if missing := sorted(needed - defined_names):
        raise ConfigError(f"{file}: does not define {missing[0]}() ({KINDS})")
    where = f"{path_of(system.module)}: SYSTEM"
    if defined_names & {"loss", "gradients"} and not system.is_trained:
        raise ConfigError(
            f"{where}: it is trained, but has no parameter 'learning_rate'; use LEARNING_RATE of "
            "circlet.systems.parameters"
        )
    if "optimizer" in system.parameters:
        choices = system.parameters["optimizer"].limits.get("enum", ["any text"])
        check_exist(f"{where}: optimizer", "optimiser", OPTIMIZERS, choices)
    if system.embedding not in ("", "embedding") and not is_network:
        raise ConfigError(
            f"{where}: embedding must be 'embedding', the name that initial() returns"
        )


def _value(where: str, name: str, formula: Any, system: SystemSpec) -> Any:
    """Return the value of a formula at the system's default parameters."""
    arguments = inspect.signature(formula).parameters.values()
    required = [p.name for p in arguments if p.kind is not p.VAR_KEYWORD and p.default is p.empty]
    check_exist(f"{where}: {name}", "parameter", system.parameters, required)
    with explained(Path(inspect.getfile(formula)), f"{name} at the defaults"):
        return formula(**system.defaults)
