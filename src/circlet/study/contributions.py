"""Contributions of collections to targets of circlet: modules, files, tables, and captions."""

from pathlib import Path
from typing import NamedTuple

from circlet.study import plots, registry, sources
from circlet.study.claims_file import claims
from circlet.study.declarations import KINDS, declared, literals
from circlet.study.plan import Study
from circlet.systems.spec import SystemSpec


class Contributions(NamedTuple):
    """Modules, files and tables that collections contribute to a target."""

    modules: list[str]
    files: list[Path]
    tables: list[str]  # that the target may read


def of_collections(module: str, study: Study) -> Contributions:
    """Return what the study's collections contribute to the target of a module."""
    declaration, used = literals(module), study.used_collections
    modules = [m for n in declaration.get("COLLECTION_MODULES", ()) for m in contributed(study, n)]
    tables = [table for module in modules for table in declared_tables(module)]
    files = [
        path
        for pattern in declaration.get("COLLECTION_FILES", ())
        for collection in (study.collections if "*" in pattern else used)
        for path in sorted(collection.folder.glob(pattern))
    ]
    uses = declaration.get("USES", ())
    if "claims" in uses:
        files += [c.folder / "claims.csv" for c in used if (c.folder / "claims.csv").exists()]
        tables += [claim.table for c in used for claim in claims(c)]
    if "outcomes" in uses:
        tables += [outcome.table for name in study.systems for outcome in study.outcomes(name)]
    if "derived_metrics" in uses:
        tables += study.config.derived_metrics
    return Contributions(modules, files, list(dict.fromkeys(tables)))


def contributed(study: Study, file: str) -> list[str]:
    """Return the modules named ``file`` of collections that support the study's systems."""
    parts = Path(file).with_suffix("").parts
    return [
        ".".join([collection.package, *parts])
        for collection in study.collections
        if collection.supports(study.systems) and (collection.folder / file).exists()
    ]


def declared_tables(module: str) -> tuple[str, ...]:
    """Return the tables that a module of a collection, such as its run_list.py, declares."""
    kind = module.removeprefix("circlet.collections.").partition(".")[2]
    tables: tuple[str, ...] = declared(KINDS[kind], module).tables
    return tables


def caption(figure: str, study: Study) -> str:
    """Return the caption of a figure, one line of plain text."""
    plot = plots.named(study, figure)
    module = plot.module if plot else registry.modules(study.collections, "figures")[figure]
    text = sources.summary(module).docstring
    intro = [plots.caption_intro(study, plot)] if plot else []
    return " ".join([*intro, *(text or "").split()])


def description(system: SystemSpec) -> str:
    """Return the first paragraph of the docstring of a system's module, as one line."""
    text = sources.summary(system.module).docstring or ""
    return " ".join(text.split("\n\n")[0].split())
