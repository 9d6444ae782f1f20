import math
from dataclasses import replace

import pandas as pd
import pytest
from conftest import ROOT, config

from circlet.analysis import claims, stats
from circlet.analysis.stats import Estimate
from circlet.errors import ConfigError
from circlet.storage import parquet
from circlet.study import registry
from circlet.study.plan import Study
from circlet.sweeps.tables import scorecard

PUBLISHED = claims.read(Study.read(ROOT / "config/paper.yaml"))


def claim(kind, column="x", published=math.nan, low=math.nan, high=math.nan, n=math.nan, **others):
    return pd.Series(
        {"kind": kind, "column": column, "published": published, "published_low": low,
         "published_high": high, "published_n": n, **others}
    )  # fmt: skip


def ours(value, low=math.nan, high=math.nan, n=300):
    return Estimate(value, low, high, n)


@pytest.mark.parametrize(
    ("judged", "measured", "verdict"),
    [
        # 12 of 100 against 36 of 300 is the same share; against 15 of 300 it is not.
        (claim("count", published=12, n=100), ours(36), "reproduced"),
        (claim("count", published=12, n=100), ours(15), "deviates"),
        # The published sample has noise too: 8 of 300 lies within that of 5 of 100.
        (claim("count", published=5, n=100), ours(8), "reproduced"),
        (claim("count", published=12, n=100), ours(math.nan, n=0), "not_run"),
        (claim("absent", n=100), ours(0), "reproduced"),
        (claim("absent", n=100), ours(40), "deviates"),
        # Means with a published interval: the half-widths add in squares, 5 from 3 and 4.
        (claim("mean", published=40, low=36, high=44, n=88), ours(44.9, 41.9, 47.9), "reproduced"),
        (claim("mean", published=40, low=36, high=44, n=88), ours(45.1, 42.1, 48.1), "deviates"),
        # Without one our spread stands for both: half-width 2 of 100 runs is 4.47 of their 25.
        (claim("mean", published=60, n=25), ours(64.4, 62.4, 66.4, 100), "reproduced"),
        (claim("mean", published=60, n=25), ours(64.6, 62.6, 66.6, 100), "deviates"),
        (claim("mean", published=10, n=1), ours(68, 27, 109, 2), "undecided"),
        (claim("mean", published=60, n=25), ours(60, n=1), "undecided"),
        (claim("correlation", published=-0.64, n=82), ours(-0.65, -0.71, -0.57), "reproduced"),
        (claim("correlation", published=-0.64, n=82), ours(-0.85, -0.88, -0.81), "deviates"),
        (claim("correlation", published=-0.64, n=82), ours(-1.0), "undecided"),
        # A tolerance: inside or not; that of a quarter of the runs is twice as wide.
        (claim("range", published=40, low=30, high=50, n=100), ours(30, 20, 40), "reproduced"),
        (claim("range", published=40, low=30, high=50, n=100), ours(29.9, 20, 40), "deviates"),
        (claim("range", published=40, low=38, high=50, n=100), ours(60, n=25), "reproduced"),
        (claim("range", published=40, low=38, high=50, n=100), ours(60.1, n=25), "deviates"),
        (claim("range", published=40, low=38, high=50, n=100), ours(36, n=25), "reproduced"),
        (claim("range", published=40, low=38, high=50, n=100), ours(35.9, n=25), "deviates"),
        (claim("range", published=40, low=30, high=50, n=100), ours(40, n=4), "undecided"),
        (claim("range", published=40, low=30, high=50, n=100), ours(math.nan, n=0), "not_run"),
        (claim("range", published=27, low=10, n=1), ours(1000, n=3), "reproduced"),
        (claim("range", published=27, low=10, n=1), ours(9, n=3), "deviates"),
        (claim("range", published=27, low=10, n=1), ours(math.nan, n=3), "deviates"),
        (claim("sign"), ours(0.5, 0.1, 0.9), "reproduced"),
        (claim("sign"), ours(0.5, -0.1, 1.1), "undecided"),
        (claim("sign"), ours(-0.5, -0.9, -0.1), "deviates"),
        (claim("sign"), ours(0.5), "undecided"),
    ],
)
def test_verdicts(judged, measured, verdict):
    found = scorecard.judge(judged, measured)
    assert found["verdict"] == verdict
    assert bool(found["note"]) == (verdict in ("undecided", "not_run"))
    assert found["n_runs"] == measured.n


def test_correlations_are_compared_on_fishers_scale():
    found = scorecard.difference(claim("correlation", published=-0.9, n=99), ours(-0.8, -1, -0.5))
    spread = 1.959964 * math.hypot(1 / math.sqrt(297), 1 / math.sqrt(96))
    assert found[1] == pytest.approx(math.tanh(math.atanh(-0.8) - spread) + 0.9)
    assert found[2] == pytest.approx(math.tanh(math.atanh(-0.8) + spread) + 0.9)


def test_counts_are_shown_per_published_runs():
    found = scorecard.judge(claim("count", published=12, n=100), stats.count(15, 300))
    assert found["measured"] == pytest.approx(5)
    assert found["low"] < 5 < found["high"]
    assert found["difference"] == pytest.approx(-7)


def test_every_collection_with_claims_has_a_title():
    claiming = [c for c in registry.SHIPPED if (c.folder / "claims.csv").exists()]
    assert set(PUBLISHED["collection"]) == {c.name for c in claiming}
    for collection in claiming:
        assert all(collection.about[key] for key in ("short", "authors", "title", "year"))


def test_published_claims_are_of_known_kinds():
    assert PUBLISHED["claim"].is_unique
    assert set(PUBLISHED["kind"]) <= {"count", "absent", "mean", "correlation", "range", "sign"}


