"""Which modules may import which, and what a fingerprint of code covers."""

import ast
import functools
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, SYSTEMS, config_of

from circlet.study import fingerprint, planning, registry, targets

PACKAGE = registry.PACKAGE
BASE = ("", "errors", "lazy_import", "config", "study")
FILES = (*BASE, "storage")
SPEC = ("systems.spec", "systems.parameters")
# Other modules of circlet that the modules of a room (a part of the package) may import. The first
# room that fits counts; * stands for any name. A module in no room fails.
ROOMS = {
    "config": ("errors", "lazy_import"),
    "study": ("", "errors", "lazy_import", "native", "config", *SPEC),
    "storage": (*BASE, "systems.spec"),
    "systems": ("", "study.seeds"),
    "native": ("errors",),
    "training": (*FILES, "systems", "native"),
    "analysis": (*FILES, "systems"),
    "plotting": FILES,
    "collections.*.systems": (*SPEC, "systems"),
    "collections.*.starts": ("native", "study.seeds"),
    "collections.*.equations": ("systems", "study.seeds", "collections.*.starts"),
    "collections.*.peers": ("bench.peers",),
    "collections.*.figures": (*FILES, "analysis", "plotting", "collections.*"),
    "collections.*": (*FILES, "systems", "analysis", "plotting"),
    "collections": (),
    "sweeps.plots": (*FILES, "systems.spec", "plotting", "sweeps"),
    "sweeps.commands": (*FILES, "systems.spec", "terminal"),
    "sweeps": (*FILES, "systems.spec", "analysis", "plotting"),
    "pages": (
        *FILES,
        "systems.spec",
        "analysis.claims",
        "analysis.verdicts",
        "analysis.log_frames",
        "terminal",
    ),
    "terminal": (*FILES, "analysis.claims", "native"),
    "watch": (*FILES, "terminal"),
    "usage": (*FILES, "terminal"),
    "build": BASE,
    "bench": (*FILES, "systems", "training", "native", "terminal"),
    "compare": FILES,
    "frozen": (*FILES, "analysis.log_frames", "analysis.make", "compare"),
    "publish": (*FILES, "pages.experiments"),
    "new": FILES,
    "check": (*FILES, "systems", "training", "build"),
    "commands": (*FILES, "build", "terminal", "usage"),
    "cli": (*FILES, "commands"),
    "notify": BASE,
    "job_requests": FILES,
    "pipeline": (*FILES, "notify", "terminal", "watch", "job_requests"),
    "__main__": ("", "errors", "cli"),
    "errors": (),
    "lazy_import": (),
    "": ("storage.results",),
}
HEAVY = {"torch", "pandas", "pyarrow", "matplotlib", "scipy"}


def every_module():
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__")


MODULES = sorted(every_module())


