import json
import math

import pandas as pd
import pytest
from conftest import ROOT

from circlet.analysis import stats
from circlet.analysis.stats import Estimate
from circlet.storage import parquet
from circlet.study import config_file, declarations
from circlet.study.declarations import SYSTEMS
from circlet.study.plan import Study
from circlet.sweeps.tables import scorecard

PUBLISHED = pd.read_csv(declarations.PACKAGE / "data/published.csv").fillna(
    {"conditions": "", "accepts": ""}
)


def claim(kind, column="x", published=math.nan, low=math.nan, high=math.nan, n=math.nan):
    return pd.Series(
        {"kind": kind, "column": column, "published": published, "published_low": low,
         "published_high": high, "published_n": n}
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
        (claim("mean", published=10, n=1), ours(68, 27, 109, 2), "not_run"),
        (claim("mean", published=60, n=25), ours(60, n=1), "not_run"),
        (claim("correlation", published=-0.64, n=82), ours(-0.65, -0.71, -0.57), "reproduced"),
        (claim("correlation", published=-0.64, n=82), ours(-0.85, -0.88, -0.81), "deviates"),
        (claim("correlation", published=-0.64, n=82), ours(-1.0), "not_run"),
        # A tolerance: inside or not; that of a quarter of the runs is twice as wide.
        (claim("range", published=40, low=30, high=50, n=100), ours(30, 20, 40), "reproduced"),
        (claim("range", published=40, low=30, high=50, n=100), ours(29.9, 20, 40), "deviates"),
        (claim("range", published=40, low=38, high=50, n=100), ours(60, n=25), "reproduced"),
        (claim("range", published=40, low=38, high=50, n=100), ours(60.1, n=25), "deviates"),
        (claim("range", published=40, low=38, high=50, n=100), ours(36, n=25), "reproduced"),
        (claim("range", published=40, low=38, high=50, n=100), ours(35.9, n=25), "deviates"),
        (claim("range", published=40, low=30, high=50, n=100), ours(40, n=4), "not_run"),
        (claim("range", published=40, low=30, high=50, n=100), ours(math.nan, n=0), "not_run"),
        (claim("range", published=27, low=10, n=1), ours(1000, n=3), "reproduced"),
        (claim("range", published=27, low=10, n=1), ours(9, n=3), "deviates"),
        (claim("range", published=27, low=10, n=1), ours(math.nan, n=3), "deviates"),
        (claim("sign"), ours(0.5, 0.1, 0.9), "reproduced"),
        (claim("sign"), ours(0.5, -0.1, 1.1), "not_run"),
        (claim("sign"), ours(-0.5, -0.9, -0.1), "deviates"),
        (claim("sign"), ours(0.5), "not_run"),
    ],
)
def test_verdicts(judged, measured, verdict):
    found = scorecard.judge(judged, measured)
    assert found["verdict"] == verdict
    assert bool(found["note"]) == (verdict == "not_run")
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


def test_every_paper_has_a_title():
    papers = pd.read_csv(declarations.PACKAGE / "data/papers.csv")
    assert set(PUBLISHED["paper"]) == set(papers["paper"])


def test_published_cells_are_complete():
    cells = PUBLISHED[PUBLISHED["source"].isin(["Table 1", "Table 2"])]
    assert len(cells) == 4 * 6 + 3 * 3
    assert PUBLISHED["claim"].is_unique
    assert set(PUBLISHED["kind"]) <= {"count", "absent", "mean", "correlation", "range", "sign"}


def test_circles_and_the_rest_add_up_in_the_paper():
    cells = PUBLISHED[PUBLISHED["source"].isin(["Table 1", "Table 2"])].set_index("claim")
    for name, rest in cells[cells["column"].isin(["non_circles", "grids"])].iterrows():
        circles = cells.loc[name.replace("_non_circles", "_circles").replace("_grids", "_circles")]
        assert rest["published"] + circles["published"] == 100


