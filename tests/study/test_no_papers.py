"""Names that belong to a paper occur only in its collection."""

import ast
import re

from conftest import SYSTEMS

from circlet.config.experiment import Logs
from circlet.study import interventions, registry

PAPERS = [c for c in registry.SHIPPED if c.metadata.authors]
WORDS = {word for c in PAPERS for word in (c.name, c.metadata.short)} | SYSTEMS.keys()
WORDS -= {registry.PACKAGE.name}  # the authors of one collection
COLLECTIONS = registry.PACKAGE / "collections"


def test_nothing_shared_names_a_paper_or_its_systems():
    assert len(WORDS) > 2 * len(PAPERS) > 4
    named = re.compile(rf"\b({'|'.join(map(re.escape, WORDS))})(?!\w)", re.IGNORECASE)
    kinds = (".py", ".js", ".html", ".css", ".yaml")
    paths = (path for path in registry.PACKAGE.rglob("*") if "node_modules" not in path.parts)
    files = [path for path in paths if path.suffix in kinds and COLLECTIONS not in path.parents]
    assert len(files) > 90
    named_in = {str(path): named.findall(path.read_text(encoding="utf-8")) for path in files}
    assert not {path: words for path, words in named_in.items() if words}


def literals(path):
    """Return the texts in the code of a module, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    }


def test_nothing_shared_names_a_role_a_table_a_figure_or_a_command_of_a_collection():
    about = [c for c in registry.SHIPPED if c.folder.parent == COLLECTIONS]
    names = {name for c in about for name in c.roles}
    for kind in ("tables", "figures", "commands"):
        names |= {name for c in about for name in c.modules(kind)}
    # Names that are also kinds of logs, interventions or plots.
    names -= set(Logs.__struct_fields__) | {*interventions.names()}
    names -= {kind for c in registry.SHIPPED for kind in c.modules("plots")}
    assert len(names) > 80
    files = [path for path in registry.PACKAGE.rglob("*.py") if COLLECTIONS not in path.parents]
    named_in = {str(path): literals(path) & names for path in files}
    assert not {path: words for path, words in named_in.items() if words}