@functools.cache
def imported(module):
    """Return all names that a module imports; a package only if the import names nothing in it."""
    found = set()
    for node in ast.walk(ast.parse(registry.path_of(module).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "write the name of the package"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & set(MODULES) or {node.module}
    return found


@functools.cache
def closure(module):
    """Return all modules that a module imports, directly or not, except for type checkers alone."""
    found = set()
    todo = {module}
    while todo:
        found |= todo
        todo = set().union(*map(fingerprint.imports, todo)) - found
    return found


def fits(name, room):
    """Return whether a module, by its name in circlet, is in a room."""
    pattern = re.escape(room).replace(r"\*", r"\w+")
    return re.fullmatch(rf"{pattern}(\..*)?" if room else "", name)


def short(module):
    return module.partition(".")[2]


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_to_the_ground(module):
    room = next(room for room in ROOMS if fits(short(module), room))
    own = re.match(r"collections\.\w+", short(module))  # a collection may import only its own parts
    allowed = [name.replace("collections.*", own[0]) if own else name for name in ROOMS[room]]
    here = room.replace("collections.*", own[0]) if own else room
    for name in imported(module):
        if name.split(".")[0] == "circlet":
            assert any(fits(short(name), place) for place in (here, *allowed)), name


@pytest.mark.parametrize("file", [
    *(ROOT / "workflow").rglob("*.smk"), ROOT / "Snakefile", ROOT / "workflow/Snakefile",
    ROOT / "src/circlet/pipeline.py", *(ROOT / "src/snakemake_logger_plugin_circlet").glob("*.py"),
], ids=lambda file: file.name)  # fmt: skip
def test_of_snakemake_only_public_names_are_read_and_none_is_set(file):
    text = file.read_text()
    assert not re.findall(r"(?<!self)\._[a-z]\w*", text)
    assert not re.search(r"setattr|getHandler|\bvars\(", text)
    assert not re.search(r"\bworkflow(?:\.\w+)+ = ", text)


@pytest.mark.parametrize("module", [m for m in MODULES if re.search(r"\.(table|figure)s\.", m)])
def test_what_tables_and_figures_do_without(module):
    """Figures draw what tables hold, so they need no equations."""
    others = ["training", "bench", "pages", "cli", "build"]
    others += ["analysis.make", r".*\.equations"] if ".figures." in module else ["plotting"]
    assert not [m for m in closure(module) if re.match(rf"({'|'.join(others)})\b", short(m))]


@pytest.mark.parametrize("module", [m for m in MODULES if short(m).startswith("pages")])
def test_pages_read_tables(module):
    text = registry.path_of(module).read_text()
    assert not re.search(r"read_log|read_weights|\.log\(", text)
    used = (".systems.", ".equations.", ".training.", ".sweeps")
    assert not [m for m in closure(module) if any(f"{part}" in m for part in used)
                and short(m) not in SPEC]  # fmt: skip


@pytest.mark.parametrize("module", [m for m in MODULES if ".equations" in m or ".systems" in m])
def test_equations_need_torch_numpy_and_jaxtyping_alone(module):
    others = {name.split(".")[0] for name in imported(module)} - sys.stdlib_module_names
    assert others <= {"circlet", "jaxtyping", "numpy", "torch"}


def test_nothing_imports_the_command_line_but_what_starts_it():
    assert [m for m in MODULES if "circlet.cli" in imported(m)] == ["circlet.__main__"]


def test_the_package_knows_no_snakemake():
    """Except for the type of the object that its rules pass."""
    for module in MODULES:
        names = {name for name in imported(module) if name.split(".")[0] == "snakemake"}
        gets_it = module in ("circlet.job_requests", "circlet.pipeline")
        assert names == ({"snakemake.workflow"} if gets_it else set()), module


def test_planning_imports_nothing_heavy(mine, tmp_path):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config_of(mine)))
    code = (
        "import sys\n"
        "from circlet.study import planning, targets\n"
        "for path in sys.argv[1:]:\n"
        "    [target.key for target in targets.ordered(planning.plan_file(path))]\n"
        f"print(*sorted({HEAVY} & set(sys.modules)))"
    )
    paths = [str(ROOT / "config/standard.yaml"), str(tmp_path / "mine.yaml")]
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split() == []


