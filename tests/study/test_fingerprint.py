import ast
import subprocess
import sys

import pytest

from circlet.study import declarations

LAYERS = {
    # What a part of the package may import, besides the ground floor.
    "systems": {"systems"},
    "training": {"training", "systems"},
    "analysis": {"analysis", "systems"},
    "figures": {"figures"},
    "pages": {"pages"},
}
GROUND = {
    "checks", "config", "errors", "fourier", "interventions", "io", "limits", "locks", "loss",
    "matmul", "plan", "points", "products", "progress", "schedules", "schema", "seeds", "source",
    "starts", "tables",
}  # fmt: skip

# Above all layers; nothing imports the command line but what starts it.
ABOVE = {"__main__", "bench", "cli", "compare", "jobs", "sandbox", "view"}


def part(module):
    return module.split(".")[1] if "." in module else ""


def every_module():
    for path in declarations.PACKAGE.rglob("*.py"):
        relative = path.relative_to(declarations.PACKAGE).with_suffix("")
        yield ".".join(["circlet", *(p for p in relative.parts if p != "__init__")])


@pytest.mark.parametrize("module", sorted(every_module()))
def test_imports_point_to_the_ground(module):
    imported = {part(name) for name in declarations.imports(module)} - {""}
    here = part(module)
    if here in GROUND or here == "":
        allowed = GROUND | ({"cli"} if here == "__main__" or module == "circlet" else set())
    elif here in ABOVE:
        allowed = GROUND | set(LAYERS) | ABOVE - ({"cli"} if here != "__main__" else set())
    else:
        allowed = GROUND | LAYERS[here] | ({"view"} if here == "pages" else set())
    assert imported <= allowed, f"{module} imports {imported - allowed}"


def test_the_package_knows_no_snakemake():
    for module in every_module():
        for node in ast.walk(ast.parse(declarations._path(module).read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("snakemake") for name in names), module


def test_planning_imports_nothing_heavy():
    code = (
        "import sys; from circlet import products; from circlet.study.plan import Study;"
        "study = Study.read('config/config.yaml'); [p.code for p in products.figures(study)];"
        "heavy = {'torch', 'pandas', 'pyarrow', 'matplotlib', 'scipy'};"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=declarations.PACKAGE.parents[1],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.split() == []


def digest_of(monkeypatch, tmp_path, text):
    (tmp_path / "__init__.py").touch()
    (tmp_path / "module.py").write_text(text)
    monkeypatch.setattr(declarations, "PACKAGE", tmp_path)
    declarations.forget()
    try:
        return declarations.digest("circlet.module")
    finally:
        declarations.forget()


def test_digest_sees_code_and_not_comments(monkeypatch, tmp_path):
    plain = digest_of(monkeypatch, tmp_path, 'def f(x):\n    """Doc."""\n    return x + 1\n')
    commented = 'def f(x):\n    """Other."""\n    # why\n    return (x +\n        1)\n'
    assert digest_of(monkeypatch, tmp_path, commented) == plain
    assert digest_of(monkeypatch, tmp_path, "def f(x):\n    return x + 2\n") != plain


def test_digest_follows_imports_and_data(monkeypatch):
    before = declarations.digest("circlet.sweeps.tables.scorecard")
    assert (
        declarations.digest("circlet.sweeps.tables.scorecard", "circlet.training.fourier") != before
    )
    for changed in ("circlet.analysis.stats", "circlet.storage.parquet"):
        bare = declarations._bare.__wrapped__

        def edited(module, changed=changed, bare=bare):
            return bare(module) + ("pass" if module == changed else "")

        declarations.digest.cache_clear()
        monkeypatch.setattr(declarations, "_bare", edited)
        counts = declarations.digest("circlet.sweeps.tables.scorecard") != before
        monkeypatch.undo()
        # The floor that moves files about does not count, what computes does.
        assert counts == (changed == "circlet.analysis.stats")
    declarations.digest.cache_clear()
    assert declarations.literals("circlet.sweeps.tables.scorecard")["DATA"] == (
        "data/published.csv",
    )


def test_every_layer_that_computes_is_in_the_digest(monkeypatch):
    for changed in (
        "circlet.collections.musat.equations.constant_attention",
        "circlet.study.seeds",
        "circlet.analysis.log_frames",
    ):
        before = declarations.digest("circlet.collections.musat.tables.pair_sums")
        bare = declarations._bare
        monkeypatch.setattr(
            declarations, "_bare", lambda m, c=changed, bare=bare: bare(m) + "pass" * (m == c)
        )
        declarations.digest.cache_clear()
        assert declarations.digest("circlet.collections.musat.tables.pair_sums") != before
        monkeypatch.undo()
        declarations.digest.cache_clear()


def test_data_files_are_in_the_digest(monkeypatch, tmp_path):
    text = 'DATA = ("x.csv",)\n'
    (tmp_path / "x.csv").write_text("1")
    before = digest_of(monkeypatch, tmp_path, text)
    (tmp_path / "x.csv").write_text("2")
    assert digest_of(monkeypatch, tmp_path, text) != before
