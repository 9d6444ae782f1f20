"""Statistics of the delays on made-up runs, and all tables and figures on tiny networks."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, run_blocks

from circlet import build
from circlet.analysis import claims
from circlet.collections.delays.tables import (
    contraction_rates,
    delay_runs,
    fork_times,
    grokking_boundaries,
    logit_mediation,
)
from circlet.storage import parquet
from circlet.study import planning, registry, targets
from circlet.study.swept import text

SMALL = {"p": 5, "d": 8, "hidden": 8, "learning_rate": 0.03}
(DELAYS,) = (one for one in registry.SHIPPED if one.name == "delays")
STUDY = planning.plan_file(ROOT / "config/delays.yaml")


def contracting(kappas, norm=10.0, grokked=8.0):
    """Return runs of settings (learning rate, weight decay) with given kappa, scattered by seed."""
    rows = [
        {"seed": seed, "p": 59, "learning_rate": rate, "weight_decay": decay,
         "memorised_step": 100.0, "norm_memorised": norm, "norm_grokked": grokked,
         "delay": math.log(norm / grokked) / (kappa * rate * decay) * (1 + 0.02 * (seed - 2))}
        for (rate, decay), kappa in kappas.items() for seed in range(5)
    ]  # fmt: skip
    runs = pd.DataFrame(rows)
    runs["generalised_step"] = runs["memorised_step"] + runs["delay"]
    return runs.assign(kappa=delay_runs.kappa(runs))


def test_one_kappa_predicts_all_delays():
    runs = contracting({(0.001, 1.0): 0.2, (0.001, 0.3): 0.2, (0.004, 1.0): 0.2})
    assert runs["kappa"].mean() == pytest.approx(0.2, rel=0.01)
    ratio = contraction_rates.largest_ratio(runs)
    assert ratio.low == 1 and 1 <= ratio.value < ratio.high < 1.3
    assert contraction_rates.errors(runs).mean() < 0.05
    assert contraction_rates.errors(runs).isna().sum() == 0


def test_kappas_that_differ_are_told_apart():
    runs = contracting({(0.001, 1.0): 0.2, (0.001, 0.3): 0.3, (0.004, 1.0): 0.1})
    ratio = contraction_rates.largest_ratio(runs)
    assert ratio.value == pytest.approx(3)
    assert 2 < ratio.low < 3 < ratio.high < 4.5
    assert ratio.n == 5
    assert contraction_rates.errors(runs).mean() == pytest.approx(0.5, abs=0.05)


def clamped(time, scale, seeds=8):
    """Return runs with time and logit scale as functions of norm and temperature."""
    rows = [
        {"seed": seed, "clamp_factor": norm, "temperature": temperature,
         "generalised_step": time(norm, temperature) * (1 + 0.01 * (seed % 3 - 1)),
         "logit_scale_grokked": scale(norm, temperature)}
        for norm in (1.0, 1.05, 1.1, 1.15) for temperature in (1.0, 1.3, 1.7)
        for seed in range(seeds)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def by_norm_and_temperature(norm, temperature):
    return norm**3 / temperature


@pytest.mark.parametrize(("share", "expected"), [(1.0, 1.0), (0.0, 0.0), (0.5, 0.63)])
def test_the_share_that_the_logit_scale_carries_is_recovered(share, expected):
    """Time grows by exp(7 (norm - 1)), of which a share follows the scale instead of the norm."""

    def time(norm, temperature):
        of_scale = math.log(by_norm_and_temperature(norm, temperature)) / math.log(1.15**3)
        return 2000 * math.exp(1.05 * (share * of_scale + (1 - share) * (norm - 1) / 0.15))

    runs = clamped(time, by_norm_and_temperature)
    effects = logit_mediation.over_seeds(runs)
    assert effects["recovered"].value == pytest.approx(expected, abs=0.06)
    assert all(one.low - 1e-9 <= one.value <= one.high + 1e-9 for one in effects.values())
    assert effects["norm_effect"].value == pytest.approx(math.exp(1.05), rel=0.01)
    adds = effects["norm_adds"].value
    assert adds < 0.05 if share == 1 else adds > 0.05
    assert logit_mediation.scale_ratio(runs.assign(
        logit_scale_grokked=runs["logit_scale_grokked"] * (1 + runs["seed"] / 100)
    )).value == pytest.approx(1.7)  # fmt: skip


def test_a_logit_scale_that_no_temperature_reaches_recovers_an_unknown_share():
    runs = clamped(lambda norm, _: 1000 * norm, lambda norm, temperature: norm**5 / temperature)
    assert math.isnan(logit_mediation.over_seeds(runs)["recovered"].value)


def test_cells_in_which_most_runs_do_not_grok_are_left_out():
    runs = clamped(lambda norm, _: 1000.0, by_norm_and_temperature)
    runs.loc[(runs["clamp_factor"] > 1.1) & (runs["seed"] > 2), "generalised_step"] = math.nan
    assert logit_mediation.Cells.of(logit_mediation.by_seed(runs)).norm.max() == 1.1


def forks(law, spread, seeds=12):
    stream = np.random.default_rng(0)
    rows = [
        {"seed": seed, "change_step": 200, "change_weight_decay": decay,
         "generalised_step": 200 + law(decay) * math.exp(stream.normal(0, spread))}
        for seed in range(seeds) for decay in (0.1, 0.2, 0.5, 1.0)
    ]  # fmt: skip
    runs = pd.DataFrame(rows)
    return runs.assign(generalised_step_after=runs["generalised_step"] - 10)


def test_remaining_times_count_from_the_fork():
    runs = forks(lambda decay: 300 / decay, spread=0.01)
    early = runs.iloc[:1].assign(generalised_step=150.0, generalised_step_after=140.0)
    times = fork_times.remaining(pd.concat([runs, early], ignore_index=True))
    assert len(times) == len(runs)  # one had grokked before the fork
    expected = {0.1: 3000, 0.2: 1500, 0.5: 600, 1.0: 300}
    assert times.groupby("x")["by"].mean().to_dict() == pytest.approx(expected, rel=0.02)


def test_means_fit_better_than_runs():
    times = fork_times.remaining(forks(lambda decay: 300 / decay, spread=0.4))
    of_means, of_runs = fork_times.r2s(times)
    assert of_means.value > 0.9 > of_runs.value > 0.3
    assert of_runs.low < of_runs.value < of_runs.high
    wrong, _ = fork_times.r2s(fork_times.remaining(forks(lambda decay: 900 - decay, spread=0.1)))
    assert wrong.value < 0


def test_decays_at_which_many_runs_do_not_grok_have_no_means():
    times = fork_times.remaining(forks(lambda decay: 300 / decay, spread=0.05))
    slow = (times["x"] < 0.5) & (times["seed"] < 3)
    of_means, _ = fork_times.r2s(times.assign(by=times["by"].where(~slow)))
    assert math.isnan(of_means.value)  # two decays are left


def grokked(shares, n=20):
    decay = pd.Series(np.repeat(list(shares), n), dtype=float)
    return decay, pd.Series([i < n * share for share in shares.values() for i in range(n)])


def test_the_boundary_is_where_half_of_the_runs_grok():
    gradual = grokking_boundaries.boundary(*grokked({0.01: 0, 0.02: 0.2, 0.04: 0.8, 0.08: 1}))
    assert gradual.value == pytest.approx(math.sqrt(0.02 * 0.04), rel=0.05)
    assert 0.02 < gradual.low < gradual.value < gradual.high < 0.04
    sharp = grokking_boundaries.boundary(*grokked({0.01: 0, 0.02: 0, 0.04: 1, 10: 0}))
    assert sharp[:3] == pytest.approx((math.sqrt(0.02 * 0.04), 0.02, 0.04))
    one = grokking_boundaries.boundary(*grokked({0.01: 0, 0.02: 0.25, 0.04: 1}))
    assert one[:3] == pytest.approx((math.sqrt(0.02 * 0.04), 0.02, 0.04))
    unsure = grokking_boundaries.boundary(*grokked({0.01: 0, 0.02: 0.5, 0.04: 1}))
    assert unsure[:3] == pytest.approx((math.sqrt(0.02 * 0.04), 0.01, 0.04))
    assert math.isnan(grokking_boundaries.boundary(*grokked({0.1: 0.9, 1: 1})).value)
    assert math.isnan(grokking_boundaries.boundary(*grokked({0.1: 0, 1: 0.1})).value)


def test_claims_select_rows_that_the_study_makes():
    """Values of weight decay, learning rate and p in claims.csv are those of the config."""
    read = claims.read(STUDY)
    rows = read[read["collection"] == "delays"]
    named = ("p", "learning_rate", "weight_decay", "loss", "residual")
    assert len(rows) > 25
    for row in rows.itertuples():
        points = [p.keys for p in STUDY.experiment(STUDY.reproduce[row.role])]
        if row.table == "retained_accuracy":
            points = [k | {"weight_decay": k["change_weight_decay"]} for k in points]
        wanted = {k: v for k, v in row.keys.items() if k in named}
        assert any(all(text(keys[k]) == v for k, v in wanted.items()) for keys in points), row.claim


def tiny(results):
    """Return the study of the config with tiny networks, a few steps and two seeds."""
    experiments = {}
    settings = {"steps": 60, "seeds": {"count": 3}, "block": 3, "log": {"curves": {"every": 2}}}
    for role, experiment in STUDY.config.experiments.items():
        one = {"system": experiment.system, "parameters": SMALL, **settings}
        if "_decays" in role:
            one["sweep"] = {"weight_decay": [0.1, 0.3, 1, 2]}
        elif role.startswith("clamped_norms"):
            one["sweep"] = {"temperature": [1, 2], "loss": ["cross_entropy", "squared_error"]}
            one["interventions"] = [{"clamp": {"step": 5, "factor": [1.0, 1.1]}}]
        else:
            one["interventions"] = [{"change": {"step": 5, "weight_decay": [0.1, 0.3, 1]}}]
        experiments[role] = one
    both = {"metric": "train_accuracy"}  # which all runs learn
    return planning.plan({
        "results": str(results), "experiments": experiments, "figures": [],
        "milestones": {"memorised_step": both | {"above": 0.5},
                       "generalised_step": both | {"above": 0.9}},
        "reproduce": {role: role for role in experiments},
    })  # fmt: skip


@pytest.mark.slow
def test_all_tables_and_figures_of_tiny_networks(tmp_path):
    study = run_blocks(tiny(tmp_path / "results"))
    names = {*DELAYS.modules("tables"), *DELAYS.modules("figures")}
    made = [
        target for target in targets.ordered(study) if target.name in names | {"milestones", "runs"}
    ]
    assert names <= {target.name for target in made}
    for target in made:
        build.make(target)
    runs = parquet.read_table(study, "delay_runs")
    assert len(runs) == 3 * (4 + 4 + 8 + 8)
    assert runs["norm_memorised"].notna().any()
    assert runs["kappa"].notna().any()
    kept = parquet.read_table(study, "retained_accuracy")
    assert list(kept["experiment"]) == ["lowered_decay"] * 3 + ["lowered_decay_again"] * 3
    assert list(kept["weight_decay"]) == [0.1, 0.3, 1] * 2
    assert list(kept["from_start_n"]) == [3] * 6
    shares = parquet.read_table(study, "grokked_shares")
    assert (shares["n_runs"] == 3).all() and shares["median"].notna().any()
