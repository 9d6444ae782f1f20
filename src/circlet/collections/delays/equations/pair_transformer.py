"""A transformer of one layer that reads "a b =" and gives the logits of (a + b) mod p.

    x_i = E_i + P_i,   y = x_3 + W_O attention(x),   logits = W_U (y + W_2 relu(W_1 y + b_1) + b_2)

Only the last token, "=", is answered, and it is always the same. So its query is one vector, and
keys and values are those of p numbers at two positions and of "=".
"""

import math

import torch
from torch import Tensor, nn

from circlet.collections.delays import equations as sums
from circlet.collections.delays.equations import data, loss, metrics  # noqa: F401
from circlet.study.seeds import Seeds


class Network(nn.Module):
    """The network; weights are applied from the right."""

    objective = sums.EXACT

    def __init__(self, p: int, d: int, heads: int, hidden: int):
        super().__init__()
        self.embedding = sums.normal(p, d, fan=d)
        self.equals = sums.normal(d, fan=d)  # the token "=" at its position
        self.positions = sums.normal(2, d, fan=d)
        self.query, self.key, self.value, self.mixed = (sums.normal(d, d, fan=d) for _ in range(4))
        self.up, self.down = sums.normal(d, hidden, fan=d), sums.normal(hidden, d, fan=hidden)
        self.up_bias, self.down_bias = (nn.Parameter(torch.zeros(n)) for n in (hidden, d))
        self.unembedding = sums.normal(d, p, fan=d)
        self.heads = heads

    def forward(self, pairs: Tensor) -> Tensor:
        """Return logits (examples, p) of pairs (examples, 2)."""
        a, b = pairs.unbind(-1)
        first, second = (self.embedding + place for place in self.positions.unbind(0))
        tables = torch.cat([first, second, self.equals[None]])  # (2 p + 1, d)
        keys, values = (
            (tables @ w).unflatten(-1, (self.heads, -1)) for w in (self.key, self.value)
        )
        query = (self.equals @ self.query).unflatten(-1, (self.heads, -1))
        scores = (keys * query).sum(-1) / math.sqrt(query.shape[-1])  # (2 p + 1, heads)
        p = len(self.embedding)
        seen = torch.stack([a, p + b, torch.full_like(a, 2 * p)])  # (3, examples)
        weights = scores[seen].softmax(0)[..., None]
        attended = (weights * values[seen]).sum(0).flatten(-2) @ self.mixed
        state = self.equals + attended
        state = state + (state @ self.up + self.up_bias).relu() @ self.down + self.down_bias
        return state @ self.unembedding


def network(parameters: dict, seeds: Seeds) -> nn.Module:
    """The network at step 0: normal weights with variance 1 / fan_in, no biases."""
    return Network(*(parameters[name] for name in ("p", "d", "heads", "hidden")))
