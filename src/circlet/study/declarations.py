"""Declarations of the modules of tables, figures and pages, read without importing them.

Declarations have upper-case names; names of other constants begin with an underscore, so that a
misspelt declaration is an error.
"""

import ast
import functools
import graphlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from circlet.errors import ConfigError
from circlet.study import sources
from circlet.study.registry import path_of
from circlet.study.seeds import PURPOSES

INPUTS = (
    "TABLES",
    "OPTIONAL_TABLES",
    "ROLES",
    "OPTIONAL_ROLES",
    "SYSTEMS",
    "LOGS",
    "DATA",
    "CONFIG",
)
KNOWN = {  # by kind of module: allowed and required declarations, and required function
    "tables": (
        (*INPUTS, "FROM_COLLECTIONS", "DERIVED_METRICS", "COLUMNS"),
        ("TABLES", "COLUMNS"),
        "table",
    ),
    "figures": ((*INPUTS, "FROM_COLLECTIONS"), ("TABLES",), "draw"),
    "plots": (
        ("TABLES", "CONFIG", "DATA", "PLACES", "LEAST", "SHOWS", "POOLS", "MOST_PANELS"),
        ("TABLES", "PLACES"),
        "draw",
    ),
    "run_list": (("TABLES", "COLUMNS"), ("TABLES", "COLUMNS"), "runs"),
    "explorer.data": (("TABLES",), ("TABLES",), "data"),
}
PLACES = ("x", "y", "by", "facet")  # of swept parameters in a plot
RESERVED = {  # columns of logs and tables of runs
    "status", "device", "dtype", "products", "commit", "seed", "steps", "seconds",
    *(f"{purpose}_seed" for purpose in PURPOSES),
    "step", "outcome", "shown", "system", "run_id", "point", "experiment",
}  # fmt: skip


def in_order(reads: Mapping[str, Iterable[str]]) -> list[str]:
    """Return names of tables, each after those that it reads; raises ConfigError if impossible."""
    try:
        return list(graphlib.TopologicalSorter(reads).static_order())
    except graphlib.CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise ConfigError(f"tables {circle}: depend on each other") from None


def defined(module: str) -> frozenset[str]:
    """Return the names that a module defines or imports, outside of functions and classes."""
    summary = sources.summary(module)
    all_names = {*summary.assigned, *summary.functions}
    for imported in summary.imports:
        if not imported.at_start:
            continue
        source = imported.source(module)
        if ("*", "*") in imported.names and _is_module(source):
            all_names |= {name for name in defined(source) if not name.startswith("_")}
        all_names |= {local for local, name in imported.names if not _is_module(f"{source}.{name}")}
    return frozenset(all_names)


def _is_module(name: str) -> bool:
    return name.startswith("circlet.") and path_of(name).exists()


@functools.cache
def literals(module: str) -> dict[str, Any]:
    """Return the upper-case constants of a module that are plain literals, by name."""
    constants = sources.summary(module).constants
    return {name: ast.literal_eval(code) for name, code in constants.items()}


def _check_measures(path: Path, value: Any) -> None:
    pairs = value.values() if isinstance(value, dict) else [None]
    texts = [isinstance(pair, tuple) and list(map(type, pair)) == [str, str] for pair in pairs]
    if not all(texts):
        raise ConfigError(
            f"{path}: DERIVED_METRICS must give the meaning and the unit of each column, as in "
            "{'norm': ('norm of the weights', '')}"
        )


@functools.cache
def declared(kind: str, module: str) -> dict[str, Any]:
    """Return the declarations of a module of some kind; raises ConfigError if one is not valid."""
    allowed, needed, function = KNOWN[kind]
    summary, path = sources.summary(module), path_of(module)
    upper = [name for name in summary.assigned if name.isupper() and not name.startswith("_")]
    if unknown := [name for name in upper if name not in allowed]:
        raise ConfigError(
            f"{path}: {unknown[0]} is not a declaration (there are: {', '.join(allowed)}); names "
            f"of other constants must begin with an underscore: _{unknown[0]}"
        )
    if missing := [name for name in needed if name not in upper]:
        raise ConfigError(f"{path}: does not declare {missing[0]}")
    if function not in summary.functions:
        raise ConfigError(f"{path}: does not define {function}()")
    if kind in ("figures", "plots") and not summary.docstring:
        raise ConfigError(f"{path}: has no docstring; it is the caption of the figure")
    constants = literals(module)
    for name in upper:
        if name == "COLUMNS":  # pyarrow types, for code that imports the module
            continue
        if name not in constants:
            raise ConfigError(
                f"{path}: {name} must be a literal, because it is read without importing the module"
            )
        value = constants[name]
        if name in ("LEAST", "POOLS", "MOST_PANELS"):
            continue
        if name == "DERIVED_METRICS":
            _check_measures(path, value)
            continue
        single = name in ("OPTIONAL_ROLES", "SHOWS") and isinstance(value, str)
        texts = (value,) if single else value
        if not isinstance(texts, tuple) or not all(isinstance(x, str) for x in texts):
            raise ConfigError(f"{path}: {name} must be a tuple of strings, as in ('runs',)")
    return constants
