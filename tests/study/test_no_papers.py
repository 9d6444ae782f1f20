"""What belongs to a paper is in its collection, and nowhere else."""

import importlib
import re

import pytest

from circlet.study import registry

PAPERS = [c for c in registry.SHIPPED if c.about.get("authors")]
SYSTEMS = registry.Systems(registry.SHIPPED)
WORDS = {word for c in PAPERS for word in (c.name, c.about["short"])} | SYSTEMS.keys()
OWN = registry.PACKAGE / "collections"


def test_nothing_shared_names_a_paper_or_its_systems():
    assert len(WORDS) > 2 * len(PAPERS) > 4
    named = re.compile(rf"\b({'|'.join(map(re.escape, WORDS))})(?!\w)", re.IGNORECASE)
    kinds = (".py", ".js", ".html", ".css", ".yaml")
    every = (path for path in registry.PACKAGE.rglob("*") if "node_modules" not in path.parts)
    files = [path for path in every if path.suffix in kinds and OWN not in path.parents]
    assert len(files) > 90
    found = {str(path): named.findall(path.read_text(encoding="utf-8")) for path in files}
    assert not {path: words for path, words in found.items() if words}


@pytest.mark.parametrize("name", SYSTEMS)
def test_outcomes_of_systems_are_columns_of_tables(name):
    modules = {table: m for c in registry.SHIPPED for table, m in c.modules("tables").items()}
    assert SYSTEMS[name].outcomes
    for outcome in SYSTEMS[name].outcomes:
        columns = importlib.import_module(modules[outcome.table]).COLUMNS
        assert outcome.column in [column.name for column in columns]
