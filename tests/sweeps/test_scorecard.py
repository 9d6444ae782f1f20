import math
import re
from dataclasses import replace

import pandas as pd
import pytest
from conftest import ROOT, claim, config
from msgspec import structs

from circlet.analysis import claims, stats, verdicts
from circlet.analysis.stats import Estimate
from circlet.errors import ConfigError
from circlet.lazy_import import load
from circlet.storage import parquet
from circlet.study import claims_file, planning, registry
from circlet.sweeps.tables import scorecard

PUBLISHED = claims.read(planning.plan_file(ROOT / "config/paper.yaml"))


def rises(**others):
    return claim("words", least=0.1, margin=0.1, **others)


def test_counts_are_shown_per_published_runs():
    row = scorecard.judged(claim("share", 12, 100), stats.count(15, 300))
    assert row["measured"] == pytest.approx(5)
    assert row["measured_low"] < 5 < row["measured_high"]
    assert row["difference"] == pytest.approx(-7)
    assert row["measured_n"] == 300


def test_lost_runs_decide_nothing():
    """Missing runs of 100 planned ones may have diverged because they differ from these."""
    agrees, differs = claim("share", 12, 100), claim("share", 60, 100)
    for judged, verdict in [(agrees, verdicts.REPRODUCED), (differs, verdicts.DEVIATES)]:
        measured = stats.count(33, 270)
        most = scorecard.judged(judged, measured, n_runs=270, n_planned=300)
        assert most["verdict"] == verdict
        few = scorecard.judged(judged, measured, n_runs=269, n_planned=300)
        assert few["verdict"] == verdicts.UNDECIDED
        assert few["note"] == "only 269 of 300 planned runs are there: the others may differ"
    none = scorecard.judged(agrees, Estimate(), n_runs=0, n_planned=300)
    assert none["verdict"] == verdicts.NOT_RUN


def test_what_a_trivial_answer_would_have_is_undecided():
    """The survival classifier has 83.8 % accuracy, but so does the constant answer "dies"."""
    judged = claim("mean", 83.8, 1160, margin=5, rival="majority")
    measured = Estimate(84.5, 82.5, 86.5, 40)
    alone = scorecard.judged(judged, measured)
    assert alone["verdict"] == verdicts.REPRODUCED
    both = scorecard.judged(judged, measured, Estimate(82, 80, 84, 40))
    assert both["verdict"] == verdicts.UNDECIDED
    assert both["note"] == "a trivial answer passes, too: majority is 82"
    bad = scorecard.judged(judged, measured, Estimate(50, 48, 52, 40))
    assert bad["verdict"] == verdicts.REPRODUCED


def test_every_claim_is_a_sentence_with_a_margin_and_a_reference():
    assert not PUBLISHED.empty
    for row in PUBLISHED.itertuples():
        assert not re.search(r"\blog\d*\b|\|log", row.statement)
        assert "- 1/2" not in row.statement
        assert row.statement[0].isupper() or row.statement[0].isdigit()
        ends = verdicts.accepted(row._asdict())
        assert any(math.isfinite(end) for end in ends), row.claim
        if not math.isnan(row.published):
            assert f"{row.published:g}" in row.statement, row.claim


def test_margins_by_rule_are_not_typed():
    """No claim gives a margin that follows from its kind or its published interval."""
    for row in PUBLISHED[PUBLISHED["margin"].notna()].itertuples():
        assert row.kind not in ("share", "correlation")
        assert row.kind != "mean" or math.isnan(row.published_low)
    given = PUBLISHED[PUBLISHED["kind"] == "mean"].dropna(subset="margin")
    is_read_off = given["reference"] == "read off a figure"
    assert set(given[is_read_off]["margin"]) == {0.15}  # with a reading error of 0.1
    given = given[~is_read_off]
    assert set(given[given["unit"] == "%"]["margin"]) == {5}
    assert set(given[given["unit"] == ""]["margin"]) == {0.05}
    assert set(given[given["unit"] == "circles"]["margin"]) == {0.5}
    correlations = PUBLISHED["statement"].str.contains(r"\br (?:over runs|is)")
    assert set(PUBLISHED[correlations & (PUBLISHED["kind"] == "words")]["margin"]) == {0.1}


