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

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from circlet import config as configuration
from circlet import source
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
    inputs: list[Path]
    outputs: list[Path]

    @property
    def footer(self) -> dict:
        """What the footer of its file says of its config and code."""
        own = self.study.config["experiments"]
        missing = sum(len(names) for (e, _), names in self.study.missing.items() if e in own)
        partial = {"missing_blocks": missing} if missing else {}
        return {"study": self.study.config, "code": self.code} | partial

    @property
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
        kind = self.module.split(".")[1]
        return self.study.results / "job_logs" / kind / f"{self.name}.log"


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


def _product(package: str, name: str, study: Study, made: set[str]) -> Product:
    declared = _declared(package)[name]
    part = study.part(_experiments(declared, study), _roles(declared, study))
    logs = [
        block.log(kind)
        for block in (part.blocks if "LOGS" in declared else ())
        for kind in declared["LOGS"]
        if kind in block.point.logs
    ]
    optional = [table for table in declared.get("OPTIONAL_TABLES", ()) if table in made]
    if package == "analysis":
        outputs = [study.table(name)]
    else:
        outputs = [study.folder / "figures" / f"{name}.{end}" for end in ("svg", "png")]
    inputs = logs + [study.table(table) for table in (*declared["TABLES"], *optional)]
    return Product(name, f"circlet.{package}.{name}", part, inputs, outputs)


def tables(study: Study) -> list[Product]:
    """All tables that the study yields."""
    made = _made(study)
    return [_product("analysis", name, study, made) for name in sorted(made)]


def ordered(study: Study) -> list[Product]:
    """All products of a study, each after those that it is made from."""
    waiting, found = tables(study), []
    own = {path for table in waiting for path in table.outputs}
    while waiting:
        ready = [t for t in waiting if not own & set(t.inputs)]
        own -= {path for table in ready for path in table.outputs}
        waiting = [t for t in waiting if t not in ready]
        found += ready
    return [*found, *figures(study), report(study), explorer(study)]


def behind(product: Product, study: Study) -> list[Product]:
    """A product and all tables that it is made from, directly or not."""
    found, every = [product], tables(study)
    for child in found:  # grows as it goes
        found += [t for t in every if t not in found and t.outputs[0] in child.inputs]
    return found


def figures(study: Study) -> list[Product]:
    """All figures that the study yields."""
    made = _made(study)
    possible = (n for n in _declared("figures") if _possible("figures", n, study, made))
    return [_product("figures", name, study, made) for name in possible]


def caption(figure: str) -> str:
    """Caption of a figure, one line of plain text, as in the workflow's report."""
    path = configuration.SCHEMA.parents[1] / "report" / f"{figure}.rst"
    return " ".join(path.read_text(encoding="utf-8").split())


def _outputs(study: Study, names: tuple[str, ...]) -> list[Path]:
    """Paths of some tables, as far as the study yields them."""
    return [path for table in tables(study) if table.name in names for path in table.outputs]


def report(study: Study) -> Product:
    """The report page of the study."""
    read = _outputs(study, REPORTED)
    shown = [output for figure in figures(study) for output in figure.outputs[:1]]
    inputs = read + shown
    outputs = [study.folder / "report.html"]
    return Product("report", "circlet.pages.report", study, inputs, outputs)


def explorer(study: Study) -> Product:
    """The explorer page of the study."""
    outputs = [study.folder / "explorer.html"]
    inputs = _outputs(study, EXPLORED)
    return Product("explorer", "circlet.pages.explorer", study, inputs, outputs)
