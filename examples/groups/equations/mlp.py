"""The network, its pairs and its loss."""

import torch
from torch import Tensor, nn

from circlet.collections.groups import finite_groups
from circlet.study.seeds import Seeds
from circlet.systems.loss import cross_entropy


class Network(nn.Module):
    """Two-layer network for the product of two elements: ReLUs in the hidden layer, no biases."""

    def __init__(self, n: int, d: int, hidden: int):
        super().__init__()
        self.left = nn.Embedding(n, d)
        self.right = nn.Embedding(n, d)
        self.hidden = nn.Linear(2 * d, hidden, bias=False)
        self.output = nn.Linear(hidden, n, bias=False)

    def forward(self, pairs: Tensor) -> Tensor:
        """Return logits (examples, n) of pairs (examples, 2)."""
        left, right = pairs.unbind(-1)
        both = torch.cat([self.left(left), self.right(right)], -1)
        return self.output(self.hidden(both).relu())


def network(parameters: dict, seeds: Seeds) -> nn.Module:
    """The network at step 0: PyTorch's defaults, N(0, 1) for embeddings."""
    n = finite_groups.order(parameters["group"])
    return Network(n, parameters["d"], parameters["hidden"])


def data(parameters: dict, seeds: Seeds) -> dict:
    """All ordered pairs of elements with their product, split by the run's seed."""
    products = torch.as_tensor(finite_groups.multiplication(parameters["group"]))
    n = len(products)
    pairs = torch.cartesian_prod(torch.arange(n), torch.arange(n))
    order = torch.as_tensor(seeds.stream("data").permutation(n * n))
    count = int(parameters["train_fraction"] * n * n)
    parts = {"train": order[:count], "test": order[count:]}
    return {part: (pairs[rows], products.flatten()[rows]) for part, rows in parts.items()}


def loss(network: nn.Module, examples: tuple) -> Tensor:
    """Mean cross-entropy (nat)."""
    pairs, target = examples
    return cross_entropy(network(pairs), target[:, None], 1).mean()


def metrics(network: nn.Module, parts: dict) -> dict:
    """Loss and accuracy on the train and the test set."""
    found = {}
    for part, (pairs, target) in parts.items():
        logits = network(pairs)
        found[f"{part}_loss"] = cross_entropy(logits, target[:, None], 1).mean()
        found[f"{part}_accuracy"] = (logits.argmax(1) == target).float().mean()
    return found