def test_what_would_deviate_by_chance():
    card = pd.DataFrame(
        [("test", "share", "reproduced"), ("test", "words", "deviates"),
         ("test", "mean", "undecided"), ("repeat", "share", "compatible")],
        columns=["tally", "kind", "verdict"],
    )  # fmt: skip
    chance = claims.by_chance(card[card["tally"] == "test"])
    assert chance[:3] == (1, 3, pytest.approx(0.125))
    assert chance.p == pytest.approx(1 - 0.95**2 * 0.975)


@pytest.mark.parametrize("name", ["config", "paper", "findings", "full_length"])
def test_shipped_configs_meet_the_conditions_of_the_papers(name):
    study = planning.plan_file(ROOT / f"config/{name}.yaml")
    asked = PUBLISHED[PUBLISHED["role"].isin(study.reproduce)]
    assert len(asked) > 10
    for row in asked.itertuples():
        strict = scorecard._assignments(row.conditions)
        whole = name in ("paper", "findings") or (name == "full_length" and row.tally == "beyond")
        if whole and row.source != "Easing Optimization Paths":
            assert scorecard.unmet(study, row.role, strict) == "", row.claim
        # The first run has figures of these roles, from runs that share no embedding.
        is_drawn = row.role in ("initial_signals", "initial_gradients", "forecast")
        if name == "config" and not is_drawn and (row.shorter or row.accepts):
            loose = strict | scorecard._assignments(row.shorter or row.accepts)
            assert scorecard.unmet(study, row.role, loose) == "", row.claim


def test_the_first_run_counts_tests_of_every_paper():
    """Tests of Ding et al. count for runs of 2000 steps if these are shown to decide the same."""
    study = planning.plan_file(ROOT / "config/config.yaml")
    tests = PUBLISHED[(PUBLISHED["tally"] == "test") & PUBLISHED["role"].isin(study.reproduce)]
    conditions = tests[["conditions", "shorter"]].map(scorecard._assignments)
    rows = zip(tests["role"], *map(conditions.get, conditions), strict=True)
    counted = [not scorecard.unmet(study, role, wanted | more) for role, wanted, more in rows]
    counts = tests[counted].groupby("collection").size()
    assert (counts[["musat", "odonnat"]] >= 15).all()
    assert counts["ding"] == 5


@pytest.mark.parametrize("paper", ["musat", "ding", "odonnat", "findings"])
def test_claims_in_words_are_those_of_their_table(paper):
    (collection,) = (one for one in registry.SHIPPED if one.name == paper)
    rows = [c for c in claims_file.claims(collection) if c.table == f"{paper}_claims"]
    made = load(collection.modules("tables")[f"{paper}_claims"])._CLAIMS
    roles = {name: role for name, role, *_ in made}
    if paper == "ding":
        del roles["signal_correlation"]  # the figure's claim; the scorecard has it at 50 runs
    assert {row.keys["claim"]: row.role for row in rows} == roles


def asked(**changes):
    """Return a study whose experiment has the role ``asked``."""
    study = planning.plan(config(**changes))
    return replace(study, config=structs.replace(study.config, reproduce={"asked": "e"}))


def test_other_conditions_are_not_compared():
    study = asked(steps=200)
    assert scorecard.unmet(study, "asked", {"p": "17", "steps": "200"}) == ""
    reason = scorecard.unmet(study, "asked", {"p": "17", "steps": "2000"})
    assert reason == "runs with steps 200, the paper has 2000"
    reason = scorecard.unmet(study, "other", {"p": "17"})
    assert reason == "not part of this study: `reproduce` has no other"


