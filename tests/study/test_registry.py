"""Collections: what makes a folder one, and what a user's collection adds to a study."""

import json
import shutil

import pandas as pd
import pytest
import yaml
from conftest import config, config_of, make_all, refused, run_blocks
from projects import edit
from test_targets import as_its_job_sees_it
from test_wrong_collections import CLAIM, ONE

from circlet.analysis import claims
from circlet.storage import schema
from circlet.study import declarations, fingerprint, planning, targets


def moved(name):
    return lambda mine: [shutil.move(mine, mine.parent / name)]


def without(*names):
    def change(mine):
        for name in names:
            path = mine / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return change


# Changes return the listed folders if these are not the collection alone. For wrong files see
# test_wrong_collections.py.
WRONG = {
    "no folder": (lambda mine: [mine / "run_list.py"], "run_list.py: there is no such folder"),
    "a name that is none": (moved("My-own"), "My-own: its folder must be named with lower-case"),
    "a word of Python": (moved("import"), "import: its folder must be named with lower-case"),
    "the name of a shipped one": (moved("ding"), "ding: circlet has a collection 'ding'; rename"),
    "two of the same name": (
        lambda mine: [mine, shutil.copytree(mine, mine / "other/mine")], "named 'mine', too;"),
    "nothing in it": (
        without("systems", "equations", "tables", "figures", "collection.yaml"),
        "not a collection: it has no systems/*.py, tables/*.py, figures/*.py, plots/*.py, "
        "interventions/*.py, commands/*.py, claims.csv or collection.yaml"),
    "no equations": (without("equations"), "systems/drift.py is there, but equations/drift.py is"),
    "no system": (without("systems"), "equations/drift.py is there, but systems/drift.py is not"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), WRONG.values(), ids=WRONG)
def test_what_is_no_collection_is_one_line(mine, change, expected):
    folders = change(mine) or [mine]
    assert expected in refused(lambda: planning.plan(config_of(*folders)))


