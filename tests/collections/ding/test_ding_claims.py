import math

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from circlet.analysis.claims import read
from circlet.collections.ding import ablated_starts, ode
from circlet.collections.ding.shared_seeds import SEEDS, over_runs
from circlet.collections.ding.tables import ding_claims as claims
from circlet.study import planning


def crossed(n_runs, n=100, seed=0, network=0.0):
    """Return survival of 20 embeddings with each of some networks, and the true correlation.

    With some networks, frequencies with a large signal survive more often: by ``network``.
    """
    rng = np.random.default_rng(seed)
    signal = rng.normal(87, 3, (20, n))
    slope = 0.05 + network * rng.normal(size=n_runs)[:, None, None]
    true = np.clip(0.3 + slope * (signal - 87) + 0.05 * rng.normal(size=(20, n)), 0.01, 0.99)
    alive = rng.random(true.shape) < true
    seeds, embeddings, frequencies = (axis.ravel() for axis in np.indices(alive.shape))
    columns = dict.fromkeys(["network_seed", "data_seed"], seeds)
    columns |= {"embedding_seed": embeddings, "frequency": frequencies}
    frame = pd.DataFrame(columns).assign(alive=alive.ravel())
    frame["initial_signal"] = signal[embeddings, frequencies]
    return frame, float(np.corrcoef(signal.ravel(), true[0].ravel())[0, 1])


def test_the_noise_of_few_runs_is_taken_out_of_the_correlation():
    few, true = crossed(6)
    many, _ = crossed(50, seed=1)
    expected = claims.signal_correlation(many).value
    assert claims.signal_correlation(few).value < expected - 0.1
    assert claims.signal_correlation(few, 50).value == pytest.approx(expected, abs=0.03)
    assert claims.signal_correlation(few, 10**9).value == pytest.approx(true, abs=0.03)
    assert claims.signal_correlation(many, 50).value == pytest.approx(expected, abs=0.01)


def test_the_interval_of_the_correlation_allows_for_networks_that_are_shared():
    alike, differing = (claims.signal_correlation(crossed(5, network=x)[0]) for x in (0, 0.05))
    assert alike.n == differing.n == 5
    assert differing.high - differing.low > 3 * (alike.high - alike.low)


def test_the_line_is_that_of_survival_rates():
    stream = np.random.default_rng(0)
    frame = pd.DataFrame(
        [(f"{e}-{n}", e, n, n, k) for e in range(6) for n in range(5) for k in range(29)],
        columns=["run_id", *SEEDS, "frequency"],
    )
    signal = stream.normal(87, 3, (6, 29))[frame["embedding_seed"], frame["frequency"]]
    rate = np.clip(0.3 + 0.05 * (signal - 87), 0, 1)
    frame = frame.assign(initial_signal=signal, alive=stream.random(len(frame)) < rate)
    at_87 = claims.line_at(frame, 87)
    assert at_87.low < 0.3 < at_87.high
    assert at_87.n == 5  # networks
    rates = frame.groupby(["embedding_seed", "initial_signal"])["alive"].mean().reset_index()
    lines = [np.polyfit(e["initial_signal"], e["alive"], 1)
             for _, e in rates.groupby("embedding_seed")]  # fmt: skip
    assert at_87.value == pytest.approx(np.mean([np.polyval(line, 87) for line in lines]))
    assert claims.line_at(frame.iloc[:2], 87).n == 0


def survival(alive_by_frequency, factor=1.2, runs=20):
    return pd.DataFrame(
        [
            (f"r{run}-{factor}", run % 5, run, run, k, alive, 3, {1: 80, 2: 84, 3: 82 * factor}[k])
            for run in range(runs)
            for k, alive in alive_by_frequency.items()
        ],
        columns=["run_id", *SEEDS, "frequency", "alive", "scale_frequency", "initial_signal"],
    )  # fmt: skip


