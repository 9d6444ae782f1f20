"""Declarations of the modules of tables, figures and pages, read without importing them.

A module in ``tables`` or ``figures`` of a collection makes one target, of its own name, from the
inputs that it declares in literals: the keys of `Inputs`, with upper-case names. Names of other
constants begin with an underscore, so that a misspelt declaration is an error.

A table also declares its ``COLUMNS`` and defines ``table(study)``, which returns its rows: a frame,
or frames or dicts one by one. If its first column is ``RUN``, `circlet.analysis.make` adds the
other keys and the seeds of the runs. A figure's docstring is its caption; it defines
``draw(study)``, which returns a matplotlib figure, and computes no number that readers may quote.
"""

import ast
import functools
import graphlib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, TypeVar

import msgspec
from msgspec import structs

from circlet.errors import ConfigError, did_you_mean
from circlet.study import sources
from circlet.study.registry import path_of
from circlet.study.seeds import PURPOSES

MAX_PANELS = 24  # of a plot, per outcome


class Declarations(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="upper"
):
    """What a module declares, and the function that it must define."""

    function: ClassVar[str]
    has_columns: ClassVar[bool] = False  # COLUMNS, which only code that imports the module reads
    has_caption: ClassVar[bool] = False

    tables: tuple[str, ...]
    """Tables that it needs."""


Use = Literal["captions", "claims", "derived_metrics", "equations", "outcomes"]


class Inputs(Declarations, frozen=True, kw_only=True):
    """What a table or a figure is made from."""

    optional_tables: tuple[str, ...] = ()
    """Tables that it uses if the study has them."""
    roles: tuple[str, ...] = ()
    """Roles that the config must assign under ``reproduce``."""
    optional_roles: tuple[str, ...] | str = ()
    """Roles of which it needs at least one. ``"all"`` stands for all assigned roles, ``"losses"``
    for those that name the table ``losses`` under ``tables``."""
    systems: tuple[str, ...] = ()
    """For targets without roles: the systems whose experiments it uses; by default all."""
    logs: tuple[str, ...] = ()
    """Logs that it reads, of the experiments with these roles or systems."""
    data: tuple[str, ...] = ()
    """Files beside the module whose content counts as its code, or patterns with a ``*``."""
    config: tuple[str, ...] = ()
    """Other keys of the config that it reads, such as ``milestones``."""
    collection_files: tuple[str, ...] = ()
    """Files of the study's collections, such as ``frozen.csv``. Patterns with a ``*``, such as
    ``explorer/*.js``, also match files in collections of other systems."""
    collection_modules: tuple[str, ...] = ()
    """Modules of the study's collections, such as ``run_list.py``, with the tables they read."""
    uses: tuple[Use, ...] = ()
    """What it takes from the study: ``captions`` of figures with descriptions of systems,
    ``claims`` and their tables, the tables of ``derived_metrics`` that the config lists,
    ``equations`` of systems, or the tables that have ``outcomes``."""


class Table(Inputs, frozen=True, kw_only=True):
    """What a table is made from."""

    function = "table"
    has_columns = True
    tables: tuple[str, ...] = ()
    derived_metrics: dict[str, tuple[str, str]] = {}
    """For a table with a row per run and step: the columns that become outcomes, with meaning and
    unit. The table is made only if the config lists it (`Study.derived_metrics`), so a figure that
    reads the table declares ``CONFIG = ("derived_metrics",)``."""


class Figure(Inputs, frozen=True, kw_only=True):
    """What a figure is made from."""

    function = "draw"
    has_caption = True


class PlotKind(Declarations, frozen=True, kw_only=True):
    """A kind of figure that a config can draw for any experiment."""

    function = "draw"
    has_caption = True
    places: tuple[str, ...]
    """Places of swept parameters, of `PLACES`."""
    config: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    least: int = 0
    """Number of swept parameters that it needs."""
    shows: Literal["outcomes", "metrics"] = "outcomes"
    """What is drawn."""
    pools: bool = False
    """Whether it averages over parameters without a place."""
    most_panels: int = MAX_PANELS
    """Most panels per outcome."""


class RunList(Declarations, frozen=True, kw_only=True):
    """What labels of runs in the explorer are made from."""

    function = "runs"
    has_columns = True


class ExplorerData(Declarations, frozen=True, kw_only=True):
    """What data of the explorer are made from."""

    function = "data"


KINDS = {
    "tables": Table,
    "figures": Figure,
    "plots": PlotKind,
    "run_list": RunList,
    "explorer.data": ExplorerData,
}
T = TypeVar("T", bound=Declarations)
_TUPLE = "be a tuple of strings, as in ('runs',)"
_FORMS = {  # what values of a type must do
    tuple[str, ...]: _TUPLE,
    tuple[str, ...] | str: _TUPLE,
    dict[str, tuple[str, str]]: "give the meaning and the unit of each column, as in {'norm': "
    "('norm of the weights', '')}",
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


@functools.cache
def declared(kind: type[T], module: str) -> T:
    """Return the declarations of a module of some kind; raises ConfigError if one is not valid."""
    summary, path = sources.summary(module), path_of(module)
    fields = {field.encode_name: field.required for field in structs.fields(kind)}
    allowed = fields | ({"COLUMNS": True} if kind.has_columns else {})
    upper = [name for name in summary.assigned if name.isupper() and not name.startswith("_")]
    if unknown := [name for name in upper if name not in allowed]:
        raise ConfigError(
            f"{path}: {unknown[0]} is not a declaration ({did_you_mean(unknown[0], allowed)}"
            f"there are: {', '.join(allowed)}); names of other constants must begin with an "
            f"underscore: _{unknown[0]}"
        )
    if missing := [name for name, is_needed in allowed.items() if is_needed and name not in upper]:
        raise ConfigError(f"{path}: does not declare {missing[0]}")
    if kind.function not in summary.functions:
        raise ConfigError(f"{path}: does not define {kind.function}()")
    if kind.has_caption and not summary.docstring:
        raise ConfigError(f"{path}: has no docstring; it is the caption of the figure")
    constants, values = literals(module), dict[str, Any]()
    for field in structs.fields(kind):
        name = field.encode_name
        if name not in upper:
            continue
        if name not in constants:
            raise ConfigError(
                f"{path}: {name} must be a literal, because it is read without importing the module"
            )
        values[field.name] = value = constants[name]
        try:
            msgspec.convert(value, field.type)
            is_valid = not isinstance(value, list | set)  # which would become tuples
        except msgspec.ValidationError:
            is_valid = False
        if not is_valid:
            raise ConfigError(
                f"{path}: {name} must {_FORMS.get(field.type, 'be ' + str(field.type))}"
            )
    return kind(**values)
