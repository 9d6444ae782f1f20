"""The transformer for sparse modular addition in JAX."""

from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from circlet.bench.peers import Arrays, Peer, columns, rows


def sequence_examples(parameters: Arrays, starts_module: Any, seeds: Any) -> Arrays:
    """Return train sequences (examples, length), one-hot tokens, sums of the first k tokens."""
    tokens, _ = starts_module.sequences(parameters, seeds)
    target = tokens[:, : parameters["k"]].sum(1, dtype=np.int64) % parameters["p"]
    one_hot = tokens[:, None] == np.arange(parameters["p"])[:, None]  # (examples, p, length)
    return {"tokens": tokens.astype(np.int32), "here": one_hot, "target": target}


def _norm(x: Any, axis: int) -> Any:
    return x / (jnp.sqrt(jnp.square(x).mean(axis, keepdims=True)) + 1e-5)


def _gelu(x: Any) -> Any:
    return jax.nn.gelu(x, approximate=False)


def written(weights: Arrays, examples: Arrays) -> Any:
    """Odonnat et al., section 2: attention of one query over a sequence, and an MLP."""
    z = _norm(weights["embedding"][examples["tokens"]] + weights["position"], 2)
    alpha = jax.nn.softmax(z @ weights["query"][0] / z.shape[2] ** 0.5, axis=1)
    xi = (alpha[..., None] * (z @ weights["value.weight"].T)).sum(1)
    r = xi + rows(weights, "output", _gelu(rows(weights, "hidden", _norm(xi, 1))))
    return r @ weights["embedding"].T


def formulated(weights: Arrays, examples: Arrays) -> Any:
    """Compute the same; scores and values are tables of tokens and positions, (p, length)."""
    one_hot = jnp.moveaxis(examples["here"], 0, 2)  # (p, length, examples)
    embedding = weights["embedding"]
    z = _norm(embedding[: len(one_hot), None] + weights["position"], 2)
    scores = z @ weights["query"][0] / z.shape[2] ** 0.5
    values = z @ weights["value.weight"].T
    alpha = jax.nn.softmax(jnp.where(one_hot, scores[..., None], 0).sum(0), axis=0)
    xi = jnp.einsum("vld,vle->de", values, jnp.where(one_hot, alpha, 0))
    r = xi + columns(weights, "output", _gelu(columns(weights, "hidden", _norm(xi, 0))))
    return embedding @ r


PEER = Peer(
    sequence_examples, written, formulated, groups=(25, 50, 100, 200), steps=64, is_products=False
)
