import math

import numpy as np
import pandas as pd
import pytest

from circlet import source
from circlet.analysis import ding_claims as claims
from circlet.analysis.stats import Estimate


def rates(n_runs, n=2000, seed=0):
    """Survival rates of a known true correlation, seen through so many runs each."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(87, 3, n)
    true = np.clip(0.3 + 0.05 * (signal - 87) + 0.05 * rng.normal(size=n), 0.01, 0.99)
    seen = rng.binomial(n_runs, true) / n_runs
    frame = pd.DataFrame({"initial_signal": signal, "rate": seen, "rate_n": n_runs})
    return frame, float(np.corrcoef(signal, true)[0, 1])


def test_the_noise_of_few_runs_is_taken_out_of_the_correlation():
    few, true = rates(6)
    many, _ = rates(50, seed=1)
    expected = claims.signal_correlation(many).value
    assert claims.signal_correlation(few).value < expected - 0.1
    assert claims.signal_correlation(few, 50).value == pytest.approx(expected, abs=0.03)
    assert claims.signal_correlation(few, 10**9).value == pytest.approx(true, abs=0.03)
    assert claims.signal_correlation(many, 50).value == pytest.approx(expected, abs=0.01)


def test_the_line_and_its_interval():
    frame, _ = rates(50)
    found = claims.line_at(frame, 87)
    assert found.low < 0.3 < found.high
    assert found.high - found.low < 0.02
    assert claims.line_at(frame.iloc[:2], 87).n == 2


def test_within_a_range():
    assert claims.within(Estimate(4, 3.8, 4.2, 9), 3, 5) == (1, pytest.approx(0.8), 1, 9)
    value, low, high, _ = claims.within(Estimate(5.5, 5.1, 5.9, 9), 3, 5)
    assert (value, low, high) == pytest.approx((-0.5, -0.9, -0.1))
    assert claims.within(Estimate(5.0, 4.0, 6.0, 9), 3, 5).low < 0


def test_shifting_turns_the_interval_round():
    assert claims.shifted(Estimate(0.2, 0.1, 0.4, 7), 0.5, sign=-1) == pytest.approx(
        (0.3, 0.1, 0.4, 7)
    )


def survival(alive_by_frequency, factor=1.2, runs=20):
    return pd.DataFrame(
        [
            (f"r{run}", k, alive, factor, 3)
            for run in range(runs)
            for k, alive in alive_by_frequency.items()
        ],
        columns=["run_id", "frequency", "survived", "scale_factor", "scale_frequency"],
    )


def test_scaled_frequencies():
    up = survival({1: False, 2: True, 3: True})
    assert claims.scaled(up, above=True).value == 0.5
    assert claims.scaled(up, above=False).value == -0.5
    down = survival({1: True, 2: True, 3: False}, factor=0.8)
    both = pd.concat([up, down])
    assert claims.scaled(both, above=True).value == 0.5
    assert claims.scaled(both, above=False).value == 1


def test_auc_within_runs():
    frame = survival({1: False, 2: False, 3: True}).assign(initial_gradient=[-2, -1, 0] * 20)
    assert claims.run_auc(frame, "initial_gradient").value == 1
    assert claims.run_auc(frame.assign(initial_gradient=1), "initial_gradient").value == 0.5


def test_frozen_losses_dip_where_d_is_p():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [(1000, d, 59, (0.2 if d >= 59 else 2.0) + 0.1 * rng.random())
         for d in range(8, 129, 4) for _ in range(2)],
        columns=["step", "d", "p", "test_loss"],
    )  # fmt: skip
    assert claims.dip_at_p(frame).low > 1.5
    assert math.isnan(claims.double_descent(frame).value)


def trajectories(peak, late):
    steps = np.array([0, 20, 50, 100, 200, 500, 1000, 2000])
    gradient = np.where(steps == peak, 1.0, 0.2) * np.where(steps >= 1000, late / 0.2, 1)
    return pd.DataFrame(
        [
            (r, s, k, g)
            for r in ("a", "b")
            for k in (1, 2)
            for s, g in zip(steps, gradient, strict=True)
        ],
        columns=["run_id", "step", "frequency", "gradient"],
    )


def test_the_peak_of_the_gradient():
    assert claims.peak_step(trajectories(100, 0.01)).value == 1
    assert claims.peak_step(trajectories(200, 0.01)).value == 0
    assert claims.peak_step(trajectories(20, 0.01)).value < -1
    assert claims.late_gradient(trajectories(100, 0.01)).value == pytest.approx(0.09)


def test_scatter_of_moduli_against_primes():
    rng = np.random.default_rng(0)

    def counts(scatter):
        return pd.DataFrame(
            [
                (p, 0.05 * p + scatter * e)
                for p, e in zip(range(16, 76), rng.normal(size=60), strict=True)
            ],
            columns=["p", "n_circles"],
        )

    assert claims.scatter_ratio(counts(1.0), counts(0.2)).low > 0
    same = claims.scatter_ratio(counts(1.0), counts(1.0))
    assert same.low < 0 < same.high


def test_best_losses_are_of_the_last_step():
    frame = pd.DataFrame(
        [("a", 0, 1, 9.0), ("a", 10, 1, 3.0), ("a", 10, 1, 2.0), ("a", 10, 2, 1.0)],
        columns=["run_id", "step", "n_kept", "loss"],
    )
    assert claims.best_losses(frame, 1).to_dict() == {"a": 2.0}


def test_every_claim_is_in_the_scorecard():
    published = pd.read_csv(source.PACKAGE / "data/published.csv")
    of_table = published[published["table"] == "ding_claims"]
    named = set(of_table["where"].str.removeprefix("claim="))
    made = {name for name, *_ in claims.CLAIMS} | {"moduli_are_noisier"}
    assert made - named == {"signal_correlation"}  # the figure's; the scorecard has it at 50 runs
    assert named <= made
    roles = {name: role for name, role, *_ in claims.CLAIMS}
    for row in of_table.itertuples():
        name = row.where.removeprefix("claim=")
        assert roles.get(name, "moduli") == row.role
