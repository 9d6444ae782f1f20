"""The transformer with sparse sums in plain PyTorch."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from circlet.collections.odonnat.equations import sparse_transformer as equations
from circlet.study.seeds import Seeds
from plain import Arrays, Examples, Training, set_parameters


class SparseTransformer(nn.Module):
    """Odonnat et al., section 2: tokens in, no tables of pairs."""

    def __init__(self, arrays: Arrays):
        super().__init__()
        vocabulary, d = arrays["embedding"].shape
        hidden = len(arrays["hidden.weight"])
        bias = "hidden.bias" in arrays
        self.embedding = nn.Embedding(vocabulary, d)
        self.position = nn.Parameter(torch.empty(arrays["position"].shape))
        self.query = nn.Parameter(torch.empty(1, d))
        self.value = nn.Linear(d, d, bias=False)
        self.hidden = nn.Linear(d, hidden, bias=bias)
        self.output = nn.Linear(hidden, d, bias=bias)
        set_parameters(self.double(), arrays)

    @staticmethod
    def norm(x: Tensor) -> Tensor:
        """Vectors divided by their root mean square + 1e-5."""
        return x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-5)

    def forward(self, tokens: Tensor, keep: Tensor | float = 1.0) -> Tensor:
        """Logits of sequences (examples, length); ``keep`` are dropout's factors."""
        z = self.norm(self.embedding(tokens) + self.position)
        scores = z @ self.query[0] / z.shape[-1] ** 0.5
        xi = (torch.softmax(scores, 1)[..., None] * self.value(z)).sum(1)
        m = self.output(nn.functional.gelu(self.hidden(self.norm(xi))))
        return (xi + keep * m) @ self.embedding.weight.T


def one(parameters: dict[str, Any], seeds: Seeds, dtype: torch.dtype) -> Training:
    """One run: in batches, with dropout."""
    network = SparseTransformer(equations.initial(parameters, seeds)).to(dtype)
    tokens = torch.as_tensor(equations.sequences(parameters, seeds)[0]).long()
    target = tokens[:, : parameters["k"]].sum(1) % parameters["p"]
    rate = parameters["learning_rate"]
    multiples = equations.learning_rate_multipliers(parameters)
    groups = [
        {"params": [values], "lr": rate * multiples.get(name, 1)}
        for name, values in network.named_parameters()
    ]
    optimizer = torch.optim.AdamW(groups, lr=rate, weight_decay=parameters["weight_decay"])
    n, size, dropout = len(tokens), parameters["batch_size"], parameters["dropout"]
    order, kept = np.arange(n), None

    def batch(number: int) -> Examples:
        nonlocal order, kept
        epoch, at = divmod(number - 1, -(-n // size))
        if at == 0:
            stream = seeds.stream("order", epoch)
            order = stream.permutation(n)
            if dropout:
                kept = stream.random((parameters["d"], n), dtype=np.float32) >= dropout
        part = slice(at * size, (at + 1) * size)
        chosen = torch.as_tensor(order[part])
        if kept is None:
            return tokens[chosen], target[chosen]
        keep = torch.as_tensor(kept[:, part].T / (1 - dropout)).to(dtype)
        return tokens[chosen], keep, target[chosen]

    return Training(network, optimizer, (tokens, target), batch)