@pytest.mark.parametrize("name", ["config", "paper"])
def test_shipped_configs_meet_the_conditions_of_the_paper(name):
    study = Study.read(ROOT / f"config/{name}.yaml")
    for claim_ in PUBLISHED.itertuples():
        role, conditions, accepts = claim_.role, claim_.conditions, claim_.accepts
        strict = scorecard._assignments(conditions)
        if name == "paper" and role in study.reproduce:
            assert scorecard.unmet(study, role, strict) == "", claim_.claim
        if name == "config" and accepts not in ("", "steps>=10000") and role in study.reproduce:
            loose = strict | scorecard._assignments(accepts)
            assert scorecard.unmet(study, role, loose) == "", claim_.claim
        if claim_.paper == "musat":
            assert scorecard.unmet(study, role, strict) == ""


def test_other_conditions_are_not_compared():
    study = Study.read(ROOT / "config/smoke.yaml")
    text = PUBLISHED.set_index("claim").loc["musat_table1_wd1_circles", "conditions"]
    conditions = scorecard._assignments(text)
    assert "steps 200" in scorecard.unmet(study, "table1", conditions)
    assert "names no experiment" in scorecard.unmet(study, "table9", conditions)


def test_runs_that_share_a_seed_are_not_compared():
    config_ = json.loads(Study.read(ROOT / "config/config.yaml").json)
    config_["experiments"]["weight_decay"]["seeds"]["embedding"] = 0
    reason = scorecard.unmet(Study.of(config_), "table1", {"p": "17"})
    assert reason == "runs with shared seeds embedding, the paper has none"


def test_bounds_and_other_accepted_conditions():
    assert scorecard._assignments("p=17;steps>=1000") == {"p": "17", "steps": ">=1000"}
    assert scorecard._same(1000, ">=1000")
    assert not scorecard._same(999, ">=1000")


def test_a_claim_that_other_conditions_can_tell_says_in_what_they_differ(monkeypatch):
    config_ = json.loads(Study.read(ROOT / "config/config.yaml").json)
    frame = pd.DataFrame(
        [{"claim": "circles_rise_with_p", "effect": 0.9, "effect_low": 0.8, "effect_high": 0.95,
          "effect_n": 42, "n_runs": 40, "n_planned": 42}]
    )  # fmt: skip
    monkeypatch.setattr(parquet, "read_table", lambda *_: frame)
    claim_ = PUBLISHED.set_index("claim", drop=False).loc["ding_circles_rise_with_p"]
    found = scorecard._answer(Study.of(config_), claim_)
    assert (found["verdict"], found["n_runs"]) == ("reproduced", 40)
    assert found["note"] == "runs with steps 1000, the paper has 30000"
    strict = scorecard._answer(Study.of(config_), claim_.replace({"steps>=1000": ""}))
    assert strict["verdict"] == "not_run"


def test_conditions_name_real_parameters():
    known = {"steps", "epochs", "shared"}
    known = known.union(*(declarations.declared(s)["PARAMETERS"] for s in SYSTEMS))
    owners = {"base", *config_file.schema()["properties"]["reproduce"]["properties"]}
    for name in (n for c in PUBLISHED["conditions"] for n in scorecard._assignments(c)):
        *owner, key = name.split(".")
        assert key in known
        assert set(owner) <= owners


def test_conditions_of_a_base_and_of_another_role():
    study = Study.read(ROOT / "config/paper.yaml")
    assert scorecard.unmet(study, "transfer", {"base.p": "2", "scratch.p": "3"}) == ""
    reason = scorecard.unmet(study, "transfer", {"base.steps": "10"})
    assert reason == "runs with base.steps 64000, the paper has 10"
    assert "scratch.p 3" in scorecard.unmet(study, "transfer", {"scratch.p": "2"})
    assert "base.p None" in scorecard.unmet(study, "heads", {"base.p": "2"})
    assert scorecard.unmet(study, "batch_sizes", {"epochs": "1000"}) == ""


def answer(monkeypatch, frame, **changes):
    config_ = json.loads(Study.read(ROOT / "config/paper.yaml").json)
    config_["experiments"][config_["reproduce"]["table1"]].update(changes)
    monkeypatch.setattr(parquet, "read_table", lambda *_: frame)
    claim = PUBLISHED.set_index("claim", drop=False).loc["musat_table1_wd0.6_imperfections"]
    return scorecard._answer(Study.of(config_), claim)


