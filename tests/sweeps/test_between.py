"""Two studies, and two values of a parameter, compared by outcome and seed."""

import numpy as np
import pandas as pd
import pytest
from conftest import config, make_tables, refused, run_blocks
from scipy.stats import norm

from circlet import cli
from circlet.analysis import contrasts, stats
from circlet.errors import ConfigError
from circlet.study import planning
from circlet.sweeps import between
from circlet.sweeps.tables import comparisons
from circlet.systems.spec import Outcome

SEEDS = 6


def made(folder, **changes):
    settings = {"seeds": {"count": SEEDS}, "block": SEEDS, "steps": 40} | changes
    study = run_blocks(planning.plan(config(folder, **settings) | {"figures": []}))
    compared = ["comparisons"] if "compare" in changes else []
    make_tables(study, "outcome_summary", "curve_summary", "provenance", *compared)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Two studies that differ in their learning rate, and one with both."""
    folder, sweep = tmp_path_factory.mktemp("r"), {"weight_decay": [0, 1]}
    rates = [0.01, 0.1]
    for name, rate in zip("ab", rates, strict=True):
        made(folder / name, sweep=sweep, parameters={"learning_rate": rate})
    made(folder / "c", sweep=sweep | {"learning_rate": rates}, compare={"learning_rate": rates})
    return folder


def test_differences_are_those_of_runs_of_one_seed(both):
    compared = between.studies(both / "a", both / "b")
    assert compared.config == ["experiments.e.parameters.learning_rate: 0.01 -> 0.1"]
    assert not compared.code and not compared.verdicts and not compared.only
    runs = [pd.read_parquet(both / name / "tables/runs.parquet") for name in "ab"]
    x, y = (
        r[r["weight_decay"] == 1].set_index("network_seed")["test_accuracy"].astype(float)
        for r in runs
    )
    rows = compared.outcomes[compared.outcomes["outcome"] == "test_accuracy"].set_index("at")
    row = rows.loc["e, weight_decay 1"]
    assert row["estimate"] == pytest.approx((y - x).mean(), abs=1e-6)
    expected = stats.bounded_mean(y - x, -1, 1)
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert row["n_paired"] == SEEDS


def test_within_a_study_it_is_the_same(both):
    """The runs are the same, so the differences are the same, too."""
    across = between.studies(both / "a", both / "b").outcomes
    within = pd.read_parquet(both / "c/tables/comparisons.parquet")
    keys = ["outcome", "estimate", "low", "high", "n_paired"]
    one, two = (
        t[keys].dropna().sort_values(["outcome", "estimate"]).reset_index(drop=True)
        for t in (across, within)
    )
    assert len(one) > 2
    pd.testing.assert_frame_equal(one, two, check_dtype=False)
    assert set(within["at"]) == {"weight_decay 0", "weight_decay 1"}


def test_a_study_is_as_itself(both):
    compared = between.studies(both / "a", both / "a")
    assert not compared.config and not compared.only
    assert compared.outcomes["estimate"].dropna().eq(0).all()
    bounded = compared.outcomes.dropna(subset=["low"])
    assert {"is_circle", "test_accuracy"} <= {*bounded["outcome"]}
    assert (bounded["low"] <= 0).all() and (bounded["high"] >= 0).all()


def test_what_only_one_has_is_said(both):
    compared = between.studies(both / "a", both / "c")
    assert compared.only == ["e: 2 settings are in only one of them"]


def test_the_command_prints(both, capsys):
    cli.main(["compare", str(both / "a"), str(both / "b")])
    said = capsys.readouterr().out
    assert "learning_rate" in said and "6 pairs" in said and "would by chance" in said
    rows = between.studies(both / "a", both / "b").outcomes.dropna(subset=["estimate"])
    rows = rows[(rows["n_paired"] == SEEDS) & ~rows["outcome"].str.endswith(("_step", "delay"))]
    assert len(rows) > 2
    assert (rows["B"] - rows["A"]).to_numpy() == pytest.approx(rows["estimate"], abs=1e-6)


def test_pairs_tell_more_than_runs():
    """If runs of a seed are correlated, the interval of their differences is narrower."""
    stream = np.random.default_rng(0)
    shared = stream.normal(0, 1, 40)
    x, y = (pd.Series(shared + shift + stream.normal(0, 0.3, 40)) for shift in (0, 0.2))
    paired, n = contrasts.paired_difference(x, y)
    unpaired, none = contrasts.paired_difference(x, y.set_axis(range(100, 140)))
    assert (n, none) == (40, 0)
    assert paired.value == pytest.approx(unpaired.value)
    assert (unpaired.high - unpaired.low) / (paired.high - paired.low) > 1.5
    same, n = contrasts.paired_difference(pd.Series([1.0] * 9), pd.Series([1.0] * 9), is_share=True)
    assert n == 9 and same.low < 0 < same.high  # no spread does not mean certainty


def differ(kind, x, y, unit="", after=None, seeds=0):
    """Return the difference of two sets of planted runs, whose seeds are ``seeds`` apart."""
    after = after or (np.nan, np.nan)
    first, second = (
        pd.DataFrame({"seed": np.arange(len(values)) + k * seeds, "value": values, "after": before})
        for k, (values, before) in enumerate(zip((x, y), after, strict=True))
    )
    return comparisons.difference(Outcome("x", "x", kind, unit=unit), first, second)


def test_differences_have_honest_ends_and_stay_in_range():
    """This also holds if all runs are equal, and for few runs."""
    for seeds in (0, 100):
        clear = differ("count", [0.0] * 50, [3.0] * 50, seeds=seeds)
        assert clear["estimate"] == 3 and 2 < clear["low"] < 3 < clear["high"] < 4
        same = differ("mean", [1.0] * 8, [1.0] * 8, "0..1", seeds=seeds)
        assert same["estimate"] == 0
        assert (same["low"], same["high"]) == pytest.approx((0.025**0.125 - 1, 1 - 0.025**0.125))
        for n in (1, 2):
            few = differ("share", [0.0] * n, [1.0] * n, seeds=seeds)
            assert few["estimate"] == 1 and -1 <= few["low"] < 0 < few["high"] <= 1
        single = differ("mean", [0.2], [0.7], "0..1", seeds=seeds)
        assert single["estimate"] == pytest.approx(0.5) and -1 <= single["low"] < 0
    assert differ("mean", [0.0, 0, 0.1], [1.0, 1, 0.9], "0..1")["high"] <= 1
    assert differ("mean", [2.0] * 8, [3.0] * 8)["low"] is None  # a loss has no upper bound


def test_paired_shares_cover():
    stream, hits = np.random.default_rng(0), 0
    for _ in range(400):
        level = stream.normal(0, 1, 20)
        x, y = (pd.Series((level + shift > 0).astype(float)) for shift in (0, 0.5))
        interval, _ = contrasts.paired_difference(x, y, 1, is_share=True)
        hits += interval.low <= norm.cdf(0.5) - 0.5 <= interval.high
    assert 0.93 < hits / 400 <= 1


@pytest.mark.slow
def test_settings_are_matched_by_all_that_tells_them_apart(tmp_path):
    """These include settings other than parameters, and parameters that only one study has."""
    few = {"steps": 5, "seeds": {"count": 2}, "block": 2, "log": {}}
    keep = [{"keep": {"frequencies": [[1, 2], [1]]}}]
    studies = {
        "dtypes": {"sweep": {"dtype": ["float32", "float64"]}},
        "one": {"dtype": "float64"},
        "rounded": {"sweep": {"products": ["float32", "tf32"]}},
        "scaled": {"interventions": [{"scale": {"frequency": [1, 2], "factor": 2}}]},
        "kept": {"interventions": keep},
        "kept_again": {"interventions": keep, "parameters": {"d": 6, "p": 7, "hidden": 8}},
    }
    small = {"system": "embedding_mlp", "parameters": {"p": 7, "d": 4, "hidden": 8}, "sweep": {}}
    for name, changes in studies.items():
        made(tmp_path / name, **(small | few | changes))
    lines = {}
    for a, b in (
        ("dtypes", "dtypes"), ("dtypes", "one"), ("one", "dtypes"), ("scaled", "one"),
        ("rounded", "rounded"), ("rounded", "dtypes"),
        ("kept", "kept_again"), ("one", "kept"),
    ):  # fmt: skip
        compared = between.studies(tmp_path / a, tmp_path / b)
        circles = compared.outcomes[compared.outcomes["outcome"] == "n_circles"]
        assert set(circles["n_paired"]) <= {0, 2} and set(circles["n_first"]) <= {2}
        lines[a, b] = len(circles), len(compared.only)
    assert lines == {
        ("dtypes", "dtypes"): (2, 0), ("dtypes", "one"): (1, 1), ("one", "dtypes"): (1, 1),
        ("rounded", "rounded"): (2, 0), ("rounded", "dtypes"): (1, 1), ("scaled", "one"): (0, 1),
        ("kept", "kept_again"): (2, 0), ("one", "kept"): (0, 1),
    }  # fmt: skip


def test_differences_of_times_count_the_steps_between_logs_and_who_is_not_there():
    longer = differ("time", [50.0] * 8, [70.0] * 8, after=(40.0, 60.0))
    assert (longer["estimate"], longer["low"], longer["high"]) == (20, 10, 30)
    late = differ("time", [50.0] * 8, [np.nan] * 8, after=(40.0, 2000.0))
    assert (late["estimate"], late["low"], late["high"], late["n_paired"]) == (None, 1950, None, 8)
    few = differ("time", [50.0] * 5, [70.0] * 5, after=(40.0, 60.0))  # too few to bound a median
    assert (few["estimate"], few["low"], few["high"], few["n_paired"]) == (20, None, None, 5)


def test_one_late_run_does_not_turn_a_difference_of_times():
    first = np.array([100.0] * 7 + [10_000])
    for second in (np.full(8, 300.0), np.array([300.0] * 7 + [np.nan])):
        difference = differ("time", first, second, after=(first - 10, np.full(8, 290.0)))
        assert difference["estimate"] == 200


def test_seeds_that_few_runs_share_do_not_pair_them():
    stream = np.random.default_rng(0)
    x, y = stream.normal(0, 1, 100), stream.normal(1, 1, 100)
    unpaired = differ("mean", x, y, seeds=97)
    assert unpaired["n_paired"] == 0 and unpaired["high"] - unpaired["low"] < 0.7
    assert differ("mean", x, y, seeds=50)["n_paired"] == 50


def test_differences_that_are_all_the_same_are_of_pairs():
    """Runs that only one study has do not change the differences."""
    counts = [0.0, 1.0, 0.0, 2.0, 0.0, 0.0]
    same = differ("count", counts, [*counts, 5.0, 5.0])
    assert (same["estimate"], same["n_paired"]) == (0, 6)
    assert same["low"] == -same["high"] and same["low"] < 0


def test_points_that_differ_in_seeds_alone_are_kept_apart(tmp_path):
    for name, data in (("a", [1, 2]), ("b", [1, 2, 3])):
        made(tmp_path / name, seeds={"count": 2, "data": data}, block=2, steps=3)
    compared = between.studies(tmp_path / "a", tmp_path / "b")
    rows = compared.outcomes[compared.outcomes["outcome"] == "test_accuracy"]
    assert rows["at"].tolist() == ["e, fixed seeds data-1", "e, fixed seeds data-2"]
    assert rows["n_first"].tolist() == [2, 2] and rows["estimate"].eq(0).all()
    assert compared.only == ["e: 1 settings are in only one of them"]


@pytest.mark.parametrize(
    ("compare", "said"),
    [
        ({"weight_decay": [0, 3]}, "compare.weight_decay: no point has 3.0 (there are: 0.0, 1.0)"),
        ({"p": [5, 7]}, "compare.p: no point has 5 (there are: 17)"),
        ({"weight_decay": [0]}, "compare.weight_decay"),
        ({"weight_decay": [0, -0.0]}, "compare.weight_decay: [0.0, 0.0] lists a value twice"),
        ({"weight": [0, 1]}, "weight"),
    ],
)
def test_what_cannot_be_compared_is_one_line(compare, said):
    settings = config(sweep={"weight_decay": [0, 1]}, compare=compare)
    assert said in refused(lambda: planning.plan(settings))


def test_points_that_differ_in_something_else_too_are_not_compared():
    cases = [{"weight_decay": 0, "learning_rate": 0.01}, {"weight_decay": 1, "learning_rate": 0.1}]
    with pytest.raises(ConfigError, match="0 and 1 also differ in learning_rate: add cases with"):
        planning.plan(config(cases=cases, compare={"weight_decay": [0, 1]}))
    cases.append({"weight_decay": 1, "learning_rate": 0.01})
    planning.plan(config(cases=cases, compare={"weight_decay": [0, 1]}))


def test_a_folder_without_tables_is_one_line(tmp_path, both, error_of):
    assert "there is no such folder" in error_of("compare", both / "a", tmp_path / "x")
