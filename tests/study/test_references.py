"""Names in the files of a user's collection that refer to nothing are refused by the plan."""

import pytest
from conftest import SYSTEMS, config, config_of, refused
from projects import edit
from test_registry import having, less

from circlet.analysis import claims
from circlet.storage import schema
from circlet.study import declarations, own_collections, planning

CLAIM = "claim,source,statement,kind,role,table,column,published,published_n,margin,figure\n"
ONE = CLAIM + "far,Table 1,It is far,mean,rates,distances,distance,1,10,0.1,distances\n"
FIGURE = '("mine.distances",)'


def outcome(of):
    """Give the system another outcome."""
    return less("systems/drift.py", '"mean", "distances", "distance"', of)


LOOKED_UP = {
    "a table of a figure": (
        less("figures/distances.py", FIGURE, '("mine.distnces",)'),
        "figures/distances.py: TABLES: there is no table 'mine.distnces' (did you mean 'mine.dis"),
    "a system of a table": (
        less("tables/distances.py", '("mine.drift",)', '("mine.drif",)'),
        "SYSTEMS: there is no system 'mine.drif' (did you mean 'mine.drift'? there are: "),
    "a log of a table": (less("tables/distances.py", '"embeddings")', '"embedings")'), "LOGS: the"),
    "a log that its system does not have": (
        less("tables/distances.py", '"embeddings")', '"curves")'),
        "LOGS: of its systems: there is no log 'curves'"),
    "a file of a table": (
        less("tables/distances.py", "TABLES = ()", 'TABLES = ()\nDATA = ("x.csv",)'),
        "DATA: there is no file 'x.csv' beside it"),
    "a text for files of equations": (
        less("equations/drift.py", "\n\ndef data", '\nDATA = ("x.csv")\n\n\ndef data'),
        'equations/drift.py: DATA must be a tuple of names, as in ("words.txt",)'),
    "computed files of equations": (
        less("equations/drift.py", "\n\ndef data", '\nDATA = ("a",) + ()\n\n\ndef data'),
        "equations/drift.py: DATA must be a literal"),
    "a role of a figure": (less("figures/distances.py", '"mine.rates"', '"mine.rate"'), "ROLES: t"),
    "a table of the run list": (
        less("run_list.py", '("mine.distances",)', '("mine.distance",)'), "run_list.py: TABLES: t"),
    "a figure of the report": (
        less("collection.yaml", "[distances]", "[distance]"), "yaml: figures: there is no figure"),
    "a table of an outcome": (
        less("systems/drift.py", '"distances", "distance"', '"sizes"'),
        "outcomes: size: there is no table 'sizes'"),
    "an outcome of another system": (
        outcome('"count", "circle_counts", "n_circles"'), "circle_counts has no runs of mine.dr"),
    "an outcome of a role": (
        outcome('"mean", "losses", "test_loss"'), "has only runs with a role; an "),
    "a share above one": (
        outcome('"share", "distances", "distance", threshold=3'), "threshold: 3 is greater than"),
    "a table of a plot": (
        having("plots/dots.py", '"""Dots."""\nTABLES = ("runz",)\nPLACES = ()\n\n\n'
               "def draw(study):\n    pass\n"), "dots.py: TABLES: there is no table 'runz' (did"),
    "a key of the config": (
        less("tables/distances.py", "TABLES = ()", 'TABLES = ()\nCONFIG = ("milestone",)'),
        "CONFIG: there is no key 'milestone' (did you mean 'milestones'? there are: "),
    "an outcome of another kind": (
        less("systems/drift.py", '"mean"', '"men"'),
        "outcomes: size: there is no kind 'men' (did you mean 'mean'? there are: share, mean, c"),
    "a system of a role": (
        less("collection.yaml", "mine.drift", "drif"), "roles.mine.rates.needs.system: there is n"),
    "a parameter of a role": (
        less("collection.yaml", "varies: [rate]", "holds: {rat: 1}"), "holds: there is no paramet"),
    "a log of a role": (
        less("collection.yaml", "varies: [rate]", "logs: [curves]"), "logs: there is no log 'curv"),
    "a table of claims": (
        having("claims.csv", ONE.replace("rates,distances", "rates,distance")),
        "claims.csv: mine.far: table: there is no table 'distance' (did you"),
    "a role of claims": (having("claims.csv", ONE.replace("rates", "rate")), "far: role: there is"),
    "a figure of claims": (
        having("claims.csv", ONE.replace(",distances\n", ",x\n")), "far: figure: there is no figu"),
    "a claim twice": (having("claims.csv", ONE + ONE.splitlines()[1]), "far: is listed twice"),
    "an import of it": (
        less("tables/distances.py", "mine import distance", "mine.distnce import of"),
        "imports circlet.collections.mine.distnce, which does not exist"),
    "equations that are no Python": (having("equations/drift.py", "x = (\n"), "drift.py:1: '(' wa"),
    "a default": (less("systems/drift.py", "0.5,", "2,"), "SYSTEM: rate: default: 2 is greater th"),
    "a keyword": (less("systems/drift.py", "maximum", "maxmum"), "rate: there is no keyword 'maxm"),
    "a version": (less("systems/drift.py", "version=1", "version='1'"), "version must be an integ"),
    "a schedule": (less("systems/drift.py", '{"every": 1}', '{"evry": 1}'), "unknown key 'evry'"),
    "a parameter of a formula": (
        less("systems/drift.py", "weights=lambda p, d", "weights=lambda p, q"),
        "SYSTEM: weights: there is no parameter 'q'"),
    "a formula": (
        less("systems/drift.py", "weights=lambda p, d, **_: p", "weights=lambda p, d, **_: 1 / 0"),
        "drift.py: weights at the defaults: ZeroDivisionError"),
    "a number of a formula": (
        less("systems/drift.py", "weights=lambda p, d, **_: p * d", "weights=lambda **_: 'x'"),
        "SYSTEM: weights must give a number"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), LOOKED_UP.values(), ids=LOOKED_UP)