def test_scaled_frequencies():
    up = survival({1: False, 2: True, 3: True})
    assert claims.scaled(up, above=True)[::3] == (1, 5)  # embeddings
    assert math.isnan(claims.scaled(up, above=False).value)  # none was scaled down
    assert math.isnan(claims.scaled(survival({1: True, 2: True, 3: True}, 1.01), above=True).value)
    down = survival({1: True, 2: True, 3: False}, factor=0.8)
    both = pd.concat([up, down])
    assert claims.scaled(both, above=True).value == 1
    below = claims.scaled(both, above=False)
    assert (below.value, below.n) == (1, 5)
    half = claims.scaled(survival({1: True, 2: False, 3: False}, factor=0.8), above=False)
    assert half.value == 0.5  # of the others survive, in every run
    assert half.low < 0.1 and below.low < 0.5  # five deaths do not show that all die


def test_auc_within_runs():
    frame = survival({1: False, 2: False, 3: True}).assign(initial_gradient=[-2, -1, 0] * 20)
    auc = claims.run_auc(frame, "initial_gradient")
    assert (auc.value, auc.n) == (1, 5)  # embeddings
    one = claims.run_auc(frame.assign(embedding_seed=0), "initial_gradient")
    assert one.n == 1
    assert claims.run_auc(frame.assign(initial_gradient=1), "initial_gradient").value == 0.5


def test_frozen_losses_dip_where_d_is_p():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [(1000, d, 59, seed, (0.2 if d >= 59 else 2.0) + 0.1 * rng.random())
         for d in range(8, 129, 4) for seed in range(5)],
        columns=["step", "d", "p", "seed", "test_loss"],
    )  # fmt: skip
    dip = claims.dip_at_p(frame)
    assert 7 < dip.low < dip.value < dip.high < 9  # 2.05 / 0.25 is 8.2
    assert dip.n == 5  # seeds, which are the same at every dimension
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
    peak = claims.peak_step(trajectories(100, 0.01))
    assert peak.value == pytest.approx(100)
    ends = (math.sqrt(50 * 100), math.sqrt(100 * 200))  # half way to the neighbouring logged steps
    assert (peak.low, peak.high) == pytest.approx(ends)
    assert claims.peak_step(trajectories(20, 0.01)).high < 50
    late = claims.late_gradient(trajectories(100, 0.01))
    assert late.value == pytest.approx(0.01)
    assert late.high > 0.1  # two runs only


def moduli(seed, runs=20, rough=0.0):
    """Return circle counts on a line in p; composites scatter about it by ``rough`` more."""
    rng = np.random.default_rng(seed)
    rows = []
    for p in range(16, 102):
        composite = any(p % n == 0 for n in range(2, p))
        center = 0.05 * p + rough * rng.normal() * composite
        rows += [(p, center + rng.normal()) for _ in range(runs)]
    return pd.DataFrame(rows, columns=["p", "n_circles"])


def test_composites_that_scatter_more_are_told_from_those_that_do_not():
    assert claims.scatter_ratio(moduli(0, rough=1.0)).low > 1
    wrong = sum(claims.scatter_ratio(moduli(seed)).low > 1 for seed in range(40))
    assert wrong <= 4
    assert math.isnan(claims.scatter_ratio(moduli(0).query("p < 24")).value)  # two primes only


def constructed(alive):
    """Survival rows of two-frequency embeddings from {(seed, ratio): (first, second, other)}."""
    rows = []
    for (seed, ratio), (first, second, other) in alive.items():
        signals = {4: (80.0, first), 2: (80.0 * ratio, second), 1: (1e-6, other), 3: (1e-6, False)}
        rows += [(f"{seed}-{ratio}", *[seed] * 3, ratio, k, s, a) for k, (s, a) in signals.items()]
    columns = ["run_id", *SEEDS, "construct_ratio", "frequency", "initial_signal", "survived"]
    return pd.DataFrame(rows, columns=columns)


def test_draws_are_counted_once_and_ratio_one_has_no_first():
    frame = constructed(
        {
            (0, 0.1): (True, False, True), (0, 0.5): (True, True, False),
            (0, 1.0): (False, True, False),
            (1, 0.1): (True, False, False), (1, 0.5): (False, True, False),
        }
    )  # fmt: skip
    first = claims.always_first(frame)
    assert (first.value, first.n) == (0.5, 2)
    some = claims.revived(frame)
    assert (some.value, some.n) == (pytest.approx(1 / 6), 2)  # none in three runs of one draw
    one = frame.assign(network_seed=0)
    for effect in (claims.always_first, claims.revived, claims.second_by_ratio):
        assert effect(one).n == 1


