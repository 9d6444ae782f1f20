"""The rule for claims that shorter runs decide, applied to the runs of the frozen study."""

from functools import cache

import pandas as pd
import pytest
import shorter_runs
from conftest import ROOT

from circlet.analysis import claims
from circlet.storage import parquet
from circlet.study import planning

FROZEN = ROOT / "docs/studies/full_length"
CLAIMS = claims.read(planning.plan_file(FROZEN / "config.yaml")).query("collection == 'ding'")
FADES = CLAIMS[CLAIMS["claim"] == "ding_gradient_fades"]  # at most a tenth: a margin of 0.1


@cache
def table(name):
    return parquet.read(FROZEN / f"tables/{name}.parquet").to_pandas()


def test_survival_at_the_last_step_is_that_of_the_table():
    keys, rules = ["run_id", "frequency"], ["survived", "survived_absolute"]
    at_last = shorter_runs.survival(table, shorter_runs.LAST).sort_values(keys)
    frozen = table("survival").query("experiment == 'trajectory'").sort_values(keys)
    assert len(at_last) == 6 * 29
    assert at_last[rules].astype(bool).to_numpy().tolist() == frozen[rules].to_numpy().tolist()


def trajectories(late):
    """Return the gradients of five runs: 1 at first, 0.01 from step 1000, ``late`` at the end."""
    rows = [
        {"experiment": "trajectory", "run_id": f"r{run}", "step": step, "gradient": gradient}
        for run in range(5)
        for step, gradient in ((0, 1.0 + run / 100), (1000, 0.01), (5000, late), (30_000, 0.01))
    ]
    return lambda _: pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("late", "same"), [(0.01, "steps>=1000"), (0.05, "steps>=1000"), (0.5, "steps>=10000")]
)
def test_shorter_runs_decide_the_same_if_the_difference_is_within_the_margin(late, same):
    [row] = shorter_runs.compared(trajectories(late), FADES)
    assert row["same"] == same


def test_figure_8_is_judged_by_its_own_runs():
    [row] = shorter_runs.compared(table, CLAIMS[CLAIMS["claim"] == "ding_one_circle_fails"])
    effect = table("ding_claims").set_index("claim").effect["one_circle_fails"]
    assert row["values"][shorter_runs.LAST] == pytest.approx(effect)


def test_runs_that_still_change_decide_nothing():
    rows = trajectories(0.01)("").replace({"step": {5000: 20_000}})
    rows.loc[rows["step"] == 20_000, "gradient"] = 0.5
    [row] = shorter_runs.compared(lambda _: rows, FADES)
    assert row["same"] == ""