@pytest.mark.parametrize("name", ["config", "paper"])
def test_shipped_configs_meet_the_conditions_of_the_papers(name):
    study = Study.read(ROOT / f"config/{name}.yaml")
    for row in PUBLISHED[PUBLISHED["role"].isin(study.reproduce)].itertuples():
        strict = scorecard._assignments(row.conditions)
        if name == "paper":
            assert scorecard.unmet(study, row.role, strict) == "", row.claim
        if name == "config" and row.accepts not in ("", "steps>=10000"):
            loose = strict | scorecard._assignments(row.accepts)
            assert scorecard.unmet(study, row.role, loose) == "", row.claim


def test_conditions_name_real_parameters():
    known = {"steps", "epochs", "shared"}
    known = known.union(*(s.parameters for s in registry.Systems(registry.SHIPPED).values()))
    owners = {"parent"}.union(*(c.roles for c in registry.SHIPPED))
    assert set(PUBLISHED["role"]) <= owners
    for name in (n for c in PUBLISHED["conditions"] for n in scorecard._assignments(c)):
        *owner, key = name.split(".")
        assert key in known
        assert set(owner) <= owners


def asked(**changes):
    """A study whose experiment has the role ``asked``."""
    study = Study.of(config(**changes))
    return replace(study, config=study.config | {"reproduce": {"asked": "e"}})


def test_other_conditions_are_not_compared():
    study = asked(steps=200)
    assert scorecard.unmet(study, "asked", {"p": "17", "steps": "200"}) == ""
    reason = scorecard.unmet(study, "asked", {"p": "17", "steps": "2000"})
    assert reason == "runs with steps 200, the paper has 2000"
    assert "names no experiment for other" in scorecard.unmet(study, "other", {"p": "17"})


def test_runs_that_share_a_seed_are_not_compared():
    reason = scorecard.unmet(asked(seeds={"count": 2, "embedding": 0}), "asked", {"p": "17"})
    assert reason == "runs with shared seeds embedding, the paper has none"


def test_bounds_and_other_accepted_conditions():
    assert scorecard._assignments("p=17;steps>=1000") == {"p": "17", "steps": ">=1000"}
    assert scorecard._same(1000, ">=1000")
    assert not scorecard._same(999, ">=1000")


def answer(monkeypatch, frame, claimed, **changes):
    monkeypatch.setattr(parquet, "read_table", lambda study, name: {"found": frame}[name])
    known = {"claim": "one", "collection": "lab", "role": "asked", "table": "found", "keys": {}}
    known |= {"conditions": "", "accepts": ""}
    return scorecard._answer(asked(**changes), pd.Series(known | claimed.to_dict()))


def test_a_claim_that_other_conditions_can_tell_says_in_what_they_differ(monkeypatch):
    frame = pd.DataFrame(
        [{"claim": "it_rises", "x": 0.9, "x_low": 0.8, "x_high": 0.95, "x_n": 42, "n_runs": 40,
          "n_planned": 42}]
    )  # fmt: skip
    known = {"keys": {"claim": "it_rises"}, "conditions": "p=17;steps=30000"}
    found = answer(monkeypatch, frame, claim("sign", accepts="steps>=1000", **known), steps=1000)
    assert (found["verdict"], found["n_runs"]) == ("reproduced", 40)
    assert found["note"] == "runs with steps 1000, the paper has 30000"
    strict = answer(monkeypatch, frame, claim("sign", **known), steps=1000)
    assert strict["verdict"] == "not_run"


def test_a_claim_is_answered_by_its_row_and_column(monkeypatch):
    frame = pd.DataFrame(
        [{"experiment": experiment, "weight_decay": decay, "sample": sample,
          "x": 100 * decay + len(sample) + 50 * (experiment != "e"), "x_low": 62, "x_high": 64,
          "x_n": 77, "y": -1, "n_runs": 90, "n_planned": 100}
         for experiment in ("d", "e") for decay in (0.0, 0.3, 0.6, 1.0)
         for sample in ("first_100", "all")]
    )  # fmt: skip
    keys = {"weight_decay": 0.6, "sample": "all"}
    one = claim("mean", published=63, n=88, keys=keys, conditions="p=17;steps=2000")
    found = answer(monkeypatch, frame, one, steps=2000)
    assert found["measured"] == 63
    assert (found["low"], found["high"], found["n_runs"], found["n_planned"]) == (62, 64, 77, 100)
    none = answer(monkeypatch, frame.query("weight_decay == 0"), one, steps=2000)
    assert (none["verdict"], none["n_planned"]) == ("not_run", 0)
    assert "has no row with weight_decay=0.6;sample=all" in none["note"]
    other = answer(monkeypatch, frame, one, steps=1999)
    assert (other["verdict"], other["note"]) == (
        "not_run",
        "runs with steps 1999, the paper has 2000",
    )


def test_a_claim_by_a_column_that_its_table_lacks_names_both(monkeypatch):
    one = claim("sign", keys={"size": 1})
    with pytest.raises(ConfigError, match="lab: one: the table found has no column 'size'"):
        answer(monkeypatch, pd.DataFrame([{"x": 1}]), one)


@pytest.mark.parametrize(("n", "verdict"), [(4, "undecided"), (5, "reproduced")])
def test_fewer_than_five_runs_decide_nothing(n, verdict):
    found = scorecard.judge(claim("mean", published=60, n=25), Estimate(60, 50, 70, n))
    assert found["verdict"] == verdict


def test_an_absent_cell_is_a_count_of_none():
    found = scorecard.difference(claim("absent", n=100), stats.count(6, 300))
    assert found[0] == pytest.approx(2)