def test_the_sentence_about_two_frequencies_names_the_ratios():
    study = planning.plan_file(ROOT / "config/full_length.yaml")
    rows = read(study).set_index("claim")
    [ratios] = [
        i["construct"]["ratio"] for i in study.config.experiments["construction"].interventions
    ]
    below = [f"{ratio:g}" for ratio in ratios if ratio < 1]
    named = f"ratios: {', '.join(below[:-1])} and {below[-1]})"
    assert named in rows.loc["ding_first_survives", "statement"]


def test_best_losses_are_of_the_last_step():
    frame = pd.DataFrame(
        [("a", 0, 1, 9.0), ("a", 10, 1, 3.0), ("a", 10, 1, 2.0), ("a", 10, 2, 1.0)],
        columns=["run_id", "step", "n_kept", "loss"],
    )
    assert claims.best_losses(frame, 1).to_dict() == {"a": 2.0}


def test_runs_of_one_embedding_are_one_sample():
    """Forty runs of four embeddings count as four samples."""
    frame, _ = crossed(10)
    assert claims.signal_correlation(frame[frame["embedding_seed"] < 4]).n == 4
    runs = pd.DataFrame(dict.fromkeys(SEEDS, np.arange(8)) | {"n_circles": [3, 4] * 4})
    (number,) = (effect for claim, *_, effect in claims._CLAIMS if claim == "circle_number")
    one, many = number(runs), number(pd.concat([runs] * 5))
    assert many[::3] == (3.5, 8)
    assert many.high - 3.5 > 0.4 > one.high - 4


def test_all_survive_is_a_contrast():
    """29 of 29 survive with and without weight decay: no evidence that weight decay matters."""
    frame = pd.DataFrame(
        {
            "weight_decay": [0.0] * 6 + [0.1] * 6 + [1.0] * 6,
            "seed": [*range(6)] * 3,
            "n_frequencies": 29,
            "n_circles_absolute": 29,
        }
    )
    both = claims.all_survive(frame)
    assert (both.value, both.n) == (0, 6)
    killed = claims.all_survive(frame.assign(n_circles_absolute=[29] * 6 + [5] * 12))
    assert killed.n == 6  # seeds, not runs
    assert killed.value == 1
    assert killed.low > 0.4


def test_a_rollout_is_lost_in_most_runs_only_if_enough_say_so():
    fits = pd.DataFrame({"rollout_error": [90.0] * 4, "mean_signal": 40.0})
    assert claims.lost(fits).low < 0.5
    assert claims.lost(pd.concat([fits] * 2)).low > 0.5


def combined(n_embeddings, n_networks, sd=1.0):
    """Return values and runs of all embeddings with all networks; each seed shifts the value."""
    stream = np.random.default_rng(0)
    rows, columns = np.indices((n_embeddings, n_networks)).reshape(2, -1)
    value = stream.normal(0, sd, n_embeddings)[rows] + stream.normal(0, sd, n_networks)[columns]
    runs = pd.DataFrame(dict(zip(SEEDS, (rows, columns, columns), strict=True)))
    return value, runs


def test_independent_samples_are_the_seeds_of_which_there_are_fewest():
    value, runs = combined(8, 5)
    mean = over_runs(value, runs, -math.inf, math.inf)
    assert (mean.value, mean.n) == (pytest.approx(value.mean()), 5)
    for kind in SEEDS[:2]:  # wider than if the seeds of the other kind did not matter
        units = pd.Series(value).groupby(runs[kind].to_numpy()).mean()
        alone = claims.stats.student(0, units.sem(), len(units) - 1, len(units))
        assert mean.high - mean.low > alone.high - alone.low
    assert over_runs(value, runs.assign(data_seed=0), 0, 1).n == 1
    assert over_runs(value[:8], runs[:8].assign(network_seed=0), 0, 1).n == 1
    distinct = pd.DataFrame(dict.fromkeys(SEEDS, range(8)))
    assert over_runs(value[:8], distinct, -math.inf, math.inf) == claims.stats.mean(value[:8])


