"""The field's usual code for one run: nn.Module, autograd, torch.optim.

What circlet's trainer must be equal to (the tests) and faster than (the benchmark). It takes from
the systems the pairs, and what is drawn at random: initial values, splits, orders.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from circlet import systems
from circlet.seeds import Seeds

Arrays = dict[str, np.ndarray]


class Training:
    """A network, its optimiser and its data; ``step`` by step.

    Parameters
    ----------
    network
        Called with inputs, gives logits (examples, classes).
    optimizer
        Of its parameters.
    inputs, target
        The whole train set.
    batch
        If it trains on batches: inputs and target of a step, from 1.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        inputs: tuple[Tensor, ...],
        target: Tensor,
        batch: Callable[[int], tuple[tuple[Tensor, ...], Tensor]] | None = None,
    ):
        self.network, self.optimizer = network, optimizer
        self.inputs, self.target = inputs, target
        self.batch = batch or (lambda number: (inputs, target))

    def loss(self) -> float:
        """Mean cross-entropy (nat) on the whole train set."""
        with torch.no_grad():
            return nn.functional.cross_entropy(self.network(*self.inputs), self.target).item()

    def step(self, number: int) -> None:
        """Train for one step, of a number from 1."""
        inputs, target = self.batch(number)
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.network(*inputs), target).backward()
        self.optimizer.step()


def _load(network: nn.Module, arrays: Arrays, dtype: torch.dtype) -> None:
    """Set parameters to initial values; those of a name such as ``embedding.weight``, too."""
    network.to(dtype)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            key = name if name in arrays else name.removesuffix(".weight")
            parameter.copy_(torch.as_tensor(arrays[key]).view_as(parameter))


class ConstantAttention(nn.Module):
    """Mușat, section 3."""

    def __init__(self, arrays: Arrays, dtype: torch.dtype):
        super().__init__()
        p, d = arrays["embedding"].shape
        hidden = len(arrays["hidden.weight"])
        self.embedding = nn.Embedding(p, d)
        self.hidden = nn.Linear(d, hidden)
        self.output = nn.Linear(hidden, p)
        _load(self, arrays, dtype)

    def forward(self, pairs: Tensor) -> Tensor:
        """Logits of pairs (examples, 2)."""
        x = self.embedding(pairs[:, 0]) + self.embedding(pairs[:, 1])
        return self.output(torch.relu(self.hidden(x)))


class EmbeddingMLP(nn.Module):
    """Ding et al., section 2 and appendix E, operands concatenated."""

    def __init__(self, arrays: Arrays, dtype: torch.dtype, activation: str = "silu"):
        super().__init__()
        p, d = arrays["embedding"].shape
        hidden = len(arrays["hidden1.weight"])
        self.activation = getattr(nn.functional, activation)
        self.embedding = nn.Embedding(p, d)
        self.hidden1 = nn.Linear(2 * d, hidden)
        self.hidden2 = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, p)
        _load(self, arrays, dtype)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Logits of pairs of numbers, (examples,) each."""
        x = torch.cat([self.embedding(a), self.embedding(b)], dim=1)
        h = self.activation(self.hidden1(x))
        return self.output(self.activation(self.hidden2(h)))


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
        _load(self, arrays, dtype)

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


def _adamw(parameters: dict[str, Any], groups: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        groups, lr=parameters["learning_rate"], weight_decay=parameters["weight_decay"]
    )


def _constant_attention(parameters: dict[str, Any], seeds: Seeds, dtype: torch.dtype) -> Training:
    system = systems.load("constant_attention")
    pairs = torch.as_tensor(system.pairs(parameters["p"]))
    pairs = pairs[torch.as_tensor(system.train_mask(parameters, seeds))]
    network = ConstantAttention(system.initial(parameters, seeds), dtype)
    optimizer = _adamw(parameters, network.parameters())
    return Training(network, optimizer, (pairs,), pairs.sum(1) % parameters["p"])


def _embedding_mlp(parameters: dict[str, Any], seeds: Seeds, dtype: torch.dtype) -> Training:
    system, p = systems.load("embedding_mlp"), parameters["p"]
    every = torch.cartesian_prod(torch.arange(p), torch.arange(p))
    a, b = every[torch.as_tensor(system.train_mask(parameters, seeds))].T
    network = EmbeddingMLP(system.initial(parameters, seeds), dtype, parameters["activation"])
    return Training(network, _adamw(parameters, network.parameters()), (a, b), (a + b) % p)


def _sparse_transformer(parameters: dict[str, Any], seeds: Seeds, dtype: torch.dtype) -> Training:
    system = systems.load("sparse_transformer")
    train, _ = system.sequences(parameters, seeds)
    tokens = torch.as_tensor(train).long()
    target = tokens[:, : parameters["k"]].sum(1) % parameters["p"]
    network = SparseTransformer(system.initial(parameters, seeds), dtype)
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
        inputs = (tokens[chosen],)
        if kept is not None:
            inputs += (torch.as_tensor(kept[:, part].T / (1 - dropout)).to(dtype),)
        return inputs, target[chosen]

    return Training(network, _adamw(parameters, groups), (tokens,), target, batch)


class Particles:
    """Mușat, section 6: the particles of one run, all couples of pairs at once."""

    def __init__(self, parameters: dict[str, Any], seeds: Seeds, dtype: torch.dtype):
        self.parameters, p = parameters, parameters["p"]
        start = systems.load("particles").initial(parameters, seeds)["embedding"]
        self.positions = torch.as_tensor(start, dtype=dtype)
        pairs = torch.tensor(list(itertools.combinations_with_replacement(range(p), 2)))
        self.first, self.second = pairs.T
        classes = pairs.sum(1) % p
        same = classes[:, None] == classes
        self.other = ~same
        self.same = same & ~torch.eye(len(pairs), dtype=torch.bool)
        self.weight = self.same.sum().item() / self.other.sum().item()

    def step(self, number: int) -> None:
        """Move the particles along their forces, then centre and scale."""
        x, strength = self.positions, self.parameters
        sums = x[self.first] + x[self.second]
        across = sums[None, :] - sums[:, None]  # x_Q - x_P
        distance = across.norm(dim=2, keepdim=True)
        along = torch.nan_to_num(across / distance)
        closer = torch.nan_to_num(along / distance)
        heading = torch.nan_to_num(sums / sums.norm(dim=1, keepdim=True))
        facing = (sums @ sums.T > 0)[..., None] * heading[None, :]
        pull = strength["g_a"] * along + strength["f_a"] * facing
        push = self.weight * (-strength["g_r"] * closer - strength["f_a"] * facing)
        force = (self.same[..., None] * pull + self.other[..., None] * push).sum(1)
        total = torch.zeros_like(x).index_add(0, self.first, force)
        total = total.index_add(0, self.second, force)
        x = x + strength["step_size"] * total
        x = x - x.mean(0)
        scale = (
            x.std(0, correction=0)
            if strength["scaling"] == "per_coordinate"
            else x.std(correction=0)
        )
        self.positions = x * strength["std"] / scale


MAKERS: dict[str, Callable[[dict[str, Any], Seeds, torch.dtype], Any]] = {
    "constant_attention": _constant_attention,
    "embedding_mlp": _embedding_mlp,
    "particles": Particles,
    "sparse_transformer": _sparse_transformer,
}


def one(system: str, parameters: dict[str, Any], seeds: Seeds, dtype: torch.dtype) -> Any:
    """One run of a system: a Training, or Particles; ``step(number)`` advances it."""
    return MAKERS[system](parameters, seeds, dtype)
