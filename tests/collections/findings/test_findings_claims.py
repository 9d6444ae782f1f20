import math

import pandas as pd
import pytest
from conftest import ROOT

from circlet.analysis import claims, verdicts
from circlet.analysis.stats import Estimate
from circlet.collections.findings.tables import findings_claims
from circlet.storage import parquet
from circlet.study import planning

STUDY = planning.plan_file(ROOT / "config/findings.yaml")
PUBLISHED = claims.read(STUDY).set_index("claim")
OURS = PUBLISHED[PUBLISHED["collection"] == "findings"]


def judged(name, effect):
    return verdicts.judge(OURS.loc[f"findings_{name}"].to_dict(), effect).verdict


def runs_of(arithmetic, lost, spike=1.0, circles=5):
    """Return rows of `precision`, one per start; ``lost`` counts the lost circles of float64."""
    return pd.DataFrame(
        {"arithmetic": arithmetic, "seed": range(len(lost)), "lost": lost, "gained": 0,
         "late_spike": spike, "n_circles": [circles - n for n in lost]}
    )  # fmt: skip


@pytest.fixture
def precision():
    return pd.concat([
        runs_of("float64 exact", [0] * 12, 1e-7),
        runs_of("float32 exact", [0] * 12, 1e-7),
        runs_of("float32 cancelling", [1, 2, 1, 3, 2, 1, 1, 2, 2, 1, 1, 2], [1e-4, 3e-4] * 6),
        runs_of("float32 exact, tf32 products", [0, 0, 0, 1] * 3),
    ])  # fmt: skip


def test_arithmetics_are_told_by_the_circles_that_they_keep(precision):
    usual = findings_claims.kept(precision, "float32 cancelling")
    assert usual.value == pytest.approx(1 - 19 / 60)
    spared = findings_claims.kept_more(precision, "float32 exact")
    assert spared.value == pytest.approx(19 / 60)
    assert judged("subtraction_loses_circles", spared) == verdicts.REPRODUCED
    rounded = findings_claims.kept_more(precision, "float32 exact, tf32 products")
    assert rounded.value == pytest.approx(16 / 60)
    assert judged("tf32_spares_circles", rounded) == verdicts.REPRODUCED
    assert findings_claims.kept_more(precision, "float32 exact, bfloat16 products") is None
    losing = findings_claims.losing(precision, "float32 cancelling")
    assert judged("subtraction_hurts_most_runs", losing) == verdicts.REPRODUCED
    none = findings_claims.losing(precision, "float32 exact")
    assert judged("subtraction_hurts_most_runs", none) == verdicts.DEVIATES
    spikes = findings_claims.spikes(precision, "float32 cancelling")
    assert spikes.value == pytest.approx(1000 * math.sqrt(3))
    assert judged("subtraction_makes_spikes", spikes) == verdicts.REPRODUCED


def test_twelve_starts_without_a_loss_do_not_bound_what_all_keep(precision):
    """One start in twenty may lose circles: 0.95 is neither excluded nor certain."""
    kept = findings_claims.kept(precision, "float32 exact")
    assert (kept.value, kept.high) == (1, 1)
    assert judged("exact_float32_keeps_circles", kept) == verdicts.UNDECIDED


def test_runs_without_a_twin_in_float64_are_left_out(precision):
    precision.loc[precision["seed"] > 5, "lost"] = math.nan
    assert findings_claims.kept(precision, "float32 cancelling").n == 6


def row(name, value, half, n, **keys):
    return keys | Estimate(value, value - half, value + half, n).columns(name)


def test_kinds_of_runs_are_told_apart_by_the_intervals_of_both():
    rows = pd.DataFrame([
        row("value", 0.6, 0.06, 13, structure="circle"),
        row("value", 0.3, 0.08, 40, structure="grid"),
        row("value", 0.4, 0.01, 100, structure="any"),
    ])  # fmt: skip
    gap = findings_claims.gap(rows, "value", "structure", "circle", "grid")
    assert gap == pytest.approx(Estimate(0.3, 0.2, 0.4, 13))
    assert judged("circles_feel_more_alignment", gap) == verdicts.REPRODUCED
    swapped = findings_claims.gap(rows, "value", "structure", "grid", "circle")
    assert judged("circles_feel_more_alignment", swapped) == verdicts.DEVIATES
    none = findings_claims.gap(rows[1:], "value", "structure", "circle", "grid")
    assert none.n == 0
    assert math.isnan(none.value)


