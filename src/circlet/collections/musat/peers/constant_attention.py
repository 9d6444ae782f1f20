"""The network with constant attention in JAX."""

from typing import Any

import jax

from circlet.bench.peers import Arrays, Peer, columns, pair_examples, rows


def written(weights: Arrays, examples: Arrays) -> Any:
    """Mușat, section 3: o = W_o relu(W_h (E_a + E_b) + b_h) + b_o."""
    embedding, pairs = weights["embedding"], examples["pairs"]
    x = embedding[pairs[:, 0]] + embedding[pairs[:, 1]]
    return rows(weights, "output", jax.nn.relu(rows(weights, "hidden", x)))


def formulated(weights: Arrays, examples: Arrays) -> Any:
    """Compute the same; sums E_a + E_b are a product with the incidence of numbers in pairs."""
    x = weights["embedding"].T @ examples["incidence"]
    return columns(weights, "output", jax.nn.relu(columns(weights, "hidden", x)))


PEER = Peer(pair_examples, written, formulated, groups=(10, 50, 100, 200), steps=64)
