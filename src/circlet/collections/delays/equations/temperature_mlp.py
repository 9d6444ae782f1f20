"""Embedding and one hidden layer on ordered pairs (Khanh 2026, arXiv:2606.18465, section 3).

    logits of c = W2 gelu(W1 [E_a, E_b] + b1) + b2, divided by the temperature

The hidden layer is linear in E_a and E_b, so it is applied to the p numbers, not to the pairs.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from circlet.collections.delays import equations as sums
from circlet.collections.delays.equations import data, loss, metrics  # noqa: F401
from circlet.study.seeds import Seeds


class Network(nn.Module):
    """The network, its temperature and its loss."""

    def __init__(self, p: int, d: int, hidden: int, temperature: float, objective: str):
        super().__init__()
        self.embedding = sums.normal(p, d, fan=d)
        self.hidden = sums.normal(2, d, hidden, fan=2 * d)  # of E_a and of E_b
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.output = sums.normal(hidden, p, fan=hidden)
        self.output_bias = nn.Parameter(torch.zeros(p))
        self.temperature, self.objective = temperature, objective

    def forward(self, pairs: Tensor) -> Tensor:
        """Return logits (examples, p) of pairs (examples, 2)."""
        left, right = self.embedding @ self.hidden[0], self.embedding @ self.hidden[1]
        a, b = pairs.unbind(-1)
        hidden = functional.gelu(left[a] + right[b] + self.hidden_bias)
        return (hidden @ self.output + self.output_bias) / self.temperature


def network(parameters: dict, seeds: Seeds) -> nn.Module:
    """The network at step 0: normal weights with variance 1 / fan_in, no biases."""
    is_squared = parameters["loss"] == sums.SQUARED
    objective = sums.SQUARED if is_squared else parameters["residual"]
    sizes = {name: parameters[name] for name in ("p", "d", "hidden", "temperature")}
    return Network(**sizes, objective=objective)


def weight_decay_multipliers(parameters: dict) -> dict[str, float]:
    """Biases do not decay."""
    return {"hidden_bias": 0.0, "output_bias": 0.0}