CONTRADICTIONS = {
    "of each other": (
        ("tables/distances.py", "TABLES = ()", 'TABLES = ()\nOPTIONAL_TABLES = ("mine.copies",)'),
        ("tables/copies.py", "TABLES = ()", 'TABLES = ("mine.distances",)'),
        "mine.distances -> mine.copies -> mine.distances: depend on each other",
    ),
    "other roles": (
        ("systems/drift.py", '"distances", "distance"', 'column="seconds"'),
        ("tables/distances.py", 'SYSTEMS = ("mine.drift",)', 'ROLES = ("mine.rates",)'),
        "explorer_runs: is made from the table mine.distances, but not from the same experiments; "
        "give both the same SYSTEMS, or the same roles (mine.rates)",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_what_cannot_be_made_is_refused_before_anything_is(mine, error_of, case):
    shutil.copy(mine / "tables/distances.py", mine / "tables/copies.py")
    *edits, expected = CONTRADICTIONS[case]
    for file, old, new in edits:
        edit(mine / file, old, new)
    study = config_of(mine)
    folder = study.pop("collections")
    assert expected in error_of("plan", "--study", json.dumps(study), "--collections", *folder)


@pytest.mark.parametrize(("changes", "expected"), [
    ({"system": "drift"}, "e.system: there is no system 'drift' (did you mean 'mine.drift'?"),
    ({"system": "particles"}, "reproduce.mine.rates: needs an experiment with mine.drift, e is no"),
    ({"sweep": {"d": [1, 2]}}, "mine.rates: needs an experiment that varies only rate, e varies d"),
    ({"sweep": {"rate": [2]}}, "e.sweep.rate: 2.0 is greater than the maximum of 1"),
    ({"log": {"curves": {}}}, "mine.drift has no such log (it has: signals, embeddings)"),
    ({"interventions": [{"freeze": {}}]}, "needs a trained system, but mine.drift is simulated"),
])  # fmt: skip
def test_its_systems_and_roles_are_checked_as_those_of_circlet(mine, changes, expected):
    study = config_of(mine)
    study["experiments"]["e"] |= {"sweep": {}} | changes
    assert expected in refused(lambda: planning.plan(study))


def test_without_its_folder_it_is_unknown(mine):
    study = config_of(mine)
    planning.plan(study)
    assert "no system 'mine.drift'" in refused(lambda: planning.plan(study | {"collections": []}))


def test_a_collection_of_a_user_is_planned_and_made(mine, tmp_path):
    """It has a system, a table of its runs, a figure of the table, a role, and a list of runs."""
    config_ = config_of("mine", results=tmp_path / "results")
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(config_))
    study = planning.plan_file(tmp_path / "study.yaml")  # `mine` is relative to it
    assert [point.name for point in study.points] == ["p5_d2_r0.1", "p5_d2_r0.5"]
    assert study.points[0].system.equations == "circlet.collections.mine.equations.drift"
    make_all(run_blocks(study))
    rows = pd.read_parquet(study.table("mine.distances"))
    assert set(rows["system"]) == {"mine.drift"}
    kept = rows.set_index(["seed", "rate"])["distance"].unstack()
    assert (kept[0.5] / kept[0.1]).to_numpy() == pytest.approx((0.5 / 0.9) ** 5)
    outcomes = pd.read_parquet(study.table("explorer_runs")).groupby("rate")["outcome"].unique()
    assert outcomes.explode().to_dict() == {0.1: "far", 0.5: "near"}
    page = targets.report(study).outputs[0].read_text()
    assert "Distance from the origin at the end, by rate." in page


def test_its_jobs_are_given_its_folder_and_make_what_is_planned(mine):
    """A job sees only its part of the study, as JSON that does not name the collections."""
    study = planning.plan(config_of(mine) | {"reproduce": {"mine.rates": "e"}})
    assert "collections" not in json.loads(study.json)
    for block in study.blocks:
        again = next(planning.plan(json.loads(block.json) | {"collections": [str(mine)]}).blocks)
        assert (again.logs, again.point.spec) == (block.logs, block.point.spec)
    for target in targets.ordered(study):
        assert target.key == as_its_job_sees_it(target).key


def test_two_collections_and_those_of_circlet_keep_apart(mine, tmp_path):
    """Both use the same names, and one name of a table of circlet."""
    yours = shutil.copytree(mine, tmp_path / "yours")
    for file in [path for path in yours.rglob("*") if path.is_file()]:
        file.write_text(file.read_text().replace("mine", "yours"))
    for folder in (mine, yours):
        shutil.copy(folder / "tables/distances.py", folder / "tables/runs.py")
    config = config_of(mine, yours)
    mines = config["experiments"]["e"]
    config["experiments"] |= {"f": mines | {"system": "yours.drift"}}
    both = planning.plan(config | {"reproduce": {"mine.rates": "e"}})
    tables = targets.names(both)[0]
    assert {"runs", "mine.runs", "yours.runs", "mine.distances", "yours.distances"} <= set(tables)
    assert both.systems == ["mine.drift", "yours.drift"]
    assert len({block.log("runs") for block in both.blocks}) == 4  # both systems have two blocks


def test_another_folder_of_the_same_name_is_read_anew(mine, tmp_path):
    """This happens in notebooks and in these tests."""
    other = shutil.copytree(mine, tmp_path / "other/mine")
    edit(other / "systems/drift.py", "0.5", "0.25")
    edit(other / "tables/distances.py", "TABLES = ()", "TABLES = ()\nx = 1")
    read = []
    for folder in (mine, other, mine):
        study = planning.plan(config_of(folder))
        code = {target.name: target.code for target in targets.tables(study)}["mine.distances"]
        read.append((study.specs["mine.drift"].defaults["rate"], code))
    assert [rate for rate, _ in read] == [0.5, 0.25, 0.5]
    assert read[0] == read[2]
    assert read[0][1] != read[1][1]


def test_a_link_has_its_own_name_and_a_config_may_lie_in_its_collection(mine, tmp_path):
    (mine / "configs").mkdir()
    for folder in (mine / "configs/..", f"{mine}/."):
        assert planning.plan(config_of(folder)).collections[-1].name == "mine"
    link = tmp_path / "link/mine"
    link.parent.mkdir()
    link.symlink_to(mine.rename(tmp_path / "mine-v2"))
    assert planning.plan(config_of(link)).collections[-1].name == "mine"


def test_equations_may_be_those_of_another_system(mine):
    """A star import names the module with the equations."""
    drift = mine / "equations/drift.py"
    drift.rename(mine / "walk.py")
    drift.write_text("from circlet.collections.mine.walk import *\n")
    study = config_of(mine)
    assert planning.plan(study).points
    drift.write_text("from ..walk import *\n")
    fingerprint.forget()
    assert planning.plan(study).points
    (mine / "walk.py").write_text("")
    fingerprint.forget()
    assert "equations/drift.py: does not define data()" in refused(lambda: planning.plan(study))


def test_columns_of_the_table_of_runs_are_no_names_of_parameters():
    system = planning.plan(config()).specs["particles"]
    columns = schema.names(schema.outcome([system]))
    assert {"seed", "commit", *columns} - system.metrics.keys() <= declarations.RESERVED


def test_names_of_its_own_need_no_prefix_in_its_files(mine):
    """Roles, outcomes, figures and claims can be moved into a shipped collection unchanged."""
    edit(mine / "collection.yaml", "mine.drift", "drift")
    (mine / "claims.csv").write_text(CLAIM + ONE)
    study = planning.plan(config_of(mine))
    collection = study.collections[-1]
    assert [one.table for one in study.outcomes("mine.drift")] == ["mine.distances"]
    assert collection.roles["mine.rates"].needs.system == "mine.drift"
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
