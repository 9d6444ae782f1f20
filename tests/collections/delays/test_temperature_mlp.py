"""The network with a temperature: its logits, losses and metrics, and golden values."""

import math

import pytest
import torch
from conftest import point_of, trained_logs
from torch.nn import functional

from circlet.collections.delays import equations as sums
from circlet.collections.delays.equations import temperature_mlp
from circlet.collections.delays.systems.temperature_mlp import SYSTEM
from circlet.study.seeds import Seeds
from circlet.training import autograd

SEEDS = Seeds(1, 2, 3, 4)
SMALL = {"p": 7, "d": 6, "hidden": 9}


def made(**changes):
    parameters = SYSTEM.defaults | SMALL | changes
    torch.manual_seed(0)
    return temperature_mlp.network(parameters, SEEDS).double(), sums.data(parameters, SEEDS)


def test_logits_are_those_of_the_equation():
    network, parts = made(temperature=1.7)
    with torch.no_grad():
        network.hidden_bias.normal_()
        network.output_bias.normal_()
    pairs, target = parts["train"]
    both = network.embedding[pairs].flatten(1)
    hidden = functional.gelu(both @ network.hidden.flatten(0, 1) + network.hidden_bias)
    expected = (hidden @ network.output + network.output_bias) / 1.7
    torch.testing.assert_close(network(pairs), expected)
    assert torch.equal(target, (pairs[:, 0] + pairs[:, 1]) % 7)
    assert len(target) == int(0.4 * 49)
    all_pairs = torch.cat([parts["train"][0], parts["test"][0]])
    assert len(all_pairs.unique(dim=0)) == 49


def test_losses_are_the_usual_ones():
    network, parts = made()
    pairs, target = parts["train"]
    usual = functional.cross_entropy(network(pairs), target)
    squared, _ = made(loss="squared_error")
    wanted = functional.one_hot(target, 7)
    for one, expected in (
        (network, usual),
        (made(residual="cancelling")[0], usual),
        (squared, (squared(pairs) - wanted).square().sum(1).mean()),
    ):
        torch.testing.assert_close(temperature_mlp.loss(one, parts["train"]), expected)


def test_only_the_cancelling_gradient_is_lost_if_the_network_is_certain():
    gradients = {}
    for residual in ("exact", "cancelling"):
        network, _ = made(residual=residual)
        network = network.float()
        with torch.no_grad():
            network.output.zero_()
            network.output_bias[0] = 40.0
        example = (torch.tensor([[3, 4]]), torch.tensor([0]))
        temperature_mlp.loss(network, example).backward()
        gradients[residual] = float(network.output_bias.grad[0])
    assert gradients["cancelling"] == 0
    assert gradients["exact"] == pytest.approx(-6 * math.exp(-40))


def test_scale_and_norm():
    cold, parts = made(temperature=1.0)
    warm, _ = made(temperature=2.0)
    with torch.no_grad():
        a, b = (temperature_mlp.metrics(network, parts) for network in (cold, warm))
    assert float(a["logit_scale"] / b["logit_scale"]) == pytest.approx(2)
    assert float(a["norm"]) == pytest.approx(float(b["norm"]))
    squares = sum(float(w.detach().square().sum()) for w in cold.parameters())
    assert float(a["norm"]) == pytest.approx(math.sqrt(squares))
    assert set(a) == set(SYSTEM.metrics)


def test_biases_do_not_decay():
    shares = temperature_mlp.weight_decay_multipliers({})
    names = dict(made()[0].named_parameters())
    assert set(shares) == {name for name in names if "bias" in name}


def golden_of(system, parameters):
    """Return values that only a new version may change: initial arrays, data, and end."""
    one = {"system": system, "parameters": parameters, "steps": 30, "dtype": "float64"}
    point = point_of(**one)
    start = autograd.equations(point.system).initial(point.parameters, SEEDS)
    last = trained_logs(point, [4])["runs"].to_pandas()
    return {
        "version": point.system.version,
        "initial": [float(array.ravel()[[0, -1]].sum()) for array in start.values()],
        "pairs": sums.data(point.parameters, SEEDS)["train"][0][:5].tolist(),
        "end": [float(last[name].iloc[0]) for name in sorted(point.system.metrics)],
    }


def golden_values():
    return golden_of("temperature_mlp", SMALL)
