"""The tables and figures of a study: what each is made from, as its own module declares.

A module of ``analysis`` or ``figures`` that declares ``TABLES`` makes one product, of its own
name, from the inputs in these literals:

``TABLES``
    tables that it needs; ``OPTIONAL_TABLES`` are used if the study has them;
``ROLES``
    entries of the config's ``reproduce`` that must be there; of ``OPTIONAL_ROLES`` at least one,
    where ``"all"`` stands for every entry;
``SYSTEMS``
    without roles: the systems whose experiments it is about; all, if it does not say;
``LOGS``
    logs that it reads, of the experiments with these roles or systems.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

from circlet import config as configuration
from circlet import source
from circlet.errors import LogError
from circlet.plan import Study

# Tables that the report page and the explorer read.
REPORTED = ("scorecard", "runs", "structure_summary", "provenance")
EXPLORED = ("explorer_runs", "explorer_states", "ode_coefficients")


@dataclass(frozen=True)
class Product:
    """A table or a figure of a study."""

    name: str
    module: str
    study: Study  # the part of the study that it depends on
    tables: tuple["Product", ...]  # those that it is made from
    inputs: list[Path]
    outputs: list[Path]

    @property
    def kind(self) -> str:
        """What it is, by the package of its module: ``analysis``, ``figures`` or ``pages``."""
        return self.module.split(".")[1]

    @property
    def footer(self) -> dict:
        """What the footer of its file says of its config, its code and its tables."""
        own = self.study.config["experiments"]
        missing = sum(len(names) for (e, _), names in self.study.missing.items() if e in own)
        made = {"study": self.study.config, "code": self.code, "key": self.key}
        return made | ({"missing_blocks": missing} if missing else {})

    @cached_property
    def key(self) -> str:
        """Fingerprint of all that it is made from: config, code, and the keys of its tables."""
        missing = sorted((*point, sorted(names)) for point, names in self.study.missing.items())
        made = [self.module, self.study.config, missing, self.code, self.table_keys]
        return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def table_keys(self) -> dict[str, str]:
        """Keys that its tables must have: those that the job was given, or else as planned."""
        return {t.name: self.study.keys.get(t.name) or t.key for t in self.tables}

    def check_code(self) -> None:
        """Raise LogError if the code that makes it was edited since its fingerprint was taken."""
        if source.edited() and source.digest(self.module) != self.code:
            raise LogError(
                f"{self.name}: the code of circlet was edited after this job had started; run again"
            )

    @cached_property
    def code(self) -> str:
        """Fingerprint of the code that makes it."""
        return source.digest(self.module)

    @property
    def memory_mb(self) -> int:
        """Memory that its job needs: one record of every run of the logs that it reads."""
        logs = source.literals(self.module).get("LOGS", ())
        return 1000 + math.ceil(
            sum(
                point.count * point.record_bytes(kind)
                for point in (self.study.points if logs else ())
                for kind in set(logs) & set(point.logs)
            )
            / 1e6
        )

    @property
    def job_log(self) -> Path:
        """Text log of the job that makes it."""
        return self.study.results / "job_logs" / self.kind / f"{self.name}.log"


@cache
def _declared(package: str) -> dict[str, dict]:
    found = {name: source.literals(f"circlet.{package}.{name}") for name in source.modules(package)}
    return {name: literals for name, literals in found.items() if "TABLES" in literals}


def _roles(declared: dict, study: Study) -> list[str]:
    optional = declared.get("OPTIONAL_ROLES", ())
    wanted = study.reproduce if optional == "all" else (*declared.get("ROLES", ()), *optional)
    return [role for role in wanted if role in study.reproduce]


def _experiments(declared: dict, study: Study) -> list[str]:
    """Names of the experiments that a product is about; none if the study lacks what it needs."""
    if "ROLES" in declared or "OPTIONAL_ROLES" in declared:
        roles = _roles(declared, study)
        needed = set(declared.get("ROLES", ()))
        has_optional = "OPTIONAL_ROLES" not in declared or bool(set(roles) - needed)
        complete = needed <= set(roles) and has_optional
        return [study.reproduce[role] for role in roles] if complete else []
    return study.of_systems(declared.get("SYSTEMS", study.systems))


def _possible(package: str, name: str, study: Study, made: set[str]) -> bool:
    """Whether the study has what a product needs, given the tables that it has."""
    declared = _declared(package)[name]
    return set(declared["TABLES"]) <= made and bool(_experiments(declared, study))


def _made(study: Study) -> set[str]:
    """Names of the tables that the study yields."""
    made: set[str] = set()
    while new := {n for n in _declared("analysis") if _possible("analysis", n, study, made)} - made:
        made |= new
    return made


def _product(package: str, name: str, study: Study, made: dict[str, Product]) -> Product:
    declared = _declared(package)[name]
    part = study.part(_experiments(declared, study), _roles(declared, study))
    logs = [
        block.log(kind)
        for block in (part.blocks if "LOGS" in declared else ())
        for kind in declared["LOGS"]
        if kind in block.point.logs
    ]
    optional = [table for table in declared.get("OPTIONAL_TABLES", ()) if table in made]
    tables = tuple(made[table] for table in (*declared["TABLES"], *optional))
    if package == "analysis":
        outputs = [study.table(name)]
    else:
        outputs = [study.folder / "figures" / f"{name}.{end}" for end in ("svg", "png")]
    inputs = logs + [table.outputs[0] for table in tables]
    return Product(name, f"circlet.{package}.{name}", part, tables, inputs, outputs)


def names(study: Study) -> tuple[list[str], list[str]]:
    """Names of the tables and of the figures that the study yields, without their inputs."""
    made = _made(study)
    return sorted(made), [n for n in _declared("figures") if _possible("figures", n, study, made)]


def tables(study: Study) -> list[Product]:
    """All tables that the study yields, by name."""
    return [product for _, product in sorted(_tables(study).items())]


@lru_cache(maxsize=8)
def _tables(study: Study) -> dict[str, Product]:
    """All tables that the study yields, by name, each after those that it is made from."""
    waiting, made = _made(study), {}
    while waiting:
        for name in sorted(waiting):
            declared = _declared("analysis")[name]
            reads = {*declared["TABLES"], *declared.get("OPTIONAL_TABLES", ())}
            if not reads & waiting:
                made[name] = _product("analysis", name, study, made)
        waiting -= made.keys()
    return made


def ordered(study: Study) -> list[Product]:
    """All products of a study, each after those that it is made from."""
    return [*_tables(study).values(), *figures(study), report(study), explorer(study)]


def behind(product: Product) -> list[Product]:
    """A product and all tables that it is made from, directly or not."""
    found = [product]
    for child in found:  # grows as it goes
        found += [table for table in child.tables if table not in found]
    return found


def figures(study: Study) -> list[Product]:
    """All figures that the study yields."""
    made, (_, possible) = _tables(study), names(study)
    return [_product("figures", name, study, made) for name in possible]


def caption(figure: str) -> str:
    """Caption of a figure, one line of plain text, as in the workflow's report."""
    path = configuration.SCHEMA.parents[1] / "report" / f"{figure}.rst"
    return " ".join(path.read_text(encoding="utf-8").split())


def report(study: Study) -> Product:
    """The report page of the study."""
    return _page("report", study, REPORTED, [figure.outputs[0] for figure in figures(study)])


def explorer(study: Study) -> Product:
    """The explorer page of the study."""
    return _page("explorer", study, EXPLORED)


def _page(name: str, study: Study, reads: tuple[str, ...], shown: Sequence[Path] = ()) -> Product:
    """A page, made from some tables, as far as the study yields them, and some figures."""
    tables = tuple(table for table in _tables(study).values() if table.name in reads)
    inputs = [table.outputs[0] for table in tables] + [*shown]
    outputs = [study.folder / f"{name}.html"]
    return Product(name, f"circlet.pages.{name}", study, tables, inputs, outputs)