def test_combined_runs_that_are_all_alike_have_an_interval():
    value, runs = combined(8, 5, sd=0)
    mean = over_runs(1 + value, runs, 0, 1)
    assert (mean.value, mean.high, mean.n) == (1, 1, 5)
    assert mean.low == pytest.approx(0.025 ** (1 / 5))


@pytest.mark.parametrize(
    ("loss", "n"),
    [
        ([4, 8, 2, 1, 0.5], 0),  # it rises only before the first fall
        ([4, 1, 1.9, 0.5, 0.9, 0.1], 0),  # by less than a factor of two
        ([4, 1, 2, 3, 1], 1),
        ([4, 1, 3, 2], 0),  # not yet decayed
        ([4, 1, 3, 1, 0.1, 5, 0.1], 2),
    ],
)
def test_spikes_rise_and_fall_by_a_factor(loss, n):
    assert ablated_starts.spikes(np.array(loss)) == n


def test_runs_that_spike_in_cycles_or_end_low():
    cycles = [4, 1] * 4  # three spikes that have decayed
    curves = {"a": cycles, "b": [*cycles[:-1], 0.1, 2e-7], "c": cycles[:-1], "d": [4, 1, 1e-7, 1]}
    frame = pd.DataFrame(
        [(run, step, loss) for run, curve in curves.items() for step, loss in enumerate(curve)],
        columns=["run_id", "step", "test_loss"],
    ).iloc[::-1]  # fmt: skip
    share = ablated_starts.in_cycles(frame)
    assert (share.value, share.n) == (0.5, 4)
    assert ablated_starts.ends_low(frame).value == 0.25


def test_runs_that_never_reach_the_loss_count_with_their_last_step():
    steps = {(None, 0): 200, (2, 0): 100, (None, 1): 400, (2, 1): 1000, (1, 0): 1}
    rows = [
        (seed, kept, step, 1e-8 if first <= step < 1000 else 1.0)
        for (kept, seed), first in steps.items()
        for step in (0, 1, 100, 200, 400, 1000)
    ]
    frame = pd.DataFrame(rows, columns=["seed", "keep_strongest", "step", "test_loss"])
    ratio = ablated_starts.sooner(frame)
    assert (ratio.value, ratio.n) == (pytest.approx(math.sqrt(100 / 200 * 1000 / 400)), 2)
    assert ablated_starts.sooner(frame, level=1e-9).n == 0  # no run reaches it


def test_only_seeds_that_have_all_values_count():
    rows = [(seed, p, n) for seed, counts in enumerate([(2, 3, 4), (3, 3, 5), (1, 3, 4), (2, 4, 4)])
            for p, n in zip((7, 11, 13), counts, strict=True)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["seed", "p", "n_circles"])
    more = pd.DataFrame([(9, 7, 30), (8, 7, 40)], columns=frame.columns)
    assert claims.rises(pd.concat([frame, more]), "p") == claims.rises(frame, "p")


def test_pairs_collaborate_if_their_coefficients_add_up_to_more_than_zero(monkeypatch):
    effects = np.array([[9, 2, -1, 0], [-1, 9, 0, 0], [0, 0, 9, 0], [0, 0, 3, 9.0]])
    monkeypatch.setattr(ode, "fit", lambda x, method: ode.Fit(effects, np.zeros(4)))
    rows = [(run, step, k, 1.0) for run in "ab" for step in range(20) for k in range(1, 5)]
    frame = pd.DataFrame(rows, columns=["run_id", "step", "frequency", "signal"])
    share = claims.collaborating(frame)
    assert (share.value, share.n) == (pytest.approx(2 / 3), 2)  # three of six pairs are coupled


def test_the_analytic_solution_is_compared_with_the_rollout_of_the_lasso():
    fits = pd.DataFrame(
        [("lasso", 1000, 2.0, 1.0), ("lasso", 1000, 1.0, 2.0), ("lasso", 10, 9.0, 1.0),
         ("least_squares", 1000, 9.0, 1.0)],
        columns=["method", "n_steps", "analytic_error", "rollout_error"],
    )  # fmt: skip
    ratio = claims.analytic_error(fits)
    assert (ratio.value, ratio.n) == (pytest.approx(1), 2)
