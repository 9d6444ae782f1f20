"""Simplified one-layer transformer with constant attention (Mușat, section 3).

    x = E_a + E_b,   h = relu(W_h x + b_h),   o = W_o h + b_o,   target (a + b) mod p

over the p (p + 1) / 2 unordered pairs a <= b, of which a random part is the train set. Arrays of
a block are feature-major, (runs, features, pairs): every elementwise pass then runs along pairs.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from circlet.collections.musat.starts.constant_attention import initial, pairs, train_mask  # noqa: F401
from circlet.study.seeds import Seeds
from circlet.systems import loss


@dataclass(frozen=True)
class Pairs:
    """The train or the test pairs of all runs of a block."""

    incidence: Float[Tensor, "runs p pairs"]  # how often a number is in a pair, 0, 1 or 2
    target: Int[Tensor, "runs 1 pairs"]  # the class (a + b) mod p


@dataclass(frozen=True)
class Data:
    """Train and test pairs of all runs of a block."""

    train: Pairs
    test: Pairs


def data(
    parameters: dict[str, Any], seeds: list[Seeds], dtype: torch.dtype, device: torch.device
) -> Data:
    """Train and test pairs of the runs with these seeds."""
    p = parameters["p"]
    all_pairs = torch.as_tensor(pairs(p))
    counts = torch.nn.functional.one_hot(all_pairs, p).sum(1).to(dtype)  # (pairs, p)
    masks = [torch.as_tensor(train_mask(parameters, s)) for s in seeds]

    def select(masks: list[Tensor]) -> Pairs:
        return Pairs(
            incidence=torch.stack([counts[m].T for m in masks]).contiguous().to(device),
            target=torch.stack([(all_pairs[m].sum(1) % p)[None] for m in masks]).to(device),
        )

    return Data(train=select(masks), test=select([~m for m in masks]))


def logits(
    weights: dict[str, Tensor], x: Float[Tensor, "runs d points"]
) -> Float[Tensor, "runs p points"]:
    """Class scores at the points x of the plane of sums."""
    h = torch.baddbmm(weights["hidden.bias"], weights["hidden.weight"], x).relu_()
    return torch.baddbmm(weights["output.bias"], weights["output.weight"], h)


def forward(
    weights: dict[str, Tensor],
    parameters: dict[str, Any],
    left: Float[Tensor, "*pairs d"],
    right: Float[Tensor, "*pairs d"],
) -> tuple[Float[Tensor, "*pairs hidden"], Float[Tensor, "*pairs p"]]:
    """Return the hidden layer before its activation, and the logits, for E_a and E_b."""
    linear = torch.nn.functional.linear
    z = linear(left + right, weights["hidden.weight"], weights["hidden.bias"][:, 0])
    return z, linear(z.relu(), weights["output.weight"], weights["output.bias"][:, 0])


def gradients(weights: dict[str, Tensor], data: Data, out: dict[str, Tensor]) -> None:
    """Write the gradient of every run's mean cross-entropy over its train pairs into ``out``."""
    incidence, target = data.train.incidence, data.train.target
    x = weights["embedding"].mT @ incidence
    h = torch.baddbmm(weights["hidden.bias"], weights["hidden.weight"], x).relu_()
    o = torch.baddbmm(weights["output.bias"], weights["output.weight"], h)

    back = loss.logit_gradient(o, target, 1).div_(target.shape[-1])

    out["output.weight"].copy_(back @ h.mT)
    out["output.bias"].copy_(back.sum(2, keepdim=True))
    back = weights["output.weight"].mT @ back
    back = torch.ops.aten.threshold_backward(back, h, 0)  # relu, in one pass
    out["hidden.weight"].copy_(back @ x.mT)
    out["hidden.bias"].copy_(back.sum(2, keepdim=True))
    out["embedding"].copy_(((weights["hidden.weight"].mT @ back) @ incidence.mT).mT)


def metrics(weights: dict[str, Tensor], data: Data) -> dict[str, Float[Tensor, " runs"]]:
    """Loss (nat) and accuracy (0..1) of every run on its train and test pairs."""
    measured: dict[str, Tensor] = {}
    for part in ("train", "test"):
        chosen: Pairs = getattr(data, part)
        o = logits(weights, weights["embedding"].mT @ chosen.incidence)
        values = loss.metrics(o, chosen.target, 1)
        measured |= dict(zip((f"{part}_loss", f"{part}_accuracy"), values, strict=True))
    return measured
