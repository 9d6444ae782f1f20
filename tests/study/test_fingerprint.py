"""What a fingerprint of code covers."""

import functools
import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import ROOT, SYSTEMS, config_of, output_of
from projects import edit

from circlet.study import fingerprint, planning, registry, targets


@contextmanager
def edited(monkeypatch, path, new=None):
    """Let a file have one more line, or be changed by a function, wherever it is read."""
    assert any(file.as_posix().endswith(path) for file in registry.PACKAGE.rglob("*.*"))
    read, new = Path.read_text, new or ("\n" if path.endswith(".csv") else "x = 1\n")
    change = new if callable(new) else lambda text: f"{text}{new}"

    def changed(self, *arguments, **options):
        text = read(self, *arguments, **options)
        return change(text) if self.as_posix().endswith(path) else text

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", changed)
        fingerprint.forget()
        yield
    fingerprint.forget()


FOLLOWED = {
    "sweeps/tables/scorecard.py": True, "analysis/stats.py": True, "analysis/make.py": True,
    "analysis/association.py": False, "study/targets.py": False,  # for type checkers alone
    "storage/parquet.py": True, "study/points.py": True, "systems/spec.py": True,
    "circlet/__init__.py": True, "storage/__init__.py": True, "study/interventions.py": True,
    "errors.py": False, "config/schema.py": False, "study/registry.py": True,
    "training/run.py": False, "pages/report.py": False, "cli.py": False,
    "ding/tables/survival.py": False, "musat/__init__.py": False,
}  # fmt: skip


def test_what_only_reads_and_checks_is_no_more_than_that():
    decide = ("config.schedules", "config.sweep_values", *(f"study.{name}" for name in (
        "blocks", "claims_file", "contributions", "cost", "declared_systems", "interventions",
        "measured", "milestones", "plan", "plots", "points", "seeds", "swept", "targets",
        "validation")))  # fmt: skip
    assert not fingerprint.CHECKS & {f"circlet.{name}" for name in decide}
    rooms = {module.split(".")[1] for module in fingerprint.CHECKS}
    assert rooms == {"errors", "lazy_import", "config", "study"}


def test_a_fingerprint_follows_all_that_is_imported(monkeypatch):
    """Including code that reads files and plans, because a change of it may drop rows."""
    modules = ("circlet.sweeps.tables.scorecard", "circlet.analysis.make")
    before = fingerprint.digest(*modules)
    for file, counts in FOLLOWED.items():
        with edited(monkeypatch, f"/{file}"):
            after = fingerprint.digest(*modules)
        assert (after != before) == counts, file
    with edited(monkeypatch, "circlet/__init__.py", '__version__ = "9.9.9"\n'):  # a release
        assert fingerprint.digest(*modules) == before


DIGEST = """
import ast
parse, parsed = ast.parse, []
ast.parse = lambda text, **mode: parsed.append(not mode) or parse(text, **mode)
from circlet.study import fingerprint, sources
digest = fingerprint.digest("circlet.sweeps.tables.scorecard")
sources.keep()
print(sum(parsed), digest)
"""


def test_processes_share_summaries_of_sources(tmp_path):
    """A file that is damaged, or of a folder that cannot be written, only costs time."""

    def run(cache=tmp_path):
        """Return how many modules a new process parses, and its fingerprint."""
        number, digest = output_of(DIGEST, env=os.environ | {"XDG_CACHE_HOME": str(cache)}).split()
        return int(number), digest

    number, digest = run()
    assert number > 10
    assert run() == (0, digest)
    [file] = (tmp_path / "circlet/sources").iterdir()
    whole = json.loads(file.read_text())
    for damaged in ("[1]", file.read_text()[:-100], json.dumps(dict.fromkeys(whole, "x"))):
        file.write_text(damaged)
        assert run() == (number, digest)
        assert json.loads(file.read_text()) == whole
    assert run() == (0, digest)
    assert run(file) == (number, digest)


TARGETS = {
    ("tables", "scorecard"): ("musat/claims.csv", "ding/claims.csv", "analysis/make.py",
                              "musat/systems/particles.py"),
    ("tables", "explorer_runs"): ("ding/run_list.py",),
    ("tables", "progress_measures"): ("ding/equations/embedding_mlp.py",),
    ("figures", "weight_magnitudes"): ("plotting/make.py", "plotting/style.py",
                                       "musat/__init__.py"),
    ("pages", "report"): ("pages/report.html", "pages/theme.css", "musat/collection.yaml",
                          "findings/collection.yaml", "ding/claims.csv",
                          "musat/figures/weight_magnitudes.py"),
    ("pages", "explorer"): ("explorer/geometry.js", "musat/explorer/main.js",
                            "odonnat/explorer/data.py"),
}  # fmt: skip


