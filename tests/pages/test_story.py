"""Sentences of the report follow from the scorecard, recorded reasons and runs."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import config

from circlet.pages import story
from circlet.study import planning

ROW = {
    "claim": "a", "statement": "12 of 100 end as circles", "source": "Table 1", "unit": "of 100",
    "tally": "test", "verdict": "reproduced", "measured": 11.0, "measured_low": 8.0,
    "measured_high": 14.0, "measured_n": 100, "kind": "share", "note": "", "reason": "",
    "frozen_study": "", "frozen_tally": "",
}  # fmt: skip


def card(*changes):
    return pd.DataFrame([ROW | {"claim": f"c{i}"} | change for i, change in enumerate(changes)])


def test_a_value_has_its_unit_and_interval():
    assert story.measured(ROW) == "11 of 100 [8, 14]"
    assert story.measured(ROW | {"measured_n": 200}) == "11 of 100 [8, 14] (22 of our 200)"
    of_frozen = ROW | {"measured_n": 200.0}  # float, as in a table with missing numbers
    assert story.measured(of_frozen) == "11 of 100 [8, 14] (22 of our 200)"
    nothing = dict.fromkeys(("measured", "measured_low", "measured_high"), np.nan)
    assert story.measured(ROW | nothing | {"measured_n": 0}) == "no value"  # no run can be judged
    assert story.measured(ROW | {"unit": "runs", "measured_n": 200}) == "11 runs [8, 14]"
    mean = ROW | {"kind": "mean"}
    assert story.measured(mean | {"unit": "step"}) == "step 11 [8, 14]"
    assert story.measured(mean | {"unit": "", "measured_low": 11.0, "measured_high": 11.0}) == "11"
    assert story.measured(mean | {"unit": None, "measured": -1.0}) == "−1 [8, 14]"


@pytest.mark.parametrize(
    ("low", "high", "possible", "nothing"),
    [
        (0.00147, 64470, None, True),
        (-64470, -0.00147, None, True),
        (1.0, 1000.0, None, False),
        (-5.0, 5.0, None, False),  # signs differ: no factor
        (0.05, 0.96, (0, 1), True),
        (0.05, 0.9, (0, 1), False),
        (-0.95, 0.9, (-1, 1), True),
        (0.01, math.nan, (0, 1), False),
    ],
)
def test_an_interval_that_says_nothing_is_followed_by_cannot_tell(low, high, possible, nothing):
    assert ("cannot tell" in story.interval(low, high, possible)) == nothing


def test_only_the_value_of_a_claim_that_is_not_decided_can_say_nothing():
    wide = {"kind": "words_ratio", "unit": "times", "measured": 9.74, "verdict": "undecided",
            "measured_low": 0.00147, "measured_high": 64470.0}  # fmt: skip
    assert story.measured(ROW | wide) == "9.74 times [0.00147, 64470], cannot tell"
    assert story.measured(ROW | wide | {"verdict": "reproduced"}) == "9.74 times [0.00147, 64470]"
    some = {"verdict": "undecided", "measured_low": 2.0, "measured_high": 98.0}
    assert "cannot tell" in story.measured(ROW | some)
    assert "cannot tell" not in story.measured(ROW | some | {"unit": "runs"})
    r = {"kind": "correlation", "unit": "", "measured_low": -0.95, "measured_high": 0.95}
    assert "cannot tell" in story.measured(ROW | some | r)


def test_of_a_caption_the_first_sentence_that_says_something_is_visible():
    assert story.opening("Ding et al., figure 8. Loss on all pairs of numbers. Each line.") == (
        "Ding et al., figure 8. Loss on all pairs of numbers.", "Each line.",
    )  # fmt: skip
    whole = "How early survival is decided: the area under the ROC curve (0.5 is chance)."
    assert story.opening(whole) == (whole, "")


def test_claims_that_deviate_for_one_reason_are_told_once_and_repeats_of_a_test_are_left_out():
    same = {"verdict": "deviates", "reason": "The line is flatter."}
    other = {"verdict": "deviates"}
    agreeing = ({}, {"verdict": "compatible"}, {"verdict": "not_run"})
    groups = story.differing(card(same, other, same, same | {"tally": "repeat"}, other, *agreeing))
    assert [(reason, [row["claim"] for row in rows]) for reason, rows in groups] == [
        ("The line is flatter.", ["c0", "c2"]), ("", ["c1"]), ("", ["c4"]),
    ]  # fmt: skip


def test_other_runs_than_the_published_ones_are_a_reason_unless_one_is_recorded():
    other = {"verdict": "deviates", "tally": "other", "note": "runs with steps 9, the paper has 99"}
    groups = story.differing(card(other, other | {"reason": "Known."}))
    assert {reason for reason, _ in groups} == {"Runs with steps 9, the paper has 99.", "Known."}


def test_headlines_stand_for_what_agrees_else_the_first_of_each_source():
    rows = card({"verdict": "deviates"}, {}, {"source": "Table 2"}, {"tally": "repeat"}, {})
    assert [row["claim"] for row in story.agreeing(rows, ["c4", "c0", "c3"])] == ["c4"]
    assert [row["claim"] for row in story.agreeing(rows, ["c0"])] == ["c1", "c2"]


def test_verdicts_begin_with_what_deviates_and_causes_are_told_once():
    claims = card(
        {}, {"verdict": "not_run", "note": "no run"}, {"verdict": "deviates"},
        {"verdict": "not_run", "note": "no run"}, {"verdict": "undecided"},
        {"verdict": "deviates", "tally": "repeat"},
    )  # fmt: skip

    def names(groups):
        return {group: [row["claim"] for row in rows] for group, rows in groups.items()}

    judged = story.by_tally(claims, "deviates", "reproduced")
    assert names(judged) == {"test": ["c2", "c0"], "repeat": ["c5"]}
    assert names(story.by_tally(claims, "undecided")) == {"test": ["c4"]}
    assert names(story.not_run(claims)) == {"no run": ["c1", "c3"]}


def test_a_note_of_several_claims_is_a_footnote():
    rows = card({"note": "short runs"}, {"note": "short runs"}, {"note": "one"}).to_dict("records")
    assert story.footnotes({"test": rows}) == {"short runs": "a"}


def test_a_claim_that_was_not_run_has_the_verdict_of_the_frozen_study():
    there = {
        "frozen_study": "full_length", "frozen_tally": "test", "frozen_verdict": "deviates",
        "frozen_measured": 7.0,
        "frozen_measured_low": 6.0, "frozen_measured_high": 9.0, "frozen_measured_n": 100,
        "frozen_note": "",
    }  # fmt: skip
    claims = card({}, {"verdict": "not_run", "note": "no run"} | there)
    [(cause, [row])] = story.not_run(claims).items()
    assert cause == "verdicts of the frozen study full_length"
    assert (row["verdict"], story.measured(row)) == ("deviates", "7 of 100 [6, 9]")
    assert story.frozen(claims) == "Verdicts in the frozen study full_length: 1 deviates."
    assert story.frozen(claims.assign(tally="other")) == ""


def test_runs_to_watch_are_those_that_the_picture_leads_to_and_the_explorer_shows():
    study = planning.plan(config(sweep={"weight_decay": [0, 1]}))
    names = [f"e/p17_d2_wd1/s0000{seed}" for seed in range(3)]
    kinds = ["outcome", "training", "end"]
    shown = pd.DataFrame({"run_id": names, "outcome": "circle", "shown": kinds})
    link = '<a xlink:href="../explorer.html#run={}&amp;step=4">'
    svg = "".join(link.format(name) for name in [*names, names[1], "e/elsewhere/s00000"])
    assert story.watched(study, shown, svg) == [
        ("#run=e/p17_d2_wd1/s00001&step=4", "weight decay 1, seed 1 (circle), step 4"),
        ("#run=e/p17_d2_wd1/s00002&step=4", "weight decay 1, seed 2 (circle)"),
    ]
