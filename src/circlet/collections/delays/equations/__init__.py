"""Pairs of numbers, loss and metrics that the networks of this collection share.

Networks return the logits (examples, p) that the loss sees, and know their ``objective``.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from circlet.study.seeds import Seeds
from circlet.systems.loss import cross_entropy

# Cross-entropy whose gradient is exact, or has rounding errors as PyTorch's own; squared error.
EXACT, CANCELLING, SQUARED = "exact", "cancelling", "squared_error"


def normal(*shape: int, fan: int) -> nn.Parameter:
    """Return weights from a normal distribution with variance 1 / fan."""
    return nn.Parameter(torch.randn(*shape) / math.sqrt(fan))


def data(parameters: dict, seeds: Seeds) -> dict:
    """All ordered pairs (a, b) with (a + b) mod p, split by the run's seed."""
    p = parameters["p"]
    pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))
    order = torch.as_tensor(seeds.stream("data").permutation(p * p))
    count = int(parameters["train_fraction"] * p * p)
    parts = {"train": pairs[order[:count]], "test": pairs[order[count:]]}
    return {part: (rows, rows.sum(1) % p) for part, rows in parts.items()}


def _mean(objective: str, logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean over examples of the cross-entropy (nat) or of the squared error."""
    if objective == SQUARED:
        one_hot = functional.one_hot(target, logits.shape[-1])
        return (logits - one_hot).square().sum(-1).mean()
    if objective == CANCELLING:
        return functional.cross_entropy(logits, target)
    return cross_entropy(logits, target[:, None], 1).mean()


def loss(network: nn.Module, examples: tuple) -> Tensor:
    """The loss that training minimises."""
    pairs, target = examples
    return _mean(network.objective, network(pairs), target)


def metrics(network: nn.Module, parts: dict) -> dict:
    """Loss and accuracy on both sets, norm of all weights, and scale of the logits."""
    values = {}
    for part, (pairs, target) in parts.items():
        logits = network(pairs)
        objective = SQUARED if network.objective == SQUARED else EXACT
        values[f"{part}_loss"] = _mean(objective, logits, target)
        values[f"{part}_accuracy"] = (logits.argmax(1) == target).float().mean()
        if part == "train":
            centred = logits - logits.mean(1, keepdim=True)
            values["logit_scale"] = centred.square().mean().sqrt()
    squares = sum(weights.square().sum() for weights in network.parameters())
    return values | {"norm": squares.sqrt()}