def test_what_refers_to_nothing_is_refused_when_it_is_planned(mine, change, expected):
    change(mine)
    assert expected in refused(lambda: planning.plan(config_of(mine)))


def test_shipped_collections_refer_to_what_exists():
    own_collections.check(SYSTEMS, with_shipped=True)


def test_columns_of_the_table_of_runs_are_no_names_of_parameters():
    system = planning.plan(config()).known["particles"]
    columns = schema.names(schema.outcome([system]))
    assert {"seed", "commit", *columns} - system.metrics.keys() <= declarations.RESERVED


def test_names_of_its_own_need_no_prefix_in_its_files(mine):
    """Roles, outcomes, figures and claims can be moved into a shipped collection unchanged."""
    edit(mine / "collection.yaml", "mine.drift", "drift")
    (mine / "claims.csv").write_text(ONE)
    study = planning.plan(config_of(mine))
    own = study.collections[-1]
    assert [one.table for one in study.outcomes("mine.drift")] == ["mine.distances"]
    assert own.roles["mine.rates"].needs.system == "mine.drift"
    claim = claims.read(study).set_index("claim").loc["mine.far"]
    assert (claim["table"], claim["role"], claim["figure"]) == (
        "mine.distances", "mine.rates", "mine.distances",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("../../x", "becomes the name of a folder: values that are texts may have only"),
        ("Z24", "parameters.kind: 'Z24' does not match '^[^Z]'"),
    ],
)
def test_a_text_that_cannot_be_in_the_name_of_a_folder(mine, value, said):
    file = mine / "systems/drift.py"
    kind = '"kind": Parameter("string", "A text.", "a", "k", {"pattern": "^[^Z]"}),'
    edit(file, "    parameters={", f"    parameters={{\n        {kind}")
    edit(file, "import Log,", "import Log, Parameter,")
    study = config_of(mine)
    study["experiments"]["e"] |= {"parameters": {"kind": value}}
    assert said in refused(lambda: planning.plan(study))
