"""Embedding and two-layer network on ordered pairs (Ding et al., section 2 and appendix E).

    [E_a, E_b] -> linear -> act -> linear -> act -> linear -> logits of c,   target (a + b) mod p

over the p^2 ordered pairs, of which a random part is the train set. The first layer is linear in
E_a and E_b, so it is applied to the p numbers, not to the p^2 pairs: the left and the right half of
its weights give a table each, and the layer's value at a pair is the sum of a row of each table.

Arrays of a block are (runs, pairs, features) in the first layer, where a pair gathers two rows, and
(runs, features, pairs) from the second on, where matrix products and softmax are faster that way.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from circlet.collections.ding.starts.embedding_mlp import initial, pairs, train_mask  # noqa: F401
from circlet.study.seeds import Seeds
from circlet.systems import loss
from circlet.systems.matmul import matmul


@dataclass(frozen=True)
class Pairs:
    """Pairs of all runs of a block, as row numbers in the stacked first-layer tables."""

    rows: Int[Tensor, "runs*pairs 2"]  # of each pair: row a of a left, row b of a right table
    target: Int[Tensor, "runs 1 pairs"]  # the class (a + b) mod p
    # The inverse: pairs in which each row occurs, row after row, and where each row's pairs begin.
    occurrences: Int[Tensor, " 2*runs*pairs"]
    begins: Int[Tensor, " 2*runs*p"]


@dataclass(frozen=True)
class Data:
    """Train and test pairs of all runs of a block, the activation and the form of the gradient."""

    train: Pairs
    test: Pairs
    activation: str
    residual: str


def select(p: int, masks: list[np.ndarray], device: torch.device) -> Pairs:
    """The pairs that each run's mask (p^2,) selects, the same number in every run."""
    chosen = torch.as_tensor(np.stack([pairs(p)[mask] for mask in masks]))  # (runs, pairs, 2)
    runs = torch.arange(len(masks))[:, None, None]
    rows = (chosen + p * (runs + torch.tensor([0, len(masks)]))).flatten(0, 1)
    counts = rows.flatten().bincount(minlength=2 * len(masks) * p)
    return Pairs(
        rows=rows.to(device),
        target=(chosen.sum(2)[:, None] % p).to(device),
        occurrences=(rows.flatten().argsort(stable=True) // 2).to(device),
        begins=(counts.cumsum(0) - counts).to(device),
    )


def data(
    parameters: dict[str, Any], seeds: list[Seeds], dtype: torch.dtype, device: torch.device
) -> Data:
    """Train and test pairs of the runs with these seeds."""
    p = parameters["p"]
    masks = [train_mask(parameters, s) for s in seeds]
    return Data(
        train=select(p, masks, device),
        test=select(p, [~mask for mask in masks], device),
        activation=parameters["activation"],
        residual=parameters["residual"],
    )


def _tables(
    weights: dict[str, Tensor],
) -> tuple[Float[Tensor, "runs p hidden"], Float[Tensor, "runs p hidden"]]:
    """Return the part of the first layer that each number adds as left and as right operand."""
    embedding, weight = weights["embedding"], weights["hidden1.weight"].mT
    d = embedding.shape[-1]
    left = torch.baddbmm(weights["hidden1.bias"].mT, embedding, weight[:, :d])
    return left, embedding @ weight[:, d:]


def _hidden1(weights: dict[str, Tensor], chosen: Pairs) -> Float[Tensor, "runs pairs hidden"]:
    """The first layer of every pair before its activation."""
    left, right = _tables(weights)
    # Both tables are stacked, so that embedding_bag gathers and adds in one pass.
    tables = torch.cat([left.flatten(0, 1), right.flatten(0, 1)])
    summed = torch.nn.functional.embedding_bag(chosen.rows, tables, mode="sum")
    return summed.view(len(left), -1, left.shape[2])


def _linear(weights: dict[str, Tensor], layer: str, x: Tensor) -> Tensor:
    return matmul(weights[f"{layer}.weight"], x).add_(weights[f"{layer}.bias"])


def _activate(z: Tensor, activation: str) -> Tensor:
    return getattr(torch.nn.functional, activation)(z)


def _back(gradient: Tensor, z: Tensor, activation: str) -> Tensor:
    """Return the gradient before the activation from the gradient after it, in one pass."""
    if activation == "silu":
        return torch.ops.aten.silu_backward(gradient, z)
    return torch.ops.aten.threshold_backward(gradient, z, 0)


def logits(
    weights: dict[str, Tensor], chosen: Pairs, activation: str
) -> Float[Tensor, "runs p pairs"]:
    """Logits of every pair."""
    h = _activate(_hidden1(weights, chosen), activation)
    h = _activate(_linear(weights, "hidden2", h.mT), activation)
    return _linear(weights, "output", h)


def forward(
    weights: dict[str, Tensor],
    parameters: dict[str, Any],
    left: Float[Tensor, "*pairs d"],
    right: Float[Tensor, "*pairs d"],
) -> tuple[Float[Tensor, "*pairs hidden"], Float[Tensor, "*pairs p"]]:
    """Return the second hidden layer before its activation, and the logits, for E_a and E_b."""

    def layer(name: str, x: Tensor) -> Tensor:
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"][:, 0]
        return torch.nn.functional.linear(x, weight, bias)

    activation = parameters["activation"]
    h = _activate(layer("hidden1", torch.cat([left, right], -1)), activation)
    z = layer("hidden2", h)
    return z, layer("output", _activate(z, activation))


def gradients(weights: dict[str, Tensor], data: Data, out: dict[str, Tensor]) -> None:
    """Write the gradient of every run's mean cross-entropy over its train pairs into ``out``."""
    chosen, act = data.train, data.activation
    z1 = _hidden1(weights, chosen)
    h1 = _activate(z1, act)
    z2 = _linear(weights, "hidden2", h1.mT)
    h2 = _activate(z2, act)
    o = _linear(weights, "output", h2)

    exact = data.residual == "exact"
    logit_gradient = loss.logit_gradient if exact else loss.cancelling_logit_gradient
    back = logit_gradient(o, chosen.target, 1).div_(chosen.target.shape[2])
    out["output.weight"].copy_(matmul(back, h2.mT))
    out["output.bias"].copy_(back.sum(2, keepdim=True))
    back = _back(matmul(weights["output.weight"].mT, back), z2, act)
    out["hidden2.weight"].copy_(matmul(back, h1))
    out["hidden2.bias"].copy_(back.sum(2, keepdim=True))
    back = _back(matmul(back.mT, weights["hidden2.weight"]), z1, act)

    embedding, weight = weights["embedding"], weights["hidden1.weight"]
    runs, p, d = embedding.shape
    # Sums over the pairs of each number, as left and as right operand. Unlike index_add_,
    # embedding_bag adds in a fixed order on every device.
    summed = torch.nn.functional.embedding_bag(
        chosen.occurrences, back.flatten(0, 1), chosen.begins, mode="sum"
    )
    left, right = summed.view(2, runs, p, -1)
    out["hidden1.weight"][..., :d].copy_(left.mT @ embedding)
    out["hidden1.weight"][..., d:].copy_(right.mT @ embedding)
    out["hidden1.bias"].copy_(left.sum(1)[..., None])
    out["embedding"].copy_(left @ weight[..., :d] + right @ weight[..., d:])


def metrics(weights: dict[str, Tensor], data: Data) -> dict[str, Float[Tensor, " runs"]]:
    """Loss (nat) and accuracy (0..1) of every run on its train and test pairs."""
    measured: dict[str, Tensor] = {}
    for part in ("train", "test"):
        chosen: Pairs = getattr(data, part)
        values = loss.metrics(logits(weights, chosen, data.activation), chosen.target, 1)
        measured |= dict(zip((f"{part}_loss", f"{part}_accuracy"), values, strict=True))
    return measured
