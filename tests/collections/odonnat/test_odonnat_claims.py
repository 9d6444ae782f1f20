"""Planted tables give the planted effects, and empty tables give none."""

import itertools

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, table_of

from circlet.collections.odonnat.tables import odonnat_claims, snapshots, transfers
from circlet.storage import parquet
from circlet.study import planning
from circlet.sweeps.tables import scorecard

CLAIMS = {name: effect for name, _, effect in odonnat_claims._CLAIMS}


def heads(n=40, **columns):
    """Rows of ``heads``: the first half succeeds, with a head at epoch 100 and a fit at 160."""
    solved = np.arange(n) < n // 2
    frame = pd.DataFrame(
        {
            "experiment": "heads", "run_id": [f"e/p/s{i:05d}" for i in range(n)], "seed": range(n),
            "success": solved, "test_accuracy": np.where(solved, 1.0, 0.5),
            "best_test_accuracy": np.where(solved, 1.0, 0.55), "head_present": solved,
            "kind": np.where(solved, "uniform", None), "rho_suffix": np.where(solved, 0.004, 0.7),
            "rho_histogram": np.where(solved, 0.01, 0.8), "distractor_attention": 0.5,
            "steps_per_epoch": 64,
        }
    )  # fmt: skip
    for name, epoch in (("drop_step", 105), ("structure_step", 100), ("fit_step", 160)):
        frame[name] = pd.array(np.where(solved, 64 * epoch, None), dtype="Int64")
    return frame.assign(**columns)


def test_values_of_a_planted_study():
    tables = {"heads": heads(), "spikes": pd.DataFrame({"run_id": []})}
    expected = {
        "successes": 20, "best_successes": 20, "stuck": 20, "accuracy_mean": 0.75, "fits_100": 0,
        "fits_200": 20, "fit_epoch": 160, "heads_of_successes": 20, "kind_uniform": 20,
        "kind_signed": 0, "heads_of_failures": 0, "suffix_successes": 0.004,
        "suffix_failures": 0.7, "histogram_successes": 20,
        "phase_order": 20, "phase_gap": 60, "spikes_per_run": 0,
    }  # fmt: skip
    for name, value in expected.items():
        assert CLAIMS[name](tables).value == pytest.approx(value), name
    late = heads(structure_step=pd.array([64 * 200] * 40, dtype="Int64"))
    assert CLAIMS["phase_order"]({"heads": late}).value == 0
    never = heads(structure_step=pd.array([None] * 40, dtype="Int64"))
    assert CLAIMS["phase_order"]({"heads": never}).value == 0


def spikes(gain, quiet, runs=12):
    stream = np.random.default_rng(0)
    n = 3 * runs
    noise = np.exp2(stream.normal(size=(3, n)) * 0.3)
    return pd.DataFrame(
        {
            "run_id": np.repeat([f"e/p/s{i:05d}" for i in range(runs)], 3),
            "mlp_gain": gain * noise[0], "mlp_gain_quiet": quiet * noise[1],
            "sharpness": gain * noise[0], "sharpness_earlier": quiet * noise[1],
            "sharpness_quiet": quiet * noise[2], "loss_before": 1.1e-3, "baseline": 1e-3,
            "cause": ["representation", "mlp", "representation"] * runs,
        }
    )  # fmt: skip


def test_spikes_are_compared_with_quiet_steps():
    """A gain that quiet steps also have does not count."""
    same = {"heads": heads(), "spikes": spikes(4.0, 4.0)}
    more = {"heads": heads(), "spikes": spikes(4.0, 1.0)}
    for claim in ("steepness_in_spikes", "sharpness_hardly_rises"):
        null, effect = CLAIMS[claim](same), CLAIMS[claim](more)
        assert null.low < 1 < null.high, claim
        assert effect.low > 2, claim
        assert effect.n == 12, claim
    rising = spikes(4.0, 1.0)  # as in quiet steps
    rising["sharpness_quiet"] /= 4
    null = CLAIMS["sharpness_hardly_rises"]({"spikes": rising})
    assert null.low < 1 < null.high
    begun = spikes(4.0, 1.0)  # the loss has already risen, and the sharpness with it
    begun.loc[begun["run_id"] > "e/p/s00002", "loss_before"] = 1.3e-3
    assert CLAIMS["sharpness_hardly_rises"]({"spikes": begun}).n == 3
    gain = CLAIMS["spikes_of_feed_forward"](same)
    assert gain.low > 3
    share = CLAIMS["spikes_by_representation"](more)
    assert (share.value, share.n) == (pytest.approx(200 / 3), 12)


