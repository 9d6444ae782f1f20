"""The transformer equals one of PyTorch's layers; golden values."""

import torch
from test_temperature_mlp import SEEDS, golden_of
from torch.nn import functional

from circlet.collections.delays import equations as sums
from circlet.collections.delays.equations import pair_transformer

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
    return golden_of("pair_transformer", SMALL)
