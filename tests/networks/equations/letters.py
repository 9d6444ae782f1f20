import math

import torch
from torch import nn
from torch.nn import functional as F


class Reader(nn.Module):
    def __init__(self, letters, size):
        super().__init__()
        self.table = nn.Embedding(letters, size)
        self.hidden = nn.Linear(2 * size, 16)
        self.output = nn.Linear(16, letters)

    def forward(self, pairs):
        return self.output(F.relu(self.hidden(self.table(pairs).flatten(-2))))


def network(parameters, seeds):
    return Reader(parameters["letters"], parameters["size"])


def data(parameters, seeds):
    n = parameters["letters"]
    pairs = torch.cartesian_prod(torch.arange(n), torch.arange(n)).repeat(4, 1)
    after = torch.randint(n, (4 * n * n,))
    return {"train": (pairs[n * n :], after[n * n :]), "test": (pairs[: n * n], after[: n * n])}


def loss(network, examples):
    pairs, after = examples
    return F.cross_entropy(network(pairs), after)


def metrics(network, parts):
    pairs, after = parts["test"]
    scores = network(pairs)
    right = scores.gather(-1, after[:, None])[:, 0]
    return {
        "train_loss": loss(network, parts["train"]) / math.log(2),
        "test_loss": loss(network, parts["test"]) / math.log(2),
        "test_accuracy": (scores.argmax(-1) == after).float().mean(),
        "weight_norm": network.table.weight.norm(),
        "margin": (right - scores[:, 0]).mean(),
    }
