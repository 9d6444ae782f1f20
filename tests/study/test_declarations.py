"""A misspelt declaration gives an error of one line that names the file."""

import pytest
from conftest import config_of, refused
from projects import edit

from circlet.errors import ConfigError
from circlet.study import planning, targets

TABLE, FIGURE = "tables/distances.py", "figures/distances.py"
WRONG = {
    "an unknown name": (TABLE, "TABLES = ()", "TABLES = ()\nTABELS = ()",
                        "TABELS is not a declaration (there are: TABLES, "),
    "one of several names": (FIGURE, "TABLES =", "WIDTH, _HEIGHT = 3, 4\nTABLES =",
                             "must begin with an underscore: _WIDTH"),
    "no columns": (TABLE, "COLUMNS =", "_COLUMNS =", "does not declare COLUMNS"),
    "columns of a figure": (FIGURE, "TABLES =", "COLUMNS = ()\nTABLES =", "COLUMNS is no"),
    "no caption": (FIGURE, '"""Distance', '_TEXT = """Distance', "has no docstring; it is the"),
    "no function of a table": (TABLE, "def table(", "def tabel(", "does not define table()"),
    "a class for a function": (FIGURE, "def draw(study)", "class draw", "does not define draw("),
    "a computed tuple": (TABLE, "TABLES = ()", "TABLES = tuple([])", "TABLES must be a literal"),
    "a sum": (TABLE, "TABLES = ()", 'TABLES = ()\nTABLES += ("runs",)', "TABLES must be a literal"),
    "a list as a key": (TABLE, "TABLES = ()", "TABLES = {[]: 1}", "TABLES must be a literal"),
    "a text": (FIGURE, '("mine.distances",)', '("mine.distances")',
               "got `str` - at `$.TABLES`; write tuples of strings"),
    "numbers": (TABLE, '("runs", "embeddings")', "(1, 2)",
                "got `int` - at `$.LOGS[0]`; write tuples of strings"),
    "derived metrics without units": (TABLE, "TABLES = ()",
                               'TABLES = ()\nDERIVED_METRICS = {"reach": "far"}',
                               "got `str` - at `$.DERIVED_METRICS[...]`; write tuples of strings"),
    "all, of what must be there": (FIGURE, '("mine.rates",)', '"all"',
                                   "got `str` - at `$.ROLES`; write tuples of strings"),
    "no Python": (TABLE, "def table(study):", "def table(study)", "distances.py:13: expected ':'"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "expected"), WRONG.values(), ids=WRONG)
def test_a_wrong_declaration_is_one_line_that_names_the_file(mine, file, old, new, expected):
    edit(mine / file, old, new, 1)
    said = refused(lambda: planning.plan(config_of(mine)))
    assert said.startswith(str(mine / file)) and expected in said


def test_a_file_in_another_encoding_is_named(mine):
    (mine / TABLE).write_bytes("# Größe\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"distances\.py: cannot be read: 'utf-8' codec"):
        targets.names(planning.plan(config_of(mine)))


def test_the_plan_says_it(mine, tmp_path, error_of):
    """Tables that the study does not use are checked, too."""
    (mine / "tables/other.py").write_text('SYSTEMS = ("particles",)\n')
    (tmp_path / "study.yaml").write_text(str(config_of(mine)))
    said = f"error: {tmp_path}/study.yaml: {mine}/tables/other.py: does not declare COLUMNS\n"
    assert error_of("plan", "--configfile", tmp_path / "study.yaml") == said


def test_declarations_may_have_types(mine):
    edit(mine / TABLE, "TABLES =", "TABLES: tuple[str, ...] =")
    assert "mine.distances" in targets.names(planning.plan(config_of(mine)))[0]
