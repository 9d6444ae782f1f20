import re

import pytest
from conftest import ROOT

from circlet.study import registry

TEXT = (ROOT / "README.md").read_text()
RECIPES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
RECIPES = [recipe for recipe in RECIPES if "def table" not in recipe]  # that is a file's content
TABLES = [name for c in registry.SHIPPED for name in c.modules("tables")]
ARCHITECTURE = ROOT / "docs/architecture.md"


@pytest.mark.parametrize("recipe", RECIPES, ids=range(len(RECIPES)))
def test_recipes_run(project, recipe):
    """As printed, but on the smoke study."""
    (project.folder / "recipe.py").write_text(re.sub("results/(paper/)?", "results/smoke/", recipe))
    assert project.run("recipe").stdout.strip()


def test_recipes_for_pandas_run_one_after_the_other(project):
    """And they load every table."""
    text = (ROOT / "docs/pandas.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    claims = {f"{paper}_claims" for paper in ("musat", "ding", "odonnat")}
    missing = {n for n in TABLES if f'table("{n}")' not in code} - claims
    assert not missing
    (project.folder / "recipes.py").write_text(code.replace('"results"', '"results/smoke"', 1))
    assert "made by hand" in project.run("recipes").stdout
    for picture in ("structures.png", "survival.png"):
        assert (project.folder / picture).stat().st_size > 5000


def test_the_map_names_every_room_and_every_module_that_rooms_share():
    text = ARCHITECTURE.read_text()
    package = ROOT / "src/circlet"
    rooms = [path for path in package.iterdir() if (path / "__init__.py").exists()]
    assert {f"`{room.name}/`" for room in rooms} <= set(re.findall(r"`\w+/`", text))
    shared = [*package.glob("*.py"), *(p for r in rooms for p in r.glob("*.py"))]
    for path in shared:
        known = path.name.startswith("__") or str(path.relative_to(ROOT)) in text
        assert known or path.parent.name in ("bench", "sweeps"), path


@pytest.mark.parametrize("file", ["README.md", "docs/architecture.md", "docs/speed.md"])
def test_links_lead_somewhere(file):
    for target in re.findall(r"\]\(([^)#]+)", (ROOT / file).read_text()):
        if not target.startswith("http"):
            assert ((ROOT / file).parent / target).exists(), target


def test_every_table_is_listed():
    for name in TABLES:
        assert f"`{name}`" in TEXT, name
