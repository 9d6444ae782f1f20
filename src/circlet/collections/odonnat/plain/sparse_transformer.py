"""The transformer with sparse sums in plain PyTorch."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from circlet.bench.plain import Arrays, Case, Training, adamw, set_parameters
from circlet.collections.odonnat.equations import sparse_transformer as equations
from circlet.study.seeds import Seeds

CASE = Case({}, runs=50, gpu_runs=1024, steps=64_000)


class SparseTransformer(nn.Module):
    """Odonnat et al., section 2: tokens in, no tables of pairs."""

    def __init__(self, arrays: Arrays, dtype: torch.dtype):
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
        set_parameters(self, arrays, dtype)

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
    """One run."""
    train, _ = equations.sequences(parameters, seeds)
    tokens = torch.as_tensor(train).long()
    target = tokens[:, : parameters["k"]].sum(1) % parameters["p"]
    network = SparseTransformer(equations.initial(parameters, seeds), dtype)
    mlp = [*network.hidden.parameters(), *network.output.parameters()]
    rest = [network.embedding.weight, network.position, network.query, network.value.weight]
    rate = parameters["learning_rate"] / parameters["mlp_divisor"]
    groups = [{"params": rest}, {"params": mlp, "lr": rate}]
    n, size, dropout = len(train), parameters["batch_size"], parameters["dropout"]
    per_epoch = -(-n // size)
    order, kept = np.arange(n), None

    def batch(number: int) -> tuple[tuple[Tensor, ...], Tensor]:
        nonlocal order, kept
        epoch, at = divmod(number - 1, per_epoch)
        if at == 0:
            stream = seeds.stream("order", epoch)
            order = stream.permutation(n)
            if dropout:
                kept = stream.random((parameters["d"], n), dtype=np.float32) >= dropout
        part = slice(at * size, (at + 1) * size)
        chosen = torch.as_tensor(order[part])
        inputs: tuple[Tensor, ...] = (tokens[chosen],)
        if kept is not None:
            inputs += (torch.as_tensor(kept[:, part].T / (1 - dropout)).to(dtype),)
        return inputs, target[chosen]

    return Training(network, adamw(parameters, groups), (tokens,), target, batch)
