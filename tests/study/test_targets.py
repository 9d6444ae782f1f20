from conftest import ROOT, experiment

from circlet.study import targets
from circlet.study.plan import Study


def test_inputs_are_all_that_is_read():
    """Logs and tables, optional ones included, are inputs: none is read that is not declared."""
    s = Study.read(ROOT / "config/smoke.yaml")
    tables_ = {p.name: p for p in targets.tables(s)}
    card = {path.stem for path in tables_["scorecard"].inputs}
    own = {"table1", "table2", "survival_classifiers"}
    assert card == own | {"musat_claims", "ding_claims", "odonnat_claims"}
    claims = {path.stem for path in tables_["musat_claims"].inputs}
    assert claims == {"structures", "weight_magnitudes"}
    for block in s.part(s.of_systems(["constant_attention", "particles"])).blocks:
        assert {block.log("runs"), block.log("embeddings")} <= set(tables_["structures"].inputs)
    assert {p.stem for p in targets.report(s).inputs} >= {"runs", "scorecard", "published_tables"}


def test_footers_name_the_part_of_the_study():
    both = {"a": experiment(), "b": experiment("particles")}
    s = Study.of({"results": "r", "experiments": both, "reproduce": {"table1": "a"}})
    for target in (*targets.tables(s), *targets.figures(s)):
        assert target.footer["study"] == target.study.config
        if target.name in ("grid_and_circle", "table1"):
            assert list(target.study.config["experiments"]) == ["a"]
