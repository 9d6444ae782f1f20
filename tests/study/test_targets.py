import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, SYSTEMS, config, experiment, planned

from circlet.study import declarations, planning, registry, targets

SMOKE = planning.plan_file(ROOT / "config/smoke.yaml")


def shipped(kind):
    """Return the modules of the shipped collections, by the name of what they make."""
    return {n: m for c in registry.SHIPPED for n, m in c.modules(kind).items()}


def test_every_target_is_made_by_some_study_that_is_shipped():
    unmade = {*shipped("tables"), *shipped("figures")}
    for name in ("smoke", "paper", "full_length", "findings", "delays"):
        tables, figures = targets.names(planning.plan_file(ROOT / f"config/{name}.yaml"))
        unmade -= {*tables, *figures}
    assert not unmade


# Inputs that are not read in the smoke study: its runs do not meet the papers' conditions, and
# some figures have nothing to show. Tables of claims are inputs of all targets with claims.
CLAIMED = {"table1", "table2", "survival_classifiers", "musat_claims", "ding_claims"}
BEYOND = {"odonnat_claims", "findings_claims", "forecast", "seed_overlap"}
UNREAD = {
    "scorecard": CLAIMED | BEYOND, "report": CLAIMED | BEYOND,
    "published_tables": CLAIMED, "survival_by_signal": {"ding_claims"},
    "spikes": {"parameters"}, "loss_spikes": {"heads", "losses"}, "sandbox": {"heads"},
}  # fmt: skip


def test_inputs_are_all_that_is_read(finished):
    """Logs and tables, also optional ones: all that are read are declared, and vice versa."""
    read = json.loads((finished.folder / "reads.json").read_text())
    assert len(read) > 100
    for target in targets.ordered(SMOKE):
        inputs = set(map(str, target.inputs))
        used = set(read[f"{target.kind}/{target.name}"])
        assert used <= inputs, target.name
        names, unread = ({Path(path).stem for path in paths} for paths in (used, inputs - used))
        # Compared by kind of log: some logs have no steps, or no run that is needed.
        assert unread - names <= UNREAD.get(target.name, set()), target.name


def test_nothing_is_read_past_the_storage():
    """Otherwise the test above would miss what is read."""
    readers = {
        path.relative_to(registry.PACKAGE).parts[0]
        for path in registry.PACKAGE.rglob("*.py")
        if re.search(r"read_parquet|pyarrow\.parquet", path.read_text())
    }
    assert readers == {"storage", "compare.py", "job_server.py"}


def test_what_the_scorecard_is_made_from():
    made = {target.name: target for target in targets.tables(SMOKE)}
    card = {path.stem for path in made["scorecard"].inputs}
    by_role = {"table1", "table2", "survival_classifiers"}
    assert card == by_role | {"musat_claims", "ding_claims"} | BEYOND
    shown = {path.stem for path in targets.report(SMOKE).inputs}
    assert shown >= {"runs", "scorecard", "published_tables"}


def test_footers_name_the_part_of_the_study():
    roles = {"reproduce": {"table1": "a"}}
    study = planned("r", roles, a=experiment(), b=experiment("particles"))
    for target in (*targets.tables(study), *targets.figures(study)):
        written = json.loads(json.dumps(target.footer["study"]))
        assert written == json.loads(target.study.json)
        if target.name in ("grid_and_circle", "table1"):
            assert list(target.study.config.experiments) == ["a"]


def as_its_job_sees_it(target):
    """Return a target as planned by its job, which gets its part of the study as JSON."""
    study = planning.decode(target.study.json, target.study.folders)
    study = replace(study, keys={table.name: table.key for table in target.tables})
    if target.kind == "pages":
        return getattr(targets, target.name)(study)
    return next(t for t in getattr(targets, target.kind)(study) if t.name == target.name)


def experiments_without_roles():
    """Return a study with experiments whose tables no role requires."""
    named = {"b": experiment("particles"), **{system: experiment(system) for system in SYSTEMS}}
    return planned("r", {"reproduce": {"table2": "b"}}, **named)


@pytest.mark.parametrize("study", [SMOKE, experiments_without_roles()], ids=["smoke", "others"])
def test_a_job_plans_what_it_was_planned_as(study):
    """Otherwise the job would refuse, because its key would differ."""
    assert len(targets.ordered(study)) > 30
    for target in targets.ordered(study):
        again = as_its_job_sees_it(target)
        assert [table.name for table in again.tables] == [table.name for table in target.tables]
        assert again.inputs == target.inputs
        assert again.key == target.key


def test_keys_follow_config_tables_and_what_is_missing(tmp_path):
    def keys(study):
        return {(target.kind, target.name): target.key for target in targets.ordered(study)}

    study = planning.plan(config(tmp_path, seeds={"count": 4}))
    before = keys(study)
    again = config(tmp_path, seeds={"count": 4}) | {"checkpoints": "s3://bucket/checkpoints"}
    assert keys(planning.plan(again)) == before
    for other in (
        planning.plan(config(tmp_path, seeds={"count": 4}, steps=6)),
        study.partial(list(study.blocks)[:1]),
        replace(study, keys=dict.fromkeys(targets.names(study)[0], "another")),
    ):
        changed = {name for name, key in keys(other).items() if key != before[name]}
        others = before.keys() - changed
        assert others == (set() if not other.keys else {
            (t.kind, t.name) for t in targets.ordered(study) if not t.tables
        })  # fmt: skip


def test_roles_name_tables_that_take_runs_of_roles():
    roles = {name: role for c in registry.SHIPPED for name, role in c.roles.items()}
    named = {table for role in roles.values() for table in role.tables}
    assert named == {"losses"}
    for table in named:
        module = shipped("tables")[table]
        assert declarations.declared(declarations.Table, module).optional_roles == table
