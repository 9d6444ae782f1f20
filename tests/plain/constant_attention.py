"""The network with constant attention in plain PyTorch."""

from typing import Any

import torch
from torch import Tensor, nn

from circlet.collections.musat.equations import constant_attention as equations
from circlet.study.seeds import Seeds
from plain import Arrays, Examples, set_parameters


class ConstantAttention(nn.Module):
    """Mușat, section 3."""

    def __init__(self, arrays: Arrays):
        super().__init__()
        p, d = arrays["embedding"].shape
        hidden = len(arrays["hidden.weight"])
        self.embedding = nn.Embedding(p, d)
        self.hidden = nn.Linear(d, hidden)
        self.output = nn.Linear(hidden, p)
        set_parameters(self.double(), arrays)

    def forward(self, pairs: Tensor) -> Tensor:
        """Logits of pairs (examples, 2)."""
        x = self.embedding(pairs[:, 0]) + self.embedding(pairs[:, 1])
        return self.output(torch.relu(self.hidden(x)))


def network(parameters: dict[str, Any], seeds: Seeds) -> nn.Module:
    """The network of one run at step 0."""
    return ConstantAttention(equations.initial(parameters, seeds))


def examples(parameters: dict[str, Any], seeds: Seeds) -> Examples:
    """Train pairs (a, b) and their sums."""
    pairs = torch.as_tensor(equations.pairs(parameters["p"]))
    pairs = pairs[torch.as_tensor(equations.train_mask(parameters, seeds))]
    return pairs, pairs.sum(1) % parameters["p"]
