"""An edit of any module re-runs all tables, figures and pages that use it, and nothing else.

Snakemake compares the parameters of every job with those of its last run, and the fingerprint of
its code is one of them. So these tests edit one module of a copy of the package at a time, compute
the parameters of all jobs anew in a fresh process, and compare them: Snakemake would take four
seconds for each module. test_workflow.py shows that Snakemake agrees.

Measured on two cores: a second for each module, two minutes in all, beside the smoke study.

Training code is in no fingerprint of a log: logs are made again when the version of a system is
raised (test_workflow.py). So edits of training modules must re-run no job.
"""

import ast
import functools
import json
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, every_module
from projects import project_copy

from circlet.study import declarations, planning, registry, targets

pytestmark = pytest.mark.slow

STUDY = planning.plan_file(ROOT / "config/smoke.yaml")
TARGETS = {f"{target.kind}/{target.name}": target for target in targets.ordered(STUDY)}
PACKAGE = registry.PACKAGE


def path(module: str) -> Path:
    """Return the file of a module, relative to the folder of the package."""
    return registry.path_of(module).relative_to(PACKAGE)


MODULES = every_module()


class Imports(ast.NodeVisitor):
    """Names that a module imports when it runs, without imports for type checkers alone."""

    def __init__(self):
        self.names = set()

    def visit_If(self, node):
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_Import(self, node):
        self.names |= {alias.name for alias in node.names}

    def visit_ImportFrom(self, node):
        assert not node.level, "write the name of the package"
        self.names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}


@functools.cache
def imported(module: str) -> set[str]:
    """Return the modules that a module imports, and its packages, which Python runs first."""
    imports = Imports()
    imports.visit(ast.parse((PACKAGE / path(module)).read_text()))
    parts = module.split(".")
    above = {".".join(parts[:n]) for n in range(1, len(parts))}
    return (imports.names | above) & set(MODULES)


@functools.cache
def closure(module: str) -> frozenset[str]:
    """Return a module and all that it imports from circlet, directly or not."""
    found, todo = set(), {module}
    while todo:
        found |= todo
        todo = set().union(*map(imported, todo)) - found
    return frozenset(found)


def named(target, kind):
    """Return the files that a target asks of all collections: code, or other files."""
    asked = declarations.literals(target.module).get("FROM_COLLECTIONS", ())
    return [name for name in asked if (Path(name).suffix == ".py") == (kind == "code")]


def roots(target) -> set[str]:
    """Return the modules that make a target."""
    made_by = {"tables": {"circlet.analysis.make"}, "figures": {"circlet.plotting.make"}}
    contributed = {
        ".".join([collection.package, *Path(name).with_suffix("").parts])
        for collection in target.study.used_collections
        for name in named(target, "code")
        if (collection.folder / name).exists()
    }
    systems = {target.study.known[name].module for name in target.study.systems}
    if "equations" in declarations.literals(target.module).get("FROM_COLLECTIONS", ()):
        systems |= {target.study.known[name].equations for name in target.study.systems}
    return {target.module} | made_by.get(target.kind, set()) | contributed | systems


CODE = {name: frozenset().union(*map(closure, roots(t))) for name, t in TARGETS.items()}
USED = set().union(*CODE.values())
OWN = {target.module for target in TARGETS.values()} - set().union(*map(imported, MODULES))
# One table, one figure and one page stand for modules that make one target and nothing else.
EXAMPLES = {
    "circlet.sweeps.tables.scorecard",
    "circlet.collections.findings.figures.forecast",
    "circlet.pages.report",
}
SHARED = sorted(USED - OWN | EXAMPLES)
UNUSED = sorted(set(MODULES) - USED)  # training, commands, benchmarks


def downstream(names: set[str]) -> set[str]:
    """Return the names of some targets, and of all that depend on them."""
    found = set(names)
    while True:
        made = {file for name in found for file in TARGETS[name].outputs}
        more = {name for name, target in TARGETS.items() if made & set(target.inputs)}
        if more <= found:
            return found
        found |= more


def data(name: str) -> set[Path]:
    """Return the files, other than modules, of which a target is made."""
    target = TARGETS[name]
    own = {
        file
        for module in CODE[name]
        for pattern in declarations.literals(module).get("DATA", ())
        for file in (PACKAGE / path(module)).parent.glob(pattern)
    }
    return own.union(
        file
        for collection in target.study.used_collections
        for pattern in named(target, "data")
        for file in collection.folder.glob(pattern)
    )