def gradients(jump, runs=20, seed=0):
    """Random gradient norms, ``jump`` times larger around the drop at epoch 105."""
    stream = np.random.default_rng(seed)
    rows = []
    for run in range(runs):
        for epoch in range(0, 200, 5):
            size = np.exp(0.5 * stream.normal()) * (jump if abs(epoch - 105) <= 10 else 1)
            rows += [(f"e/p/s{run:05d}", 64 * epoch, name, size) for name in ("query", "position")]
    return pd.DataFrame(rows, columns=["run_id", "step", "name", "norm"])


def test_gradients_at_drops_have_a_null():
    def effect(jump, seed=0):
        tables = {"heads": heads(), "gradient_norms": gradients(jump, seed=seed)}
        return odonnat_claims.gradients_at_drops(tables)

    noise = [effect(1, seed) for seed in range(60)]
    assert np.mean([e.low < 1 < e.high for e in noise]) > 0.85
    assert np.mean([e.value for e in noise]) == pytest.approx(1, abs=0.05)
    assert effect(100).value == pytest.approx(100, rel=0.4)
    assert effect(100).low > 10


def test_any_part_of_the_roles_gives_what_it_can(finished, monkeypatch):
    """Tables of the smoke study with one, two or all of the roles that other claims need."""
    monkeypatch.chdir(finished.folder)
    whole = planning.plan_file(ROOT / "config/smoke.yaml")
    roles = ("heads", "seed_effects", "scratch", "transfer", "curriculum")
    for n in (1, 2, len(roles)):
        for some in itertools.combinations(roles, n):
            part = whole.subset([whole.reproduce[r] for r in some], some)
            table = table_of(odonnat_claims, part).set_index("claim")
            assert ("successes" in table.index) == ("heads" in some)
            if "transfer" in some:
                is_answered = table.loc["transfer_helps", "n_runs"] > 0
                assert is_answered == ("scratch" in some)


def test_transfers_name_the_parent(finished, monkeypatch):
    monkeypatch.chdir(finished.folder)
    study = planning.plan_file(ROOT / "config/smoke.yaml")
    part = study.subset(["transfer", "curriculum"], ["transfer", "curriculum"])
    rows = table_of(transfers, part)
    runs = parquet.read_table(part, "heads").set_index("run_id")
    assert set(rows["experiment"]) == {"transfer", "curriculum"}
    for row in rows.itertuples():
        assert row.parent.startswith("heads/") and row.parent.endswith(row.run_id[-6:])
        assert row.parent_success == runs.loc[row.parent, "success"]


def test_the_exemplar_has_the_median_gap():
    frame = heads()
    frame["structure_step"] = pd.array([64 * (160 - i) if i < 20 else None for i in range(40)],
                                       dtype="Int64")  # fmt: skip
    run = snapshots.exemplar(frame)
    assert run["seed"] == 10  # gaps are 1 to 19 (a gap of 0 does not count), with the middle 10
    assert snapshots.moments(run, 64000) == {
        "initial": 0, "before": 64 * 125, "structured": 64 * 150, "classifying": 64 * 155,
        "fitted": 64 * 160, "last": 64000,
    }  # fmt: skip
    assert snapshots.exemplar(frame.iloc[20:]) is None


def test_conditions_of_a_base_and_of_another_role():
    study = planning.plan_file(ROOT / "config/paper.yaml")
    assert scorecard.unmet(study, "transfer", {"parent.p": "2", "scratch.p": "3"}) == ""
    reason = scorecard.unmet(study, "transfer", {"parent.steps": "10"})
    assert reason == "runs with parent.steps 64000, the paper has 10"
    assert "scratch.p 3" in scorecard.unmet(study, "transfer", {"scratch.p": "2"})
    assert "parent.p None" in scorecard.unmet(study, "heads", {"parent.p": "2"})
    assert scorecard.unmet(study, "batch_sizes", {"epochs": "1000"}) == ""