def test_runs_that_share_a_seed_are_not_compared():
    reason = scorecard.unmet(asked(seeds={"count": 2, "embedding": 0}), "asked", {"p": "17"})
    assert reason == "runs with shared seeds embedding, the paper has none"
    for seeds in ({"count": 2, "embedding": 0}, {"count": 2}):
        assert scorecard.unmet(asked(seeds=seeds), "asked", {"p": "17", "shared": "any"}) == ""


def answer(monkeypatch, frame, claimed, **changes):
    monkeypatch.setattr(parquet, "read_table", lambda study, name: {"effects": frame}[name])
    usual = {"claim": "one", "collection": "lab", "role": "asked", "table": "effects", "keys": {}}
    usual |= {"conditions": "", "shorter": "", "accepts": "", "tally": "test"}
    return scorecard._answer(asked(**changes), pd.Series(usual | claimed.to_dict()))


def test_a_claim_that_other_conditions_can_tell_says_in_what_they_differ(monkeypatch):
    frame = pd.DataFrame(
        [{"claim": "it_rises", "x": 0.9, "x_low": 0.8, "x_high": 0.95, "x_n": 42, "n_runs": 40,
          "n_planned": 42}]
    )  # fmt: skip
    about = {"keys": {"claim": "it_rises"}, "conditions": "p=17;steps=30000"}
    row = answer(monkeypatch, frame, rises(accepts="steps>=1000", **about), steps=1000)
    assert (row["verdict"], row["n_runs"]) == ("reproduced", 40)
    assert row["tally"] == "other"  # not among the tests
    assert row["note"] == "runs with steps 1000, the paper has 30000"
    strict = answer(monkeypatch, frame, rises(**about), steps=1000)
    assert strict["verdict"] == "not_run"
    shown = about | {"shorter": "steps>=1000"}  # shown to decide the same
    same = answer(monkeypatch, frame, rises(**shown), steps=1000)
    assert (same["verdict"], same.get("tally", "test")) == ("reproduced", "test")
    assert same["note"].endswith("the paper has 30000, but from step 1000 on they decide the same")
    assert answer(monkeypatch, frame, rises(**shown), steps=999)["verdict"] == "not_run"


def test_runs_of_which_none_can_be_judged_are_undecided(monkeypatch):
    none = dict.fromkeys(("x", "x_low", "x_high"), math.nan)
    counts = {"x_n": 0, "n_runs": 40, "n_planned": 42}
    frame = pd.DataFrame([{"claim": "it_rises"} | none | counts])
    about = {"keys": {"claim": "it_rises"}}
    row = answer(monkeypatch, frame, rises(**about))
    assert (row["verdict"], row["note"]) == ("undecided", "nothing to judge in 40 runs")


def test_a_claim_is_answered_by_its_row_and_column(monkeypatch):
    frame = pd.DataFrame(
        [{"experiment": experiment, "weight_decay": decay, "sample": sample,
          "x": 100 * decay + len(sample) + 50 * (experiment != "e"), "x_low": 62, "x_high": 64,
          "x_n": 77, "y": -1, "n_runs": 90, "n_planned": 100}
         for experiment in ("d", "e") for decay in (0.0, 0.3, 0.6, 1.0)
         for sample in ("first_100", "all")]
    )  # fmt: skip
    keys = {"weight_decay": "0.6", "sample": "all"}
    one = claim("mean", 63, 88, margin=5, keys=keys, conditions="p=17;steps=2000")
    row = answer(monkeypatch, frame, one, steps=2000)
    assert row["measured"] == 63
    assert (row["measured_low"], row["measured_high"], row["measured_n"]) == (62, 64, 77)
    assert (row["n_runs"], row["n_planned"]) == (90, 100)
    none = answer(monkeypatch, frame.query("weight_decay == 0"), one, steps=2000)
    assert (none["verdict"], none["n_planned"]) == ("not_run", 0)
    assert "has no row with weight_decay=0.6;sample=all" in none["note"]
    other = answer(monkeypatch, frame, one, steps=1999)
    reason = "runs with steps 1999, the paper has 2000"
    assert (other["verdict"], other["note"]) == ("not_run", reason)


