"""The transformer equals one of PyTorch's layers; golden values."""

import torch
from conftest import config
from torch.nn import functional

from circlet.collections.delays import equations as sums
from circlet.collections.delays.equations import pair_transformer
from circlet.collections.delays.systems.pair_transformer import SYSTEM
from circlet.study import planning
from circlet.study.seeds import Seeds
from circlet.training import autograd, run

CPU = torch.device("cpu")
SEEDS = Seeds(1, 2, 3, 4)
SMALL = {"p": 7, "d": 8, "hidden": 9, "heads": 2}


def test_logits_are_those_of_attention_over_three_tokens():
    torch.manual_seed(0)
    network = pair_transformer.network(SMALL, SEEDS).double()
    with torch.no_grad():
        network.up_bias.normal_()
        network.down_bias.normal_()
    pairs = sums.data(SMALL | {"train_fraction": 0.5}, SEEDS)["train"][0]
    equals = network.equals.expand(len(pairs), 1, -1)
    tokens = torch.cat([network.embedding[pairs] + network.positions, equals], 1)
    queries, keys, values = (
        (tokens @ w).unflatten(-1, (2, 4)).transpose(1, 2)
        for w in (network.query, network.key, network.value)
    )
    mixed = functional.scaled_dot_product_attention(queries, keys, values)
    states = tokens + mixed.transpose(1, 2).flatten(2) @ network.mixed
    up = (states @ network.up + network.up_bias).relu()
    states = states + up @ network.down + network.down_bias
    torch.testing.assert_close(network(pairs), states[:, -1] @ network.unembedding)


def golden_values():
    """Return values that only a new version may change: initial arrays, data, and end."""
    one = {"system": "pair_transformer", "parameters": SMALL, "steps": 30, "dtype": "float64"}
    point = planning.plan(config(**one)).points[0]
    start = autograd.equations(point.system).initial(point.parameters, SEEDS)
    last = run.run(point, [4], CPU)["runs"].to_pandas()
    return {
        "version": SYSTEM.version,
        "initial": [float(array.ravel()[[0, -1]].sum()) for array in start.values()],
        "pairs": sums.data(point.parameters, SEEDS)["train"][0][:5].tolist(),
        "end": [float(last[name].iloc[0]) for name in sorted(SYSTEM.metrics)],
    }


def test_golden_values(golden):
    golden("pair_transformer", golden_values())
