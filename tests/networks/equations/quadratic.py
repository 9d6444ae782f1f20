"""Logits are a linear function of (E_a + E_b)^2."""

import torch
from torch import nn
from torch.nn import functional


class Quadratic(nn.Module):
    def __init__(self, p, width):
        super().__init__()
        self.embed = nn.Embedding(p, width)
        self.output = nn.Linear(width, p, bias=False)

    def forward(self, pairs):
        return self.output(self.embed(pairs).sum(-2).square())


def network(parameters, seeds):
    return Quadratic(parameters["p"], parameters["width"])


def data(parameters, seeds):
    p = parameters["p"]
    pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))
    pairs = pairs[seeds.stream("data").permutation(len(pairs))]
    n = int(0.8 * len(pairs))
    return {"train": (pairs[:n], pairs[:n].sum(1) % p), "test": (pairs[n:], pairs[n:].sum(1) % p)}


def loss(network, examples):
    pairs, target = examples
    return functional.cross_entropy(network(pairs), target)


def metrics(network, parts):
    measured = {}
    for part, (pairs, target) in parts.items():
        logits = network(pairs)
        measured[f"{part}_loss"] = functional.cross_entropy(logits, target)
        measured[f"{part}_accuracy"] = (logits.argmax(-1) == target).double().mean()
    return measured
