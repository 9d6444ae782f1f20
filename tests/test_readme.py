import re
import subprocess
import sys

import pandas as pd
import pytest
from conftest import ROOT, make_tables, run_blocks

import circlet
from circlet.cli import main
from circlet.study import planning, registry

TEXT, TABLE_PAGE = ((ROOT / name).read_text() for name in ("README.md", "docs/tables.md"))
EXTENDING = (ROOT / "docs/extending.md").read_text()


@pytest.mark.parametrize("page", [TEXT, TABLE_PAGE], ids=["README", "tables"])
def test_recipes_run(project, page):
    """Recipes of a page run as printed, in order, on the smoke study; each one prints something."""
    recipes = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert recipes
    # Threads of pyarrow or matplotlib may abort a busy interpreter as it ends.
    code = 'print("--- recipe", flush=True)\n'.join(["", *recipes])
    code += "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"
    smoke = re.sub(r'"results(/(?!smoke))?', r'"results/smoke\1', code)
    (project.folder / "recipes.py").write_text(smoke)
    before, *printed = project.run("recipes").stdout.split("--- recipe\n")
    assert not before and len(printed) == len(recipes)
    silent = [r for r, text in zip(recipes, printed, strict=True) if not text.strip()]
    assert not silent
    for picture in re.findall(r'savefig\("(.*?)"', code):
        assert (project.folder / picture).stat().st_size > 5000


def test_tables_of_recipes_have_rows(finished):
    """Only the table of loss spikes may be empty, as the smoke study may have none."""
    results = circlet.load(finished.folder / "results/smoke")
    named = set(re.findall(r'\.table\("(\w+)"', TABLE_PAGE))
    assert len(named) > 10
    assert {name for name in named if results.table(name).empty} <= {"spikes"}


def test_the_collection_of_ones_own_works_as_printed(tmp_path, monkeypatch, capsys):
    """Every file that docs/extending.md prints is checked, run, drawn and judged."""
    printed = re.findall(r"```\w+\n# (mine/\S+)\n(.*?)```", EXTENDING, re.DOTALL)
    assert len(printed) == 10
    monkeypatch.chdir(tmp_path)
    for name, text in printed:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n{text}" if name.endswith(".csv") else text)
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated"]
    subprocess.run([*ruff, "--config", "lint.isort.known-first-party=['circlet']"], check=True)
    main(["check", "mine"])
    said = capsys.readouterr().out
    assert said.count("drawn") == 2 and "mine.shrink: can be applied to mine.largest" in said
    assert "mine.without: can be applied to constant_attention, not to mine.largest" in said
    study = planning.plan_file("mine/largest.yaml")
    make_tables(run_blocks(study))
    accuracy = pd.read_parquet(study.table("mine.accuracy")).set_index("width")["accuracy"]
    assert accuracy[2] < accuracy[16] < 1
    neurons = pd.read_parquet(study.table("mine.neurons")).groupby("width")["n_active"]
    assert neurons.count().eq(10).all() and neurons.max()[2] <= 2 < neurons.max()[16] <= 16
    main(["scorecard", "--configfile", "mine/largest.yaml"])
    assert "our notebook: At width 16 the mean test accuracy is 0.97" in capsys.readouterr().out


def test_every_table_is_listed():
    """The listing has each table's meaning; it is generated for the collections in the template."""
    tables = registry.modules(registry.SHIPPED, "tables")
    assert tables
    for name in tables:
        rows = re.findall(rf"^\| \[`{name}`\]\(.*?\) \| (.+?) \| `", TABLE_PAGE, re.MULTILINE)
        assert len(rows) == 1, name


def test_the_readme_is_short():
    assert len(TEXT.split()) <= 850


def test_tests_that_pages_name_are_there():
    """docs/cluster.md names a test of its faults."""
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs/cluster.md").read_text()))
    assert named and {name for name in named if f"def {name}(" not in tests} == set()
