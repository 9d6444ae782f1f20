import numpy as np
import pandas as pd
import pytest
import torch
from conftest import CPU, ran, table_of

from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.collections.odonnat.systems.sparse_transformer import SYSTEM
from circlet.collections.odonnat.tables import spikes
from circlet.storage import parquet
from circlet.study.seeds import Seeds
from circlet.systems import loss

PARAMETERS = SYSTEM.defaults | {"n_train": 200, "n_test": 4}
CHOSEN = system.data(PARAMETERS, [Seeds(0, 0, 0, 0)], torch.float64, CPU).train


def test_a_spike_is_ten_times_the_median_of_the_ten_before():
    quiet = np.full(60, 1e-3)
    losses = quiet.copy()
    losses[30:33] = 0.02, 0.0099, 0.011  # the second is below the bar, but within the spike
    losses[50] = 0.02  # 18 steps later: another spike
    losses[58] = 0.02  # 8 steps after that: the same spike
    assert spikes.find(losses, fit=5) == [(30, 32), (50, 58)]
    assert spikes.find(losses, fit=25) == [(50, 58)]  # 30 is within ten steps of the fit
    assert spikes.find(quiet * 1e-3 + (np.arange(60) == 40) * 9e-5, 5) == []  # below 1e-4


def test_rows_say_where_a_spike_begins():
    curves = pd.DataFrame({"step": np.arange(60) * 64, "train_loss": 1e-3, "test_accuracy": 0.99})
    curves.loc[40, "train_loss"] = 0.5
    (row,) = spikes.of_run(curves.sample(frac=1, random_state=0))
    assert row == {
        "step": 40 * 64, "last_step": 40 * 64, "height": 0.5, "baseline": 1e-3,
        "before": 39 * 64, "earlier": 29 * 64, "quiet": 30 * 64, "earliest": 19 * 64,
    }  # fmt: skip
    assert spikes.of_run(curves.assign(test_accuracy=0.9)) == []


def test_steps_are_quiet_after_the_fit_and_without_a_spike():
    """The spike at 40 has quiet steps from 19 on, unless the fit or another spike is among them."""

    def earliest(spike=0, fit=0):
        epochs = np.arange(60)
        losses = np.where(np.isin(epochs, [spike, 40]), 0.5, 1e-3)
        accuracies = np.where(epochs >= fit, 0.99, 0.9)
        curves = {"step": epochs, "train_loss": losses, "test_accuracy": accuracies}
        return spikes.of_run(pd.DataFrame(curves))[-1]["earliest"]

    assert [earliest(spike=at) for at in (18, 19, 29)] == [19, None, None]
    assert [earliest(fit=at) for at in (19, 20)] == [19, None]


def network(seed=0):
    start = system.initial(PARAMETERS, Seeds(seed, seed, 0, 0))
    return {name: torch.as_tensor(array)[None] for name, array in start.items()}


def mean_loss(weights):
    return loss.metrics(system.logits(weights, CHOSEN, 2), CHOSEN.target, 1)[0].item()


@pytest.mark.parametrize("group", ["representation", "mlp"])
def test_the_group_that_changed_is_the_cause(group):
    before = network()
    other = network(1)
    mlp = [n for n in before if n.startswith(("hidden", "output"))]
    changed = mlp if group == "mlp" else [n for n in before if n not in mlp]
    after = before | {name: other[name] for name in changed}
    hybrids = spikes.hybrids(before, after, CHOSEN, 2)
    assert hybrids["loss_before"][0] == pytest.approx(mean_loss(before))
    assert hybrids["loss_after"][0] == pytest.approx(mean_loss(after))
    alone, none = ("by_mlp", "by_representation")[:: 1 if group == "mlp" else -1]
    assert hybrids[alone][0] == pytest.approx(1)
    assert hybrids[none][0] == pytest.approx(0)
    assert spikes.cause(hybrids["by_representation"][0], hybrids["by_mlp"][0]) == group


@pytest.mark.parametrize(
    ("shares", "cause"),
    [((0.6, 0.1), "representation"), ((0.5, 0.51), "mlp"), ((0.8, 0.9), "both"),
     ((0.4, 0.3), "joint")],
)  # fmt: skip
def test_causes(shares, cause):
    assert spikes.cause(*shares) == cause