def test_the_command_plan_imports_no_more_than_it_needs():
    code = (
        "import sys\n"
        "from circlet.cli import main\n"
        "main(['plan', '--configfile', sys.argv[1]])\n"
        f"print(*sorted({HEAVY - {'pyarrow'}} & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, str(ROOT / "config/config.yaml")]
    assert subprocess.run(command, capture_output=True, text=True).stderr.split() == []


@contextmanager
def edited(monkeypatch, path, new=None):
    """Let a file have one more line wherever it is read."""
    read, new = Path.read_text, new or ("\n" if path.endswith(".csv") else "x = 1\n")

    def changed(self, *arguments, **options):
        text = read(self, *arguments, **options)
        return f"{text}{new}" if self.as_posix().endswith(path) else text

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", changed)
        fingerprint.forget()
        yield
    fingerprint.forget()


FOLLOWED = {
    "sweeps/tables/scorecard.py": True, "analysis/stats.py": True, "analysis/log_frames.py": False,
    "storage/parquet.py": True, "study/points.py": True, "systems/spec.py": True,
    "circlet/__init__.py": True, "storage/__init__.py": True, "errors.py": True,
    "training/run.py": False, "pages/report.py": False, "cli.py": False,
    "ding/tables/survival.py": False, "musat/__init__.py": False,
}  # fmt: skip


def test_a_fingerprint_follows_all_that_is_imported(monkeypatch):
    """Including code that reads files and plans, because a change of it may drop rows."""
    before = fingerprint.digest("circlet.sweeps.tables.scorecard")
    for file, counts in FOLLOWED.items():
        with edited(monkeypatch, f"/{file}"):
            found = fingerprint.digest("circlet.sweeps.tables.scorecard")
        assert (found != before) == counts, file


def test_comments_in_any_module_change_no_fingerprint(monkeypatch):
    before = fingerprint.digest(*MODULES)
    with edited(monkeypatch, ".py", "# A remark.\n"):
        assert fingerprint.digest(*MODULES) == before


@pytest.mark.parametrize(("key", "is_code"), [("description", False), ("ge", True)])
def test_the_description_of_a_key_is_no_code(monkeypatch, key, is_code):
    value = "5" if is_code else '"More than one."'
    digests = set()
    for arguments in ("", f"{key}={value}"):
        with edited(monkeypatch, "config/model.py", f"x = Annotated[int, Meta({arguments})]\n"):
            digests.add(fingerprint.digest("circlet.config.model"))
    assert len(digests) == 1 + is_code


def test_a_release_changes_no_fingerprint(monkeypatch):
    before = fingerprint.digest("circlet.sweeps.tables.scorecard")
    with edited(monkeypatch, "circlet/__init__.py", '__version__ = "9.9.9"\n'):
        assert fingerprint.digest("circlet.sweeps.tables.scorecard") == before


def test_a_package_counts_for_what_is_below_it(monkeypatch):
    """Python runs the package, though the folders in between have no code."""
    name = "circlet.collections.musat.tables.pair_sums"
    before = fingerprint.digest(name)
    with edited(monkeypatch, "/musat/__init__.py"):
        assert fingerprint.digest(name) != before


def test_data_files_are_in_the_digest(monkeypatch):
    before = fingerprint.digest("circlet.pages.report")
    for file in ("pages/report.html", "pages/theme.css"):  # a file of the package above, too
        with edited(monkeypatch, f"/{file}"):
            assert fingerprint.digest("circlet.pages.report") != before


TARGETS = {
    ("tables", "scorecard"): ("musat/claims.csv", "ding/claims.csv", "analysis/make.py",
                              "musat/systems/particles.py"),
    ("tables", "explorer_runs"): ("ding/run_list.py",),
    ("figures", "weight_magnitudes"): ("plotting/make.py", "plotting/style.py"),
    ("pages", "report"): ("musat/collection.yaml", "findings/collection.yaml", "ding/claims.csv"),
}  # fmt: skip


@functools.cache
def smoke_targets():
    return targets.ordered(planning.plan_file(ROOT / "config/smoke.yaml"))


@pytest.mark.parametrize("target", TARGETS)
def test_targets_follow_what_makes_them_and_what_collections_contribute(monkeypatch, target):
    made = next(t for t in smoke_targets() if (t.kind, t.name) == target)
    for file in TARGETS[target]:
        with edited(monkeypatch, f"/{file}"):
            assert targets.code_of(made.kind, made.module, made.study) != made.code, file


def test_claims_of_papers_that_a_study_does_not_ask_do_not_count(monkeypatch):
    def code():
        study = planning.plan_file(ROOT / "config/smoke.yaml")
        part = study.part(study.of_systems(["particles"]), ["table2"])
        part = planning.decode(part.json)
        return next(t.code for t in targets.tables(part) if t.name == "scorecard")

    before = code()
    with edited(monkeypatch, "/ding/claims.csv"):
        assert code() == before
    with edited(monkeypatch, "/musat/claims.csv"):
        assert code() != before


@pytest.mark.parametrize(
    ("old", "new", "is_other"),
    [
        ('"norm_ratio": "norm ratio"', '"norm_ratio": "largest / smallest"', False),
        ('"sums", "signals"', '"signals"', False),
        ('opens_with="circle"', 'opens_with="grid"', False),
        ("step_size", "stepsize", True),
    ],
)
def test_what_pages_show_of_a_system_does_not_count_as_its_code(monkeypatch, old, new, is_other):
    system, read = SYSTEMS["particles"], Path.read_text
    before = fingerprint.of_system(system)

    def changed(self, *arguments, **options):
        text = read(self, *arguments, **options)
        if not self.as_posix().endswith("systems/particles.py"):
            return text
        assert old in text
        return text.replace(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", changed)
        fingerprint.forget()
        found = fingerprint.of_system(system)
    fingerprint.forget()
    assert (found != before) == is_other


def test_the_fingerprint_of_a_systems_runs_follows_what_decides_their_numbers(monkeypatch):
    def codes():
        return {name: fingerprint.of_system(system) for name, system in SYSTEMS.items()}

    before = codes()
    for file, systems in {
        "musat/systems/particles.py": {"particles"},
        "musat/equations/particles.py": {"particles"},
        "ding/equations/embedding_mlp.py": {"embedding_mlp"},
        "systems/matmul.py": {"embedding_mlp"},
        "systems/loss.py": set(SYSTEMS) - {"particles"},
        "training/optimizers.py": set(SYSTEMS),
        "study/seeds.py": set(SYSTEMS),
        "analysis/stats.py": set(),
        "circlet/terminal.py": set(),
    }.items():
        with edited(monkeypatch, f"/{file}"):
            found = codes()
        assert {name for name in found if found[name] != before[name]} == systems, file


CODE = '''"""Doc."""
import circlet.analysis.stats

class A:
    """Doc."""
    async def f(x):
        """Doc."""
        return x + 1

def g(x):
    """Doc."""
'''
SAME = {
    "other docstrings": ('Doc.', 'Text.'), "no docstring": ('"""Doc."""\nimport', "import"),
    "comments": ("return x + 1", "# why\n        return x + 1  # so"),
    "layout": ("return x + 1", "return (x +\n\n            1)"),
    "quotes": ('"""Doc."""', "'Doc.'"),
}  # fmt: skip
OTHER = {
    "a value": ("x + 1", "x + 2"), "a type": ("x + 1", "x + 1.0"), "a sign": ("x + 1", "x - 1"),
    "a name": ("f(x)", "f(y)"), "a decorator": ("def g", "@property\ndef g"),
    "an order": ("class A:", "class A(object):"), "a default": ("g(x)", "g(x=None)"),
    "a text": ("return x + 1", "return 'Doc.'"), "an import": (".stats", ".claims"),
    "nesting": ("\ndef g(x):\n    ", "\n    def g(x):\n        "),
}  # fmt: skip


@pytest.mark.parametrize("case", SAME | OTHER)
def test_what_python_does_counts_and_nothing_else(mine, tmp_path, case):
    def digest(folder, text):
        folder = shutil.copytree(mine, folder / "mine")
        (folder / "module.py").write_text(text)
        registry.find([folder])
        return fingerprint.digest("circlet.collections.mine.module")

    old, new = (SAME | OTHER)[case]
    assert old in CODE
    before, after = digest(tmp_path / "a", CODE), digest(tmp_path / "b", CODE.replace(old, new))
    assert (before == after) == (case in SAME)


def code_of(folder, name="mine.distances"):
    """Return the fingerprint of a user's table."""
    study = planning.plan(config_of(folder))
    return next(target.code for target in targets.tables(study) if target.name == name)


EDITS = {
    "a comment": ("distance.py", "import numpy", "# A remark.\nimport numpy", False),
    "a docstring": ("distance.py", "Mean distance", "Average distance", False),
    "what it imports": ("distance.py", "axis=1", "axis=-1", True),
    "itself": ("tables/distances.py", "def table", "_MORE = 1\n\n\ndef table", True),
    "its system": ("systems/drift.py", 'integer("Number', 'integer("The number', True),
    "the equations of its system": ("equations/drift.py", "1 - rate", "1.0 - rate", False),
    "a figure of it": ("figures/distances.py", '"o"', '"x"', False),
    "its name": ("collection.yaml", "short: mine", "short: ours", False),
}


def test_the_fingerprint_of_a_users_table(mine, tmp_path):
    before = code_of(mine)
    assert code_of(shutil.copytree(mine, tmp_path / "moved/mine")) == before
    for case, (file, old, new, counts) in EDITS.items():
        folder = shutil.copytree(mine, tmp_path / case / "mine")
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))
        assert (code_of(folder) != before) == counts, case


@pytest.mark.parametrize(("new", "call"), [
    ("from .. import distance", "distance.of"), ("from ..distance import of", "of"),
    ("from ..distance import of as distance_of", "distance_of"),
    ("import circlet.collections.mine.distance as far", "far.of"),
])  # fmt: skip
def test_relative_imports_are_followed(mine, tmp_path, new, call):
    table = mine / "tables/distances.py"
    text = table.read_text().replace("distance.of", call)
    table.write_text(text.replace("from circlet.collections.mine import distance", new))
    found = []
    for name, code in (("same", ""), ("comment", "# A remark.\n"), ("other", "x = 1\n")):
        folder = shutil.copytree(mine, tmp_path / name / "mine")
        (folder / "distance.py").write_text((mine / "distance.py").read_text() + code)
        registry.find([folder])
        found.append(fingerprint.digest("circlet.collections.mine.tables.distances"))
    assert found[0] == found[1] != found[2]


def test_an_init_of_a_users_collection_counts(mine, tmp_path):
    other = shutil.copytree(mine, tmp_path / "other/mine")
    (other / "__init__.py").write_text("x = 1\n")
    assert code_of(other) != code_of(mine)
