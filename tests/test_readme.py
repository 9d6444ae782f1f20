import re

import pytest
from conftest import ROOT

from circlet import tables

TEXT = (ROOT / "README.md").read_text()
RECIPES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


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
    missing = {n for n in tables.TABLES if f'table("{n}")' not in code} - claims
    assert not missing
    (project.folder / "recipes.py").write_text(code.replace('"results"', '"results/smoke"', 1))
    assert "made by hand" in project.run("recipes").stdout
    for picture in ("structures.png", "survival.png"):
        assert (project.folder / picture).stat().st_size > 5000


def test_the_map_is_true():
    block = TEXT.split("## Map")[1].split("Training and analysis never")[0]
    for name in re.findall(r"[\w./]+(?:\.py|\.csv|/)(?=[\s,])", block):
        found = [
            ROOT / name,
            ROOT / "tests" / name,
            ROOT / "src/circlet" / name,
            *(ROOT / "src/circlet").glob(f"*/{name}"),
        ]
        assert any(path.exists() for path in found), name
    for path in (ROOT / "src/circlet").iterdir():
        known = path.name in block or f"{path.name}/" in block or path.name.startswith("__")
        assert known or path.suffix == ".egg-info", path.name


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (ROOT / target).exists(), target


def test_every_table_is_listed():
    for name in tables.TABLES:
        assert f"`{name}`" in TEXT, name
