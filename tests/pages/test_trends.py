"""Sentences on what experiments show follow from their effects and estimates."""

import numpy as np
import pandas as pd
import pytest
from conftest import config

from circlet.pages import summary as terminal_summary
from circlet.pages import trends
from circlet.storage import parquet
from circlet.study import planning


@pytest.fixture
def study():
    return planning.plan(config(sweep={"weight_decay": [0, 1]}))


def effects(**changes):
    row = {
        "experiment": "e", "outcome": "is_circle", "label": "ends as a circle",
        "parameter": "weight_decay", "per": "unit", "rho": 0.5, "rho_low": 0.3, "rho_high": 0.7,
    }  # fmt: skip
    return pd.DataFrame([row | changes])


def summary(study, *estimates):
    """Return the shares of two runs at each point of the experiment."""
    x = np.array(estimates)
    common = {"experiment": "e", "outcome": "is_circle", "n_runs": 2}
    names = [point.name for point in study.experiment("e")]
    rows = pd.DataFrame({"point": names, "estimate": x, "low": x - 0.1, "high": x + 0.1})
    return rows.assign(**common)


def test_a_clear_effect_is_told_with_the_values_at_its_ends(study):
    said = trends.sentences(study, effects(), summary(study, 0.1, 0.6))["e"]
    assert said == [
        "weight decay 0 to 1: share of runs “ends as a circle” rising from 0.1 to 0.6 "
        "(ρ = 0.5 [0.3, 0.7])."
    ]


@pytest.mark.parametrize(
    "rho, ends, said",
    [
        (0.5, (0.1, 0.9, 0.6), "rising from 0.1 to 0.6, highest, 0.9, at 0.5 (ρ"),
        (0.5, (0.1, 0.65, 0.6), "rising from 0.1 to 0.6 (ρ"),  # the middle may be noise
        (0.5, (0.1, 0.6, 0.6), "rising from 0.1 to 0.6 (ρ"),
        (0.5, (0.3, 0.05, 0.6), "rising from 0.3 to 0.6 (ρ"),
        (-0.5, (0.6, 0.05, 0.3), "falling from 0.6 to 0.3, lowest, 0.05, at 0.5 (ρ"),
        (0.5, (0.1, np.nan, 0.6), "rising from 0.1 to 0.6 (ρ"),
        (0.5, (np.nan, 0.3, 0.6), "rising (ρ"),
        (0.5, (0.6, 0.3, 0.1), "rising (ρ"),  # the values at the ends fall
    ],
)
def test_it_is_told_where_an_outcome_is_extreme_if_not_at_an_end(rho, ends, said):
    study = planning.plan(config(sweep={"weight_decay": [0, 0.5, 1]}))
    interval = {"rho_low": rho - 0.2, "rho_high": rho + 0.2}
    (sentence,) = trends.sentences(study, effects(rho=rho, **interval), summary(study, *ends))["e"]
    assert said in sentence


def test_ends_are_told_only_if_a_value_has_one_point():
    """With several initial embeddings at each value, the ends have no single estimate."""
    seeds = {"count": 2, "first": 0, "embedding": [0, 1]}
    study = planning.plan(config(sweep={"weight_decay": [0, 1]}, seeds=seeds))
    rows = summary(study, 0.1, 0.1, 0.6, 0.6)
    (said,) = trends.sentences(study, effects(), rows)["e"]
    assert "rising (ρ = 0.5" in said


def test_an_effect_whose_interval_has_zero_is_not_told(study):
    said = trends.sentences(study, effects(rho_low=-0.1), summary(study, 0.1, 0.6))["e"]
    assert said == ["no outcome clearly changes with what is swept."]


def test_a_change_that_is_not_known_is_told_with_its_reason():
    study = planning.plan(config(sweep={"initialisation": ["torch", "glorot"]}))
    row = {"parameter": "initialisation", "per": "torch to glorot", "outcome": "delay",
           "label": "delay", "change": None, "change_low": None, "change_high": None}  # fmt: skip
    unknown = effects(**row, note="2 of 8 runs do not get there").astype({"change_low": float})
    (said,) = trends.sentences(study, unknown, summary(study, 0.1, 0.6))["e"]
    assert said == (
        "initialisation glorot instead of torch: delay unknown: 2 of 8 runs do not get there."
    )


def test_they_are_the_summary_of_a_study_without_claims(study, monkeypatch):
    tables = {"effects": effects(), "outcome_summary": summary(study, 0.1, 0.6)}
    monkeypatch.setattr(parquet, "read_table", lambda _, name: tables[name])
    lines = terminal_summary.summary(study).splitlines()
    assert " ".join(lines[:2]).startswith(
        "e: weight decay 0 to 1: share of runs “ends as a circle”"
    )
    assert [line.split(":")[0] for line in lines if line][-3:] == ["tables", "report", "explorer"]
