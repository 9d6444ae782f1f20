"""A mistake in a file of a user's collection is one line of the plan, which names the file."""

import pytest
from conftest import SYSTEMS, config_of, refused
from projects import edit

from circlet.study import planning, user_collections

SPEC = "from circlet.systems.spec import SystemSpec\n"
CLAIM = "claim,source,statement,kind,role,table,column,published,published_n,margin,figure\n"
ONE = "far,Table 1,It is far,mean,rates,distances,distance,1,10,0.1,distances\n"
DOTS = '"""Dots."""\nTABLES = ("runz",)\nPLACES = ()\n\n\ndef draw(study):\n    pass\n'
OUTCOME = '"mean", "distances", "distance"'
WEIGHTS = "weights=lambda p, d, **_: p * d"

# By file: a text in it (if empty, the file is written), its replacement, and what is said.
WRONG = {
    "tables/distances.py": [
        ("TABLES = ()", "TABLES = ()\nTABELS = ()",
         "TABELS is not a declaration (did you mean 'TABLES'? there are: TABLES, "),
        ("TABLES = ()", "TABLES = ()\nMEASURES = {}", "(did you mean 'DERIVED_METRICS'?"),
        ("COLUMNS =", "_COLUMNS =", "does not declare COLUMNS"),
        ("def table(", "def tabel(", "does not define table()"),
        ("def table(study):", "def table(study)", "distances.py:13: expected ':'"),
        ("TABLES = ()", "TABLES = tuple([])", "TABLES must be a literal"),
        ("TABLES = ()", 'TABLES = ()\nTABLES += ("runs",)', "TABLES must be a literal"),
        ("TABLES = ()", "TABLES = {[]: 1}", "TABLES must be a literal"),
        ("TABLES = ()", 'TABLES = {"runs", "losses"}', "TABLES must be a tuple of strings"),
        ('("runs", "embeddings")', "(1, 2)", "LOGS must be a tuple of strings"),
        ("TABLES = ()", 'TABLES = ()\nDERIVED_METRICS = {"reach": "far"}',
         "DERIVED_METRICS must give the meaning and the unit of each column"),
        ('("mine.drift",)', '("mine.drif",)',
         "SYSTEMS: there is no system 'mine.drif' (did you mean 'mine.drift'? there are: "),
        ("TABLES = ()", 'OPTIONAL_TABLES = ("runz",)', "OPTIONAL_TABLES: there is no table 'runz'"),
        ('"embeddings")', '"embedings")', "LOGS: there is no log 'embedings'"),
        ('"embeddings")', '"curves")', "LOGS: of its systems: there is no log 'curves'"),
        ("TABLES = ()", 'TABLES = ()\nDATA = ("x.csv",)', "DATA: there is no file 'x.csv' beside"),
        ("TABLES = ()", 'TABLES = ()\nCONFIG = ("milestone",)',
         "CONFIG: there is no key 'milestone' (did you mean 'milestones'? there are: "),
        ("mine import distance", "mine.distnce import of",
         "imports circlet.collections.mine.distnce, which does not exist"),
        ("", "# Größe\n".encode("latin-1"), "cannot be read: 'utf-8' codec"),
    ],
    "figures/distances.py": [
        ("TABLES =", "OPTIONAL_TABLES =", "does not declare TABLES"),
        ("TABLES =", "WIDTH, _HEIGHT = 3, 4\nTABLES =", "must begin with an underscore: _WIDTH"),
        ("TABLES =", "COLUMNS = ()\nTABLES =", "COLUMNS is no"),
        ('"""Distance', '_TEXT = """Distance', "has no docstring; it is the"),
        ("def draw(study)", "class draw", "does not define draw("),
        ('("mine.rates",)', '"all"', "ROLES must be a tuple"),
        ('"mine.rates"', '"mine.rate"', "ROLES: there is no role 'mine.rate'"),
        ('"mine.distances"', '"mine.distnces"',
         "TABLES: there is no table 'mine.distnces' (did you mean 'mine.dis"),
    ],
    "run_list.py": [
        ('"mine.distances"', '"mine.distance"', "TABLES: there is no table 'mine.distance'"),
    ],
    "plots/dots.py": [
        ("", DOTS, "TABLES: there is no table 'runz' (did"),
        ("", DOTS.replace('"""Dots."""', ""), "has no docstring; it is the"),
        ("", DOTS.replace("runz", "runs").replace("()", '("z",)', 1), "there is no place 'z'"),
        ("", DOTS.replace("runz", "runs") + "SHOWS = 'metric'\n", "SHOWS must be typing.Literal["),
    ],
    "explorer/data.py": [
        ("", "TABLES = ('runz',)\ndef data(tables, trained): pass\n", "there is no table 'runz'"),
    ],
    "equations/drift.py": [
        ("\n\ndef data", '\nDATA = ("x.csv")\n\n\ndef data',
         'DATA must be a tuple of names, as in ("words.txt",)'),
        ("\n\ndef data", '\nDATA = ("a",) + ()\n\n\ndef data', "DATA must be a literal"),
        ("", "x = (\n", "drift.py:1: '(' wa"),
        ("def data", "def date", "does not define data()"),
    ],
    "systems/drift.py": [
        ("", "1 / 0\n", "cannot be imported: ZeroDiv"),
        ("", "SYSTM = 1\n", "must declare SYSTEM = "),
        ("", f"{SPEC}SYSTEM = SystemSpec(version=1)\n", "missing 1 "),
        ('    embedding="embedding",\n', "",
         "the log 'embeddings' needs an embedding; give its name"),
        ('"embeddings"', '"thoughts"', "there is no log 'thoughts' ("),
        (OUTCOME, '"mean", "sizes"', "outcomes: size: there is no table 'sizes'"),
        (OUTCOME, '"count", "circle_counts", "n_circles"', "circle_counts has no runs of mine.dr"),
        (OUTCOME, '"mean", "losses", "test_loss"', "has only runs with a role; an "),
        (OUTCOME, '"share", "distances", "distance", threshold=3', "threshold: 3 is greater than"),
        ('"mean"', '"men"',
         "outcomes: size: there is no kind 'men' (did you mean 'mean'? there are: share, mean, c"),
        ("0.5,", "2,", "SYSTEM: rate: default: 2 is greater th"),
        ("maximum", "maxmum", "rate: there is no keyword 'maxm"),
        ("version=1", "version='1'", "version must be an integ"),
        ('{"every": 1}', '{"evry": 1}', "unknown key 'evry'"),
        (WEIGHTS, "weights=lambda p, q: 1", "SYSTEM: weights: there is no parameter 'q'"),
        (WEIGHTS, "weights=lambda p, d, **_: 1 / 0", "weights at the defaults: ZeroDivisionError"),
        (WEIGHTS, "weights=lambda **_: 'x'", "SYSTEM: weights must give a number"),
    ],
    "collection.yaml": [
        ("", "tilte: x\n", "unknown key 'tilte'"),
        ("", "title: [x\n", "not YAML: while"),
        ("", "short: a\nshort: b\n", "'short' is given twice"),
        ("", "", "has no value: write {}"),
        ("[distances]", "[distance]", "figures: there is no figure"),
        ("mine.drift", "drif", "roles.mine.rates.needs.system: there is n"),
        ("varies: [rate]", "holds: {rat: 1}", "holds: there is no paramet"),
        ("varies: [rate]", "logs: [curves]", "logs: there is no log 'curv"),
    ],
    "claims.csv": [
        ("", "claim,tabel\n", "has no column 'source'"),
        ("", b"\xff", "cannot be read: 'utf-8' codec"),
        ("", CLAIM + ONE.replace("rates,distances", "rates,distance"),
         "mine.far: table: there is no table 'distance' (did you"),
        ("", CLAIM + ONE.replace("rates", "rate"), "far: role: there is"),
        ("", CLAIM + ONE.replace(",distances\n", ",x\n"), "far: figure: there is no figu"),
        ("", CLAIM + ONE + ONE, "far: is listed twice"),
    ],
    "tables/My.py": [("", "", "must be named with lower")],
    "__init__.py": [("", "1 / 0", "cannot be imported: ZeroDiv")],
}  # fmt: skip
CASES = [(file, *case) for file, cases in WRONG.items() for case in cases]


