import re
import subprocess
import sys

import pandas as pd
import pytest
from conftest import ROOT, make_tables, run_blocks

from circlet.cli import main
from circlet.study import planning, registry

TEXT, TABLE_PAGE = ((ROOT / name).read_text() for name in ("README.md", "docs/tables.md"))
RECIPES = re.findall(r"```python\n(.*?)```", TEXT + TABLE_PAGE, re.DOTALL)
EXTENDING = (ROOT / "docs/extending.md").read_text()
TABLES = [name for c in registry.SHIPPED for name in c.modules("tables")]


@pytest.fixture(scope="module")
def project(finished, tmp_path_factory):
    """One copy of the project for all recipes."""
    return finished.copy(tmp_path_factory.mktemp("recipes") / "project")


@pytest.mark.parametrize("recipe", RECIPES, ids=range(len(RECIPES)))
def test_recipes_run(project, recipe):
    """Recipes run as printed, on the smoke study."""
    (project.folder / "recipe.py").write_text(re.sub("results/(paper/)?", "results/smoke/", recipe))
    assert project.run("recipe").stdout.strip()


def test_the_collection_of_ones_own_works_as_printed(tmp_path, monkeypatch, capsys):
    """Every file that docs/extending.md prints: checked, run, drawn and judged."""
    printed = re.findall(r"```\w+\n# (mine/\S+)\n(.*?)```", EXTENDING, re.DOTALL)
    assert len(printed) == 11
    monkeypatch.chdir(tmp_path)
    for name, text in printed:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
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
    assert "our notebook: At width 16 the mean test accuracy is 0.9" in capsys.readouterr().out


def test_recipes_for_pandas_run_one_after_the_other(project):
    """The recipes load every table."""
    text = (ROOT / "docs/pandas.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    # Threads of the libraries that are shown beside pandas abort a busy interpreter as it ends.
    code += '\nimport os\nprint("all recipes have run", flush=True)\nos._exit(0)\n'
    claims = {f"{paper}_claims" for paper in ("musat", "ding", "odonnat", "findings")}
    missing = {n for n in TABLES if f'table("{n}")' not in code} - claims
    assert not missing
    (project.folder / "recipes.py").write_text(code.replace('"results"', '"results/smoke"', 1))
    said = project.run("recipes").stdout
    assert "made by hand" in said
    assert said.endswith("all recipes have run\n")
    for picture in ("structures.png", "survival.png"):
        assert (project.folder / picture).stat().st_size > 5000


def test_links_lead_somewhere():
    written = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "config/README.md")
    links = {
        file.parent / target
        for file in (*(ROOT / name for name in written), *(ROOT / "docs").glob("*.md"))
        for target in re.findall(r"\]\(([^)#]+)", file.read_text())
        if not target.startswith("http")
    }
    assert links and {link for link in links if not link.exists()} == set()


def test_every_table_is_listed():
    assert TABLES and {name for name in TABLES if f"`{name}`" not in TABLE_PAGE} == set()


def test_the_readme_is_short():
    assert len(TEXT.split()) <= 850


def test_tests_that_pages_name_are_there():
    """docs/cluster.md names the tests of each common fault."""
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    named = {
        name
        for path in (ROOT / "docs").glob("*.md")
        for name in re.findall(r"`(test_\w+)`", path.read_text())
    }
    assert named and {name for name in named if f"def {name}(" not in tests} == set()
