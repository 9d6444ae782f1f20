"""The embedding and its two-layer network in plain PyTorch."""

from typing import Any

import torch
from torch import Tensor, nn

from circlet.collections.ding.equations import embedding_mlp as equations
from circlet.study.seeds import Seeds
from plain import Arrays, Examples, set_parameters


class EmbeddingMLP(nn.Module):
    """Ding et al., section 2 and appendix E, operands concatenated."""

    def __init__(self, arrays: Arrays, activation: str = "silu"):
        super().__init__()
        p, d = arrays["embedding"].shape
        hidden = len(arrays["hidden1.weight"])
        self.activation = getattr(nn.functional, activation)
        self.embedding = nn.Embedding(p, d)
        self.hidden1 = nn.Linear(2 * d, hidden)
        self.hidden2 = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, p)
        set_parameters(self.double(), arrays)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Logits of pairs of numbers, (examples,) each."""
        x = torch.cat([self.embedding(a), self.embedding(b)], dim=1)
        h = self.activation(self.hidden1(x))
        return self.output(self.activation(self.hidden2(h)))


def network(parameters: dict[str, Any], seeds: Seeds) -> nn.Module:
    """The network of one run at step 0."""
    return EmbeddingMLP(equations.initial(parameters, seeds), parameters["activation"])


def examples(parameters: dict[str, Any], seeds: Seeds) -> Examples:
    """Train pairs, a and b, and their sums."""
    p = parameters["p"]
    pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))
    a, b = pairs[torch.as_tensor(equations.train_mask(parameters, seeds))].T
    return a.contiguous(), b.contiguous(), (a + b) % p