def test_a_claim_is_answered_by_its_row_and_column(monkeypatch):
    rows = [
        {"weight_decay": decay, "sample": sample, "imperfections": 100 * decay + len(sample),
         "imperfections_low": 62, "imperfections_high": 64, "imperfections_n": 77,
         "circles": -1, "n_runs": 90, "n_planned": 100}
        for decay in (0.0, 0.3, 0.6, 1.0) for sample in ("first_100", "all")
    ]  # fmt: skip
    found = answer(monkeypatch, pd.DataFrame(rows))
    assert found["measured"] == 63
    assert (found["low"], found["high"], found["n_runs"], found["n_planned"]) == (62, 64, 77, 100)
    none = answer(monkeypatch, pd.DataFrame(rows[:2]))
    assert (none["verdict"], none["n_planned"]) == ("not_run", 0)
    assert "has no row with weight_decay=0.6" in none["note"]
    other = answer(monkeypatch, pd.DataFrame(rows), steps=1999)
    assert (other["verdict"], other["note"]) == (
        "not_run",
        "runs with steps 1999, the paper has 2000",
    )


@pytest.mark.parametrize(("n", "verdict"), [(4, "not_run"), (5, "reproduced")])
def test_fewer_than_five_runs_decide_nothing(n, verdict):
    found = scorecard.judge(claim("mean", published=60, n=25), Estimate(60, 50, 70, n))
    assert found["verdict"] == verdict


def test_an_absent_cell_is_a_count_of_none():
    found = scorecard.difference(claim("absent", n=100), stats.count(6, 300))
    assert found[0] == pytest.approx(2)


PRINTED_1 = """
0.0 0 - 100 18.2 102.2 6.1 -0.92 -0.95 -0.88
0.3 1 77.4 99 34.8 72.7 6.6 -0.90 -0.93 -0.85
0.6 12 65.9 88 51.6 39.6 4.0 -0.84 -0.89 -0.77
1.0 18 60.4 82 46.7 31.6 4.0 -0.64 -0.75 -0.49
"""


PRINTED_2 = """
0.5 0 100 35.5 3.7
1.0 17 83 36.3 4.8
2.0 56 44 42.9 10.1
"""


def printed():
    """Every cell as (table, row, column) -> published, low, high, n."""
    nan = math.nan
    for line in PRINTED_1.split("\n")[1:-1]:
        decay, circles, accuracy, *rest = (nan if c == "-" else float(c) for c in line.split())
        others, other_accuracy, imperfections, half, r, low, high = rest
        yield from {
            ("table1", decay, "circles"): (circles, nan, nan, 100),
            ("table1", decay, "circle_accuracy"): (accuracy, nan, nan, circles),
            ("table1", decay, "non_circles"): (others, nan, nan, 100),
            ("table1", decay, "non_circle_accuracy"): (other_accuracy, nan, nan, others),
            ("table1", decay, "imperfections"): (
                imperfections, imperfections - half, imperfections + half, others
            ),
            ("table1", decay, "correlation"): (r, low, high, others),
        }.items()  # fmt: skip
    for line in PRINTED_2.split("\n")[1:-1]:
        f_a, circles, grids, imperfections, half = map(float, line.split())
        yield from {
            ("table2", f_a, "circles"): (circles, nan, nan, 100),
            ("table2", f_a, "grids"): (grids, nan, nan, 100),
            ("table2", f_a, "imperfections"): (
                imperfections, imperfections - half, imperfections + half, grids
            ),
        }.items()  # fmt: skip


def test_published_values_are_as_printed():
    """Typed in a second time, in the layout of the paper's tables 1 and 2."""
    cells = pd.read_csv(declarations.PACKAGE / "data/published.csv").query(
        "table in ['table1', 'table2']"
    )
    found = {
        (row.table, float(where["weight_decay" if row.table == "table1" else "f_a"]), row.column): (
            row.published, row.published_low, row.published_high, row.published_n,
        )
        for row in cells.itertuples()
        for where in [scorecard._assignments(row.where)]
        if where["sample"] == "all" and row.kind != "absent"
    }  # fmt: skip
    expected = {key: values for key, values in printed() if not math.isnan(values[0])}
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert found[key] == pytest.approx(values, nan_ok=True), key