@pytest.mark.parametrize(("file", "old", "new", "expected"), CASES)
def test_a_wrong_file_is_one_line_that_names_it(mine, file, old, new, expected):
    path = mine / file
    if old:
        edit(path, old, new, 1)
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(new if isinstance(new, bytes) else new.encode())
    said = refused(lambda: planning.plan(config_of(mine)))
    assert said.startswith(f"{path}:") and expected in said


def test_a_collection_may_be_a_package_and_its_declarations_may_have_types(mine):
    edit(mine / "figures/distances.py", "TABLES =", "TABLES: tuple[str, ...] =")
    for folder in ("tables", "figures", "plots"):
        (mine / folder).mkdir(exist_ok=True)
        (mine / folder / "__init__.py").write_text("HEIGHT = 3\n")
    planning.plan(config_of(mine))


def test_shipped_collections_refer_to_what_exists():
    user_collections.check(SYSTEMS, with_shipped=True)


def test_the_plan_says_it(mine, tmp_path, error_of):
    """Tables that the study does not use are checked, too."""
    (mine / "tables/other.py").write_text('SYSTEMS = ("particles",)\n')
    (tmp_path / "study.yaml").write_text(str(config_of(mine)))
    said = f"error: {tmp_path}/study.yaml: {mine}/tables/other.py: does not declare COLUMNS\n"
    assert error_of("plan", "--configfile", tmp_path / "study.yaml") == said
