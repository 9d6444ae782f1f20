import math

import numpy as np
import pandas as pd
import pytest
from conftest import config

from circlet.analysis.claims import read
from circlet.analysis.stats import Estimate
from circlet.collections.ding.tables import ding_claims as claims
from circlet.study.plan import Study


def rates(n_runs, n=2000, seed=0):
    """Survival rates of a known true correlation, seen through so many runs each."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(87, 3, n)
    true = np.clip(0.3 + 0.05 * (signal - 87) + 0.05 * rng.normal(size=n), 0.01, 0.99)
    seen = rng.binomial(n_runs, true) / n_runs
    frame = pd.DataFrame({"initial_signal": signal, "rate": seen, "rate_n": n_runs})
    frame["embedding_seed"] = np.arange(n) % 20
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
    assert found.n == 20  # embeddings
    assert claims.line_at(frame.iloc[:2], 87).n == 0


def test_within_a_range():
    assert claims.within(Estimate(4, 3.8, 4.2, 9), 3, 5) == (1, pytest.approx(0.8), 1, 9)
    value, low, high, _ = claims.within(Estimate(5.5, 5.1, 5.9, 9), 3, 5)
    assert (value, low, high) == pytest.approx((-0.5, -0.9, -0.1))
    assert claims.within(Estimate(5.0, 4.0, 6.0, 9), 3, 5).low < 0


def survival(alive_by_frequency, factor=1.2, runs=20):
    return pd.DataFrame(
        [
            (f"r{run}-{factor}", run % 5, k, alive, 3, {1: 80.0, 2: 84.0, 3: 82 * factor}[k])
            for run in range(runs)
            for k, alive in alive_by_frequency.items()
        ],
        columns=["run_id", "embedding_seed", "frequency", "alive", "scale_frequency",
                 "initial_signal"],
    )  # fmt: skip


def test_scaled_frequencies():
    up = survival({1: False, 2: True, 3: True})
    assert claims.scaled(up, above=True).value == 0.5
    assert math.isnan(claims.scaled(up, above=False).value)  # none was scaled down
    assert math.isnan(claims.scaled(survival({1: True, 2: True, 3: True}, 1.01), above=True).value)
    down = survival({1: True, 2: True, 3: False}, factor=0.8)
    both = pd.concat([up, down])
    assert claims.scaled(both, above=True).value == 0.5
    below = claims.scaled(both, above=False)
    assert (below.value, below.n) == (1, 20)


def test_auc_within_runs():
    frame = survival({1: False, 2: False, 3: True}).assign(initial_gradient=[-2, -1, 0] * 20)
    found = claims.run_auc(frame, "initial_gradient")
    assert (found.value, found.n) == (1, 5)  # embeddings
    one = claims.run_auc(frame.assign(embedding_seed=0), "initial_gradient")
    assert one.n == 20  # runs
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


def moduli(seed, runs=20, rough=0.0):
    """Circle counts of runs on a line in p; composites scatter about it by ``rough`` more."""
    rng = np.random.default_rng(seed)
    rows = []
    for p in range(16, 102):
        composite = any(p % n == 0 for n in range(2, p))
        center = 0.05 * p + rough * rng.normal() * composite
        rows += [(p, center + rng.normal()) for _ in range(runs)]
    return pd.DataFrame(rows, columns=["p", "n_circles"])


def test_composites_that_scatter_more_are_told_from_those_that_do_not():
    assert claims.scatter_ratio(moduli(0, rough=1.0)).low > 0
    wrong = sum(claims.scatter_ratio(moduli(seed)).low > 0 for seed in range(40))
    assert wrong <= 4
    assert math.isnan(claims.scatter_ratio(moduli(0).query("p < 24")).value)  # two primes only


def constructed(alive):
    """Survival rows of two-frequency embeddings from {(seed, ratio): (first, second, other)}."""
    rows = []
    for (seed, ratio), (first, second, other) in alive.items():
        signals = {4: (80.0, first), 2: (80.0 * ratio, second), 1: (1e-6, other), 3: (1e-6, False)}
        rows += [(f"{seed}-{ratio}", seed, ratio, k, s, a) for k, (s, a) in signals.items()]
    columns = ["run_id", "seed", "construct_ratio", "frequency", "initial_signal", "survived"]
    return pd.DataFrame(rows, columns=columns)


def test_draws_are_counted_once_and_ratio_one_has_no_first():
    frame = constructed(
        {
            (0, 0.1): (True, False, True), (0, 0.5): (True, True, False),
            (0, 1.0): (False, True, False),
            (1, 0.1): (True, False, False), (1, 0.5): (False, True, False),
        }
    )  # fmt: skip
    first = claims.draws(frame, "first", every=True)
    assert (first.value, first.n) == (1, 2)
    assert claims.draws(frame, "revived", every=False).value == 1


def test_best_losses_are_of_the_last_step():
    frame = pd.DataFrame(
        [("a", 0, 1, 9.0), ("a", 10, 1, 3.0), ("a", 10, 1, 2.0), ("a", 10, 2, 1.0)],
        columns=["run_id", "step", "n_kept", "loss"],
    )
    assert claims.best_losses(frame, 1).to_dict() == {"a": 2.0}


def test_every_claim_is_in_the_scorecard():
    published = read(Study.of(config(system="embedding_mlp")))
    of_table = published[published["table"] == "ding_claims"]
    named = {keys["claim"] for keys in of_table["keys"]}
    made = {name for name, *_ in claims._CLAIMS}
    assert made - named == {"signal_correlation"}  # the figure's; the scorecard has it at 50 runs
    assert named <= made
    roles = {name: role for name, role, *_ in claims._CLAIMS}
    for row in of_table.itertuples():
        assert row.keys == {"claim": row.keys["claim"]}
        assert roles[row.keys["claim"]] == row.role
