import numpy as np
import pandas as pd
import pytest
import torch
from conftest import CPU, experiment, make_tables, planned, run_blocks

from circlet.collections.findings.tables import (
    force_coefficients,
    force_summary,
    matched_particles,
    network_forces,
)
from circlet.collections.musat.equations import constant_attention
from circlet.storage import parquet


def test_grids_are_the_half_with_fewer_imperfections():
    runs = pd.DataFrame({"is_circle": [True, *[False] * 4], "imperfections": [90, 5, 20, 30, 99]})
    expected = ["circle", "grid", "grid", "imperfect", "imperfect"]
    assert network_forces.structure(runs).tolist() == expected


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Short networks in two dimensions, and particles in two and three dimensions."""
    network = experiment(sweep={"weight_decay": [0, 1]}, steps=20, log={"parameters": {"at": [5]}})
    matched = experiment("particles", sweep={"d": [2, 3]}, parameters={"f_a": 0.5, "g_r": 2})
    roles = {"reproduce": {"network_forces": "n", "matched_particles": "m"}}
    study = planned(tmp_path_factory.mktemp("results"), roles, n=network, m=matched)
    make_tables(run_blocks(study), "force_summary", "force_coefficients", "matched_particles")
    return study


def test_gradients_are_those_of_the_loss_on_train_pairs_and_on_all(study):
    block = next(iter(study.blocks))
    logged = parquet.read_weights(block, [20])
    weights = {k: torch.as_tensor(v[0], dtype=torch.float64) for k, v in logged.items()}
    gradients = network_forces.gradients(block, weights)
    p = block.point
    data = constant_attention.data(p.parameters, [p.seeds(s) for s in block.seeds],
                                   torch.float64, CPU)  # fmt: skip
    weights["embedding"].requires_grad_()
    losses = constant_attention.metrics(weights, data)
    # The paper's split of the 153 pairs.
    all_pairs = (122 * losses["train_loss"] + 31 * losses["test_loss"]) / 153
    for gradient, loss in zip(gradients, (losses["train_loss"], all_pairs), strict=True):
        expected = torch.autograd.grad(loss.sum(), weights["embedding"], retain_graph=True)[0]
        torch.testing.assert_close(gradient, expected)


def test_every_run_has_its_steps_and_both_gradients(study):
    frame = parquet.read_table(study, "network_forces")
    assert len(frame) == 2 * 2 * 3 * 2
    assert set(frame["step"]) == {0, 5, 20}
    assert frame["r2"].between(0, 1).all() and frame["projected"].between(0, 1).all()
    assert not frame["r2_null_high"].isna().any()
    start = frame[frame["step"] == 0].set_index(["seed", "weight_decay", "pairs"]).sort_index()
    assert start.loc[(0, 0.0, "all"), "r2"] == start.loc[(0, 1.0, "all"), "r2"]
    assert start.loc[(0, 0.0, "all"), "r2"] != start.loc[(0, 0.0, "train"), "r2"]


def test_means_are_over_the_runs_of_a_structure(study):
    frame = parquet.read_table(study, "network_forces")
    summary = parquet.read_table(study, "force_summary")
    summary = summary.query("measure == 'cosine_alignment' and step == 5 and pairs == 'all'")
    whole = summary[summary["structure"] == "any"].iloc[0]
    assert (whole["value_n"], whole["n_planned"]) == (2, 2)
    row = summary[summary["structure"] != "any"].iloc[0]
    keys = ["weight_decay", "structure"]
    runs = frame[(frame[keys] == row[keys]).all(axis=1)].query("step == 5 and pairs == 'all'")
    assert row["value"] == pytest.approx(runs["cosine_alignment"].mean())
    excess = runs["cosine_alignment"] - runs["cosine_alignment_null"]
    assert row["excess"] == pytest.approx(excess.mean())
    assert (row["n_runs"], row["n_planned"]) == (len(runs), 2)


def test_particles_stand_beside_networks_of_their_dimension(study):
    matched = parquet.read_table(study, "matched_particles")
    assert matched["d"].tolist() == [2, 2] and matched["weight_decay"].tolist() == [0, 1]
    assert (matched[["f_a", "g_a", "g_r"]] == [0.5, 1, 2]).all(axis=None)
    assert matched["network_circles_n"].tolist() == [2, 2]


def test_strengths_are_ratios_of_sums_over_runs(study, monkeypatch):
    """Attraction is 2 and 4, alignment 3 in each, and repulsion does not differ from 0."""
    n = 6
    point = study.experiment("n")[0]
    planted = pd.DataFrame(
        {
            "run_id": [point.run_id(seed) for seed in range(n)] * 2,
            "structure": "grid",
            "pairs": "train",
            "step": [20] * n + [100] * n,
            "coefficient_attraction": [1.0, 3.0] * (n // 2) + [3.0, 5.0] * (n // 2),
            "coefficient_repulsion": [1.0, -1.0] * n,
            "coefficient_alignment": 3.0,
        }
    )
    monkeypatch.setattr(parquet, "read_table", lambda *_: planted)
    row, same = force_coefficients.table(study)
    assert (row["structure"], same["structure"]) == ("any", "grid")
    assert (row["after"], row["until"], row["attraction"]) == (10, 20, 3)
    assert row["f_a"] == pytest.approx(1) and row["f_a_low"] < 1 < row["f_a_high"]
    assert row["g_r_low"] < 0 < row["g_r_high"]
    planted["coefficient_attraction"] -= 3
    row, _ = force_coefficients.table(study)
    assert np.isnan(row["f_a"])


def test_no_finished_run_is_no_row(study, monkeypatch):
    empty = {
        name: parquet.read_table(study, name).iloc[:0] for name in ("network_forces", "structures")
    }
    monkeypatch.setattr(parquet, "read_table", lambda study, name, *_: empty[name])
    assert list(force_summary.table(study)) == list(force_coefficients.table(study)) == []
    (row, *_) = matched_particles.table(study)
    assert np.isnan(row["network_circles"])
