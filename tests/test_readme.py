import re
import subprocess
import sys

import pandas as pd
import pytest
from conftest import ROOT

from circlet import build
from circlet.study import registry, targets
from circlet.study.plan import Study
from circlet.training import job

TEXT = (ROOT / "README.md").read_text()
RECIPES, OWN = (
    re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    for part in TEXT.split("## A collection of your own")
)
TABLES = [name for c in registry.SHIPPED for name in c.modules("tables")]
ARCHITECTURE = ROOT / "docs/architecture.md"


@pytest.mark.parametrize("recipe", RECIPES, ids=range(len(RECIPES)))
def test_recipes_run(project, recipe):
    """As printed, but on the smoke study."""
    (project.folder / "recipe.py").write_text(re.sub("results/(paper/)?", "results/smoke/", recipe))
    assert project.run("recipe").stdout.strip()


def test_the_collection_of_ones_own_runs_as_printed(tmp_path):
    for name, text in zip(("systems/growth", "equations/growth", "tables/sizes"), OWN, strict=True):
        path = tmp_path / f"mine/{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        subprocess.run([sys.executable, "-m", "ruff", "check", "--isolated", path], check=True)
    printed = re.search(r"```yaml\n(collections:.*?)```", TEXT, re.DOTALL)[1]
    config = tmp_path / "config/mine.yaml"
    config.parent.mkdir()
    config.write_text(f"results: {tmp_path}/results\n{printed}")
    study = Study.read(config)
    for block in study.blocks:
        job.run_block(block, "cpu")
    made = next(target for target in targets.tables(study) if target.name == "mine.sizes")
    build.make(made)
    sizes = pd.read_parquet(made.outputs[0]).groupby("rate")["size"].mean()
    assert len(sizes) == 2
    assert sizes[0.02] / sizes[0.01] == pytest.approx((1.02 / 1.01) ** 100, rel=1e-5)


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
