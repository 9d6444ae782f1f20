"""Embedding and two-layer network on ordered pairs in JAX."""

from typing import Any

import jax
from jax import numpy as jnp

from circlet.bench.peers import Arrays, Peer, columns, pair_examples, rows


def written(weights: Arrays, examples: Arrays) -> Any:
    """Ding et al., section 2: three layers on [E_a, E_b], with silu."""
    embedding, pairs = weights["embedding"], examples["pairs"]
    x = jnp.concatenate([embedding[pairs[:, 0]], embedding[pairs[:, 1]]], axis=1)
    h = jax.nn.silu(rows(weights, "hidden1", x))
    return rows(weights, "output", jax.nn.silu(rows(weights, "hidden2", h)))


def formulated(weights: Arrays, examples: Arrays) -> Any:
    """Compute the same; the first layer is a sum of two rows of tables (p, hidden) of numbers."""
    (left, right), d = examples["pairs"].T, weights["embedding"].shape[1]
    weight = weights["hidden1.weight"]
    lefts = weights["embedding"] @ weight[:, :d].T + weights["hidden1.bias"][:, 0]
    rights = weights["embedding"] @ weight[:, d:].T
    h = jax.nn.silu(lefts[left] + rights[right]).T
    return columns(weights, "output", jax.nn.silu(columns(weights, "hidden2", h)))


PEER = Peer(pair_examples, written, formulated, groups=(1, 2, 4), steps=8)
