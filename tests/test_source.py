import ast
import subprocess
import sys

import pytest

from circlet import source

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
ABOVE = {"__main__", "bench", "cli", "jobs", "sandbox", "view"}


def part(module):
    return module.split(".")[1] if "." in module else ""


def every_module():
    for path in source.PACKAGE.rglob("*.py"):
        relative = path.relative_to(source.PACKAGE).with_suffix("")
        yield ".".join(["circlet", *(p for p in relative.parts if p != "__init__")])


@pytest.mark.parametrize("module", sorted(every_module()))
def test_imports_point_to_the_ground(module):
    imported = {part(name) for name in source.imports(module)} - {""}
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
        for node in ast.walk(ast.parse(source._path(module).read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("snakemake") for name in names), module


def test_planning_imports_nothing_heavy():
    code = (
        "import sys; from circlet import products; from circlet.plan import Study;"
        "study = Study.read('config/config.yaml'); [p.code for p in products.figures(study)];"
        "heavy = {'torch', 'pandas', 'pyarrow', 'matplotlib', 'scipy'};"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source.PACKAGE.parents[1], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.split() == []


def digest_of(monkeypatch, tmp_path, text):
    (tmp_path / "__init__.py").touch()
    (tmp_path / "module.py").write_text(text)
    monkeypatch.setattr(source, "PACKAGE", tmp_path)
    source.forget()
    try:
        return source.digest("circlet.module")
    finally:
        source.forget()


def test_digest_sees_code_and_not_comments(monkeypatch, tmp_path):
    plain = digest_of(monkeypatch, tmp_path, 'def f(x):\n    """Doc."""\n    return x + 1\n')
    commented = 'def f(x):\n    """Other."""\n    # why\n    return (x +\n        1)\n'
    assert digest_of(monkeypatch, tmp_path, commented) == plain
    assert digest_of(monkeypatch, tmp_path, "def f(x):\n    return x + 2\n") != plain


def test_digest_follows_imports_and_data(monkeypatch):
    before = source.digest("circlet.analysis.scorecard")
    assert source.digest("circlet.analysis.scorecard", "circlet.fourier") != before
    for changed in ("circlet.analysis.stats", "circlet.io"):
        bare = source._bare.__wrapped__

        def edited(module, changed=changed, bare=bare):
            return bare(module) + ("pass" if module == changed else "")

        source.digest.cache_clear()
        monkeypatch.setattr(source, "_bare", edited)
        counts = source.digest("circlet.analysis.scorecard") != before
        monkeypatch.undo()
        # The floor that moves files about does not count, what computes does.
        assert counts == (changed == "circlet.analysis.stats")
    source.digest.cache_clear()
    assert source.literals("circlet.analysis.scorecard")["DATA"] == ("data/published.csv",)


def test_every_layer_that_computes_is_in_the_digest(monkeypatch):
    for changed in (
        "circlet.systems.constant_attention",
        "circlet.seeds",
        "circlet.analysis.gather",
    ):
        before = source.digest("circlet.analysis.pair_sums")
        bare = source._bare
        monkeypatch.setattr(
            source, "_bare", lambda m, c=changed, bare=bare: bare(m) + "pass" * (m == c)
        )
        source.digest.cache_clear()
        assert source.digest("circlet.analysis.pair_sums") != before
        monkeypatch.undo()
        source.digest.cache_clear()


def test_data_files_are_in_the_digest(monkeypatch, tmp_path):
    text = 'DATA = ("x.csv",)\n'
    (tmp_path / "x.csv").write_text("1")
    before = digest_of(monkeypatch, tmp_path, text)
    (tmp_path / "x.csv").write_text("2")
    assert digest_of(monkeypatch, tmp_path, text) != before