def recaptioned(text):
    return text.replace('"""', '"""New. ', 1)


@functools.cache
def smoke_targets():
    return targets.ordered(planning.plan_file(ROOT / "config/smoke.yaml"))


@pytest.mark.parametrize("target", TARGETS)
def test_targets_follow_what_makes_them_and_what_collections_contribute(monkeypatch, target):
    made = next(t for t in smoke_targets() if (t.kind, t.name) == target)
    before = made.code
    for file in TARGETS[target]:
        with edited(monkeypatch, f"/{file}", recaptioned if "/figures/" in file else None):
            assert targets.code_of(made.kind, made.module, made.study) != before, file


def test_all_files_of_the_explorer_are_in_its_fingerprint(monkeypatch):
    """A file that is read for a fingerprint is in it."""
    page = next(target for target in smoke_targets() if target.name == "explorer")
    read, seen = Path.read_text, set()

    def reading(self, *arguments, **options):
        seen.add(self)
        return read(self, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", reading)
    fingerprint.forget()
    targets.code_of(page.kind, page.module, page.study)
    folders = [
        registry.PACKAGE / "pages/explorer",
        *registry.PACKAGE.glob("collections/*/explorer"),
    ]
    assert len(folders) == 4
    files = [file for folder in folders for file in folder.iterdir()]
    assert {file for file in files if file.suffix in (".js", ".css", ".html")} <= seen


def test_claims_and_systems_that_a_study_does_not_have_do_not_count(monkeypatch):
    def code():
        study = planning.plan_file(ROOT / "config/smoke.yaml")
        part = study.subset(study.of_systems(["particles"]), ["table2"])
        part = planning.decode(part.json)
        return next(t.code for t in targets.tables(part) if t.name == "scorecard")

    before = code()
    for file in ("/ding/claims.csv", "/ding/systems/embedding_mlp.py"):
        with edited(monkeypatch, file):
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
    system = SYSTEMS["particles"]
    before = fingerprint.of_system(system)
    assert old in registry.path_of(system.module).read_text()
    with edited(monkeypatch, "systems/particles.py", lambda text: text.replace(old, new)):
        assert (fingerprint.of_system(system) != before) == is_other


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
        **{f"training/{name}.py": set(SYSTEMS) for name in ("optimizers", "stack", "recorder")},
        **{f"study/{name}.py": set(SYSTEMS) for name in ("seeds", "interventions")},
        "native/__init__.py": set(SYSTEMS),
        "config/schedules.py": set(SYSTEMS),
        # An edit of files, locks, the plan, keys or messages must not invalidate checkpoints.
        **{f"training/{name}.py": set() for name in ("job", "checkpoint")},
        **{f"storage/{name}.py": set() for name in ("parquet", "locks", "files", "provenance")},
        "study/plan.py": set(),
        "analysis/stats.py": set(),
        **{f"config/{name}.py": set() for name in ("experiment", "schema")},
        "study/registry.py": set(),
        "circlet/terminal.py": set(),
    }.items():
        with edited(monkeypatch, f"/{file}"):
            after = codes()
        assert {name for name in after if after[name] != before[name]} == systems, file


CODE = '''"""Doc."""
import circlet.analysis.stats

class A:
    """Doc."""
    key: int = 1
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
    "what it imports": ("distance.py", "axis=1", "axis=-1", True),
    "itself": ("tables/distances.py", "def table", "_MORE = 1\n\n\ndef table", True),
    "its system": ("systems/drift.py", 'integer("Number', 'integer("The number', True),
    "the equations of its system": ("equations/drift.py", "1 - rate", "1.0 - rate", False),
    "a figure of it": ("figures/distances.py", '"o"', '"x"', False),
    "its name": ("collection.yaml", "short: mine", "short: ours", False),
    "its package, which Python runs": ("__init__.py", "", "x = 1\n", True),  # there was none
}


def test_the_fingerprint_of_a_users_table(mine, tmp_path):
    before = code_of(mine)
    assert code_of(shutil.copytree(mine, tmp_path / "moved/mine")) == before
    for case, (file, old, new, counts) in EDITS.items():
        folder = shutil.copytree(mine, tmp_path / case / "mine")
        if old:
            edit(folder / file, old, new)
        else:
            (folder / file).write_text(new)
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
    digests = []
    for name, code in (("same", ""), ("comment", "# A remark.\n"), ("other", "x = 1\n")):
        folder = shutil.copytree(mine, tmp_path / name / "mine")
        (folder / "distance.py").write_text((mine / "distance.py").read_text() + code)
        registry.find([folder])
        digests.append(fingerprint.digest("circlet.collections.mine.tables.distances"))
    assert digests[0] == digests[1] != digests[2]