@pytest.mark.parametrize(
    ("cells", "written"),
    [
        ([0.1, 0.6], "0.60"),
        ([1.0, 0.001], "1e-3"),
        ([59, 97], "97"),
        ([math.nan, 100.0], "100"),
        ([False, True], "true"),
        (["all", "0.5"], "0.50"),
        (["1_1", "1_2"], "1_2"),
        ([1, 0.0], "-0"),
        ([5, 10**15], "1000000000000000"),
    ],
)
def test_keys_of_a_row_are_written_as_in_yaml(monkeypatch, cells, written):
    rows = {"k": cells, "x": 0.5, "x_low": [0.6, 0.2], "x_high": 0.9, "x_n": 9, "n_runs": 9}
    frame = pd.DataFrame(rows | {"n_planned": 9})
    assert answer(monkeypatch, frame, rises(keys={"k": written}))["measured_low"] == 0.2
    assert answer(monkeypatch, frame, rises(keys={"k": "other"}))["verdict"] == "not_run"


def test_a_claim_by_a_column_that_its_table_lacks_names_both(monkeypatch):
    one = rises(keys={"size": "1"})
    with pytest.raises(ConfigError, match="lab: one: the table effects has no column 'size'"):
        answer(monkeypatch, pd.DataFrame([{"x": 1}]), one)
    with pytest.raises(ConfigError, match="lab: one: the table effects has no column 'n_runs'"):
        row = {"size": 1, "x": 1, "x_low": 1, "x_high": 1, "x_n": 1, "n_planned": 2}
        answer(monkeypatch, pd.DataFrame([row]), one)


COLUMNS = ",".join((*claims_file.COLUMNS, "where.x"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "sign"}, "no kind 'sign' (there are: share, correlation"),
        ({"tally": "none"}, "no tally 'none'"),
        ({"reference": "hearsay"}, "no reference 'hearsay' (there are: paper)"),
        ({"published": "x"}, "published must be a number"),
        ({"published": "inf"}, "published must be finite"),
        ({"published": ""}, "published: a share needs it"),
        ({"published": "12"}, "published must be a count among published_n runs"),
        ({"kind": "mean"}, "published_low or margin: a mean needs it"),
        (
            {"kind": "mean", "published_low": "1"},
            "published_low and published_high must both be given, or neither",
        ),
        (
            {"kind": "mean", "published_low": "6", "published_high": "7"},
            "published must lie between",
        ),
        ({"kind": "mean", "margin": "0"}, "margin must be above 0"),
        ({"kind": "ratio", "margin": "1"}, "margin must be a factor above 1"),
        ({"kind": "ratio", "margin": "2", "published": "-1"}, "a ratio needs numbers above 0"),
        ({"kind": "correlation"}, "published must lie between -1 and 1"),
        ({"kind": "words", "margin": "1"}, "least or most: a words needs it"),
        (
            {"kind": "words", "margin": "1", "least": "2", "most": "1"},
            "least must not be above most",
        ),
    ],
)
def test_claims_that_cannot_be_judged_are_refused(tmp_path, changes, message):
    row = {
        "claim": "one", "reference": "paper", "kind": "share", "tally": "test", "published": "5",
        "published_n": "10",
    } | changes  # fmt: skip
    cells = (row.get(name, "") for name in COLUMNS.split(","))
    (tmp_path / "claims.csv").write_text(f"{COLUMNS}\n{','.join(cells)}\n")
    with pytest.raises(ConfigError, match=r"claims\.csv: one: ") as error:
        claims_file.claims(registry.Collection("mine", tmp_path, "mine"))
    assert message in str(error.value)