def test_strengths_are_compared_as_factors():
    rows = pd.DataFrame([
        row("f_a", 2.0, 0.2, 13, structure="circle"), row("f_a", 0.5, 0.1, 40, structure="grid"),
    ])  # fmt: skip
    ratio = findings_claims.strength_of_circles(rows)
    assert ratio.value == pytest.approx(4)
    assert 2.5 < ratio.low < 4 < ratio.high < 5.5
    assert judged("circles_have_stronger_alignment", ratio) == verdicts.REPRODUCED
    unknown = rows.assign(f_a_low=-0.1)
    assert math.isnan(findings_claims.strength_of_circles(unknown).low)


@pytest.mark.parametrize(
    ("gain", "half", "verdict"),
    [
        (0.4, 0.1, verdicts.REPRODUCED),
        (0.07, 0.03, verdicts.UNDECIDED),
        (0, 0.01, verdicts.DEVIATES),
    ],
)
def test_memory_is_judged_by_what_persistence_leaves_where_it_may_add_least(gain, half, verdict):
    laws = pd.DataFrame([
        row("beyond_persistence", 0.45, 0.01, 30, law="memory", first_step=0),
        row("beyond_persistence", gain, half, 30, law="memory", first_step=10),
        row("beyond_persistence", -9.0, 1.0, 30, law="three_numbers", first_step=10),
    ])  # fmt: skip
    effect = findings_claims.beyond_persistence(laws)
    assert effect == pytest.approx(Estimate(gain, gain - half, gain + half, 30))
    assert judged("memory_adds_to_persistence", effect) == verdict


def answers(monkeypatch, role, tables):
    """The answers to the claims of one role, from its tables."""
    monkeypatch.setattr(parquet, "read_table", lambda _, name, __: tables[name])
    return findings_claims.table(STUDY.subset([STUDY.reproduce[role]], [role]))


def test_laws_are_judged_by_the_survivors_that_they_predict_from_a_step_on(monkeypatch):
    laws = {"order": 0.7, "three_numbers": 0.6, "equivariant": 0.61, "unconstrained": 0.3,
            "mean_field": 0.1, "memory": 0.58, "persistence": 0.69}  # fmt: skip
    index = {(law, step): value + (step == 10) * (law == "three_numbers")
             for law, value in laws.items() for step in (10, 50)}  # fmt: skip
    frame = pd.DataFrame([
        row("beyond_three", value - index["three_numbers", step], 0.01, 30,
            law=law, step=step, point="p59", jaccard_n=30)
        | row("beyond_order", value - index["order", step], 0.01, 30)
        for (law, step), value in index.items()
    ])  # fmt: skip
    tables = {"shared_law_rollouts": frame, "shared_laws": frame[:0]}
    rows = {answer["claim"]: answer for answer in answers(monkeypatch, "shared_law", tables)}
    assert {(answer["n_runs"], answer["n_planned"]) for answer in rows.values()} == {(30, 30)}
    effects = {name: answer["effect"] for name, answer in rows.items()}
    assert effects == pytest.approx({
        "ratios_add_little": 0.01, "free_law_is_worse": -0.3, "moments_diverge": -0.5,
        "memory_diverges": -0.02, "order_tells_as_much": -0.1, "order_tells_as_much_early": 0.9,
        "last_change_tells_more": -0.01,
    })  # fmt: skip
    agreeing = {
        name for name, answer in rows.items()
        if judged(name, Estimate.of_row(answer, "effect")) == verdicts.REPRODUCED
    }  # fmt: skip
    assert agreeing == {
        "ratios_add_little", "free_law_is_worse", "moments_diverge", "order_tells_as_much"
    }  # fmt: skip


def test_rows_are_of_the_runs_that_a_claim_is_about(monkeypatch):
    frame = pd.DataFrame([
        row("excess", excess, 0.1, n, relation="sum", size=size, p=59, d=128, weight_decay=decay,
            n_runs=n, n_planned=1000)
        for excess, size, decay, n in
        [(0.4, math.nan, 0.5, 950), (2.0, 4, 0.5, 400), (3.0, math.nan, 0.2, 1000)]
    ])  # fmt: skip
    (answer,) = answers(monkeypatch, "survey", {"relations": frame})
    assert answer["claim"] == "sums_are_rare"
    assert answer["effect"] == 0.4
    assert (answer["n_runs"], answer["n_planned"]) == (950, 1000)
    assert judged("sums_are_rare", Estimate(0.4, 0.3, 0.5, 950)) == verdicts.REPRODUCED
    assert judged("sums_are_rare", Estimate(1.0, 0.9, 1.1, 950)) == verdicts.DEVIATES


def test_no_claim_counts_as_a_test_of_a_paper():
    assert set(OURS["tally"]) == {"beyond"}