def edited(text: str) -> str:
    """Return a module's code with one more statement, in its first function if it has one."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.body[-1].col_offset:
            body = node.body[1:] if ast.get_docstring(node) and node.body[1:] else node.body
            at = min([body[0].lineno] + [d.lineno for d in getattr(body[0], "decorator_list", [])])
            lines.insert(at - 1, " " * body[0].col_offset + "edited = True\n")
            return "".join(lines)
    return f"{text}\nedited = True\n"


# A process that reads lines with texts of some files, and answers with the parameters of all jobs
# for these texts. Each answer is from a fork that plans afresh. Modules imported and parsed before
# the fork save time.
JOBS = """
import json, os, sys
from pathlib import Path
from circlet.study import fingerprint, planning, registry, sources, targets

for file in registry.PACKAGE.rglob("*.py"):
    parts = file.relative_to(registry.PACKAGE.parent).with_suffix("").parts
    sources.summary(".".join(part for part in parts if part != "__init__"))
for line in sys.stdin:
    texts = {Path(file): text for file, text in json.loads(line).items()}
    before = {file: file.read_text() for file in texts}
    for file, text in texts.items():
        file.write_text(text)
    reader, writer = os.pipe()
    if not os.fork():
        fingerprint.forget()
        study = planning.plan_file("config/smoke.yaml")
        said = {
            f"{target.kind}/{target.name}": [target.study.json, target.code]
            for target in targets.ordered(study)
        }
        said["logs"] = [[block.study, block.point.version] for block in study.blocks]
        with open(writer, "w") as answer:
            json.dump(said, answer)
        os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        said = answer.read()
    os.wait()
    for file, text in before.items():
        file.write_text(text)
    print(said or "{}", flush=True)  # nothing was said: the edit broke it
"""


class Copy:
    """A copy of the project, in which files are edited only until the jobs are computed."""

    def __init__(self, folder: Path):
        self.package = folder / "src/circlet"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = project_copy(folder).begin("-c", JOBS, **pipes)
        self.before = self.jobs({})

    def jobs(self, texts):
        """Return the parameters of all jobs if some files of the package had other texts."""
        asked = json.dumps({str(self.package / file): text for file, text in texts.items()})
        print(asked, file=self.process.stdin, flush=True)
        said = json.loads(self.process.stdout.readline())
        assert said.keys() == TARGETS.keys() | {"logs"}, f"edits of {list(texts)} broke the plan"
        return said

    def would_run(self, edit, *files):
        """Return the targets (and ``logs``) that an edit of some files of the package re-runs."""
        texts = {file: edit((self.package / file).read_text()) for file in files}
        after = self.jobs(texts)
        changed = {name for name, said in after.items() if said != self.before[name]}
        return {"logs"} & changed | downstream(changed - {"logs"})


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    copy = Copy(tmp_path_factory.mktemp("package"))
    yield copy
    copy.process.stdin.close()
    copy.process.stdout.close()
    copy.process.wait()


@pytest.mark.parametrize("module", SHARED)
def test_edited_code_re_runs_exactly_what_uses_it(copy, module):
    users = {target for target in TARGETS if module in CODE[target]}
    assert copy.would_run(edited, path(module)) == downstream(users)


def test_comments_in_all_modules_re_run_nothing(copy):
    files = map(path, MODULES)
    assert copy.would_run(lambda text: f"# A remark.\n{text}\n# Another.\n", *files) == set()


def test_edited_code_of_training_and_commands_re_runs_nothing(copy):
    assert {"circlet.training.run", "circlet.training.optimizers", "circlet.cli"} <= set(UNUSED)
    assert "circlet.collections.musat.equations.particles" in UNUSED
    assert copy.would_run(edited, *map(path, UNUSED)) == set()


FILES = (
    "collections/musat/claims.csv", "collections/odonnat/collection.yaml",
    "collections/findings/collection.yaml", "collections/musat/explorer/main.js",
    "pages/report.html", "pages/theme.css", "pages/explorer/geometry.js",
)  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_an_edited_file_of_data_re_runs_what_reads_it(copy, file):
    must_run = downstream({name for name in TARGETS if PACKAGE / file in data(name)})
    assert must_run
    assert copy.would_run(lambda text: f"{text}\n", file) == must_run


def test_an_edited_caption_re_runs_the_report(copy):
    """The caption is no part of the figure."""
    file = path("circlet.collections.findings.figures.forecast")
    assert copy.would_run(lambda text: text.replace('"""', '"""New. ', 1), file) == {"pages/report"}


def test_all_files_of_the_explorer_are_in_its_fingerprint():
    used = data("pages/explorer")
    ends = (".js", ".css", ".html")
    folders = [PACKAGE / "pages/explorer", *PACKAGE.glob("collections/*/explorer")]
    assert len(folders) > 1
    for folder in folders:
        assert {file for file in folder.iterdir() if file.suffix in ends} <= used, folder