def test_margins_and_their_slopes():
    weights = network(2)
    xi = system.embed(weights, CHOSEN, 2)
    values, slopes = (part[0] for part in spikes.margins(weights, xi, CHOSEN.target))
    s = system.norm(xi, 1)[0]

    def margin(s):
        o = weights["embedding"] @ (xi + system.mlp(weights, s))
        right = o.gather(1, CHOSEN.target)
        return (right - o.scatter(1, CHOSEN.target, -torch.inf).amax(1, keepdim=True))[0, 0]

    by_axis = []
    for axis in range(2):
        step = torch.zeros_like(s)
        step[:, axis] = 1e-6
        by_axis.append((margin(s + step) - margin(s - step)) / 2e-6)
    torch.testing.assert_close(values, margin(s))
    torch.testing.assert_close(slopes, torch.stack(by_axis).norm(dim=0), rtol=1e-5, atol=1e-7)


def planted_gains(monkeypatch, small=1.0, steep=1.0):
    """Return gains of five sequences; only the first crosses to the side of the others' class.

    Its xi is ``small`` times as large as theirs, and the MLP is ``steep`` times steeper at it.
    """
    weights = {name: torch.tensor([array], dtype=torch.float64) for name, array in {
        "embedding": [[-1.0, 0], [1, 0]],
        "hidden.weight": [[-1.0, 0], [1, 0]], "hidden.bias": [[0.0], [0]],
        "output.weight": [[-steep, 1.0], [0, 0]], "output.bias": [[0.0], [0]],
    }.items()}  # fmt: skip
    tokens = np.array([[[0] * 12] + [[1] * 12] * 4])
    chosen = system.encode(tokens, 2, 1, torch.float64, CPU)
    before = torch.tensor([[[-small, 1, 1, 1, 1], [small, 1, 1, 1, 1]]], dtype=torch.float64)
    after = before.clone()
    after[0, 0, 0] = small
    monkeypatch.setattr(system, "embed", lambda w, *_: after if "late" in w else before)
    return spikes.gains(weights, weights | {"late": None}, chosen, 2)


def test_a_steep_mlp_amplifies(monkeypatch):
    gains = planted_gains(monkeypatch, steep=20.0)
    # Each receptor sees one side, where gelu' is 1.083; on the other side gelu' is -0.083.
    steeper = (20 * 1.0833 - 0.0833) / abs(1.0833 - 20 * 0.0833)
    assert gains["mlp_gain"][0] == pytest.approx(steeper, rel=0.01)
    assert gains["norm_gain"][0] == pytest.approx(1)
    assert gains["boundary_distance"][0] < 0.5  # the boundary is nearer where the margin is steep


def test_a_small_embedding_is_amplified_by_the_norm(monkeypatch):
    gains = planted_gains(monkeypatch, small=0.01)
    assert gains["norm_gain"][0] == pytest.approx(100)
    assert gains["mlp_gain"][0] == pytest.approx(1, rel=1e-3)
    # One half of the others' margin comes from xi itself, without the MLP.
    assert gains["boundary_distance"][0] == pytest.approx(0.5, rel=0.05)


def test_table_of_a_planted_spike(tmp_path, monkeypatch):
    """Only the spike between two logged networks is attributed."""
    study = ran(
        tmp_path,
        system="sparse_transformer",
        epochs=40,
        parameters={"n_train": 16, "n_test": 4, "batch_size": 16},
        log={"parameters": {"at": [19, 20], "every_epochs": 40}},
    )
    block = next(study.blocks)
    curves = parquet.read_log(block, "curves").assign(train_loss=1e-3, test_accuracy=0.99)
    curves.loc[(curves["seed"] == 1) & (curves["step"] == 20), "train_loss"] = 0.5
    curves.loc[(curves["seed"] == 0) & (curves["step"] == 30), "train_loss"] = 0.4
    read = parquet.read_log
    monkeypatch.setattr(parquet, "read_log", lambda b, kind, *rest: (
        curves if kind == "curves" else read(b, kind, *rest)))  # fmt: skip
    table = table_of(spikes, study).set_index("seed")
    assert table["height"].to_dict() == pytest.approx({0: 0.4, 1: 0.5})
    assert pd.isna(table.loc[0, "cause"])
    assert table.loc[1, "cause"] in ("representation", "mlp", "both", "joint")
    assert table.loc[1, "sharpness"] == table.loc[1, "sharpness"]
    assert pd.isna(table.loc[1, "sharpness_earlier"])  # step 9 is not logged
