"""One-layer transformer on sparse modular addition (Odonnat, Bouaziz, Cabannes 2024).

    e_t = E[x_t] + P[t],   z_t = norm(e_t),   alpha = softmax_t(<q, z_t> / sqrt(d)),
    xi = sum_t alpha_t W_V z_t,   r = xi + W_2 gelu(W_1 norm(xi) + b_1) + b_2,   logits = E r,

target (x_1 + ... + x_k) mod p of a sequence of ``length`` tokens, where norm(v) = v / (rms(v) +
1e-5). One query q attends for all inputs, the unembedding is the embedding E, and xi, in R^d, is
the sequence embedding.

z_t depends only on the token and its position, so value and score are tables over the p *
length pairs of them, and the attention is a softmax over the pairs that occur in a sequence. Arrays
of a block are feature-major, (runs, features, sequences): elementwise passes run along sequences.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from circlet.collections.odonnat.starts.sparse_transformer import (  # noqa: F401
    initial,
    learning_rate_multipliers,
    sequences,
)
from circlet.study.seeds import Seeds
from circlet.systems import loss

EVALUATED = 4
EPS = 1e-5  # added to the root mean square


@dataclass(frozen=True)
class Sequences:
    """Some sequences of all runs of a block, the same number for each."""

    # 0 where a token stands at a position, else minus infinity.
    absent: Float[Tensor, "runs p*length sequences"]
    target: Int[Tensor, "runs 1 sequences"]  # the class (x_1 + ... + x_k) mod p
    kept: Float[Tensor, "runs d sequences"] | None = None  # factors of dropout


@dataclass(frozen=True)
class Batch:
    """The batch of a step."""

    train: Sequences


@dataclass
class Data:
    """Train and test set of all runs of a block, and the order in which batches come."""

    train: Sequences
    test: Sequences
    parameters: dict[str, Any]
    seeds: list[Seeds]
    epoch: int = -1  # epoch whose order `shuffled` has
    shuffled: Sequences = field(init=False)


def encode(
    tokens: np.ndarray, p: int, k: int, dtype: torch.dtype, device: torch.device
) -> Sequences:
    """Return tokens, (runs, sequences, length), as input of the network."""
    by_position = torch.as_tensor(tokens, device=device).mT[:, None]  # (runs, 1, length, sequences)
    values = torch.arange(p, device=device)[:, None, None]
    absent = torch.zeros(1, dtype=dtype, device=device).where(by_position == values, -torch.inf)
    target = torch.as_tensor(tokens[..., :k].sum(2, dtype=np.int64) % p, device=device)
    return Sequences(absent=absent.flatten(1, 2), target=target[:, None])


def data(
    parameters: dict[str, Any], seeds: list[Seeds], dtype: torch.dtype, device: torch.device
) -> Data:
    """Train and test set of the runs with these seeds."""
    sets = zip(*(sequences(parameters, s) for s in seeds), strict=True)
    train, test = (
        encode(np.stack(tokens), parameters["p"], parameters["k"], dtype, device) for tokens in sets
    )
    return Data(train, test, parameters, seeds)


def epoch(
    parameters: dict[str, Any], seeds: Seeds, number: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the train set's order in an epoch, and which outputs of the MLP dropout keeps.

    Shapes (n_train,), and (d, n_train) of True and False, or None without dropout. The kernel draws
    the same (native/kernels/orders.hpp).
    """
    n, d, rate = (parameters[name] for name in ("n_train", "d", "dropout"))
    stream = seeds.stream("order", number)
    order = stream.permutation(n)
    return order, stream.random((d, n), dtype=np.float32) >= rate if rate else None


def _shuffle(data: Data, number: int) -> None:
    """Bring the train set into the order of an epoch.

    The order depends on the run's seed and the epoch's number alone, so a run that resumes from
    a checkpoint has nothing to restore.
    """
    train, kept, rate = data.train, None, data.parameters["dropout"]
    drawn = [epoch(data.parameters, run_seeds, number) for run_seeds in data.seeds]
    orders = torch.as_tensor(np.stack([order for order, _ in drawn]))
    order = orders.to(train.absent.device)[:, None]
    if rate:
        chosen = np.stack([chosen for _, chosen in drawn if chosen is not None])
        kept = torch.as_tensor(chosen).to(train.absent).div_(1 - rate)
    absent = train.absent.gather(2, order.expand(train.absent.shape))
    data.shuffled = Sequences(absent, train.target.gather(2, order), kept)
    data.epoch = number


def batch(data: Data, step: int) -> Batch | Data:
    """Return the batch of a step; steps count from 1."""
    n, size = data.parameters["n_train"], data.parameters["batch_size"]
    number, at = divmod((step - 1) * size, -(-n // size) * size)
    if size == n and not data.parameters["dropout"]:
        return data  # the order does not matter
    if number != data.epoch:
        _shuffle(data, number)
    whole, part = data.shuffled, slice(at, at + size)
    kept = None if whole.kept is None else whole.kept[:, :, part]
    return Batch(Sequences(whole.absent[:, :, part], whole.target[:, :, part], kept))


def norm(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Vectors along ``dim`` divided by their root mean square + 1e-5, and that divisor."""
    divisor = x.square().mean(dim, keepdim=True).sqrt() + EPS
    return x / divisor, divisor


def _norm_back(gradient: Tensor, x: Tensor, divisor: Tensor, dim: int) -> Tensor:
    """Return the gradient before the norm from the gradient after it."""
    along = (gradient * x).mean(dim, keepdim=True) / (divisor.square() * (divisor - EPS))
    return gradient / divisor - x * along


def tables(weights: dict[str, Tensor], p: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The input of the attention for every token and position, concatenated.

    Summed embeddings e and their norm z, (runs, p * length, d); scores <q, z> / sqrt(d), (runs,
    p * length, 1); values W_V z, (runs, p * length, d).
    """
    embedding, position = weights["embedding"][:, :p], weights["position"]
    e = (embedding[:, :, None] + position[:, None]).flatten(1, 2)
    z, _ = norm(e, 2)
    score = z @ weights["query"].mT / e.shape[2] ** 0.5
    return e, z, score, z @ weights["value.weight"].mT


def attention(
    score: Float[Tensor, "runs p*length 1"], chosen: Sequences
) -> Float[Tensor, "runs p*length sequences"]:
    """Attention to every pair of token and position."""
    return torch.softmax(score + chosen.absent, 1)


def embed(
    weights: dict[str, Tensor], chosen: Sequences, p: int
) -> Float[Tensor, "runs d sequences"]:
    """Sequence embeddings xi."""
    _, _, score, value = tables(weights, p)
    return value.mT @ attention(score, chosen)


def _linear(weights: dict[str, Tensor], layer: str, x: Tensor) -> Tensor:
    weight, bias = weights[f"{layer}.weight"], weights.get(f"{layer}.bias")
    return weight @ x if bias is None else torch.baddbmm(bias, weight, x)


def mlp(
    weights: dict[str, Tensor], s: Float[Tensor, "runs d points"]
) -> Float[Tensor, "runs d points"]:
    """The MLP's output, added to the residual stream, at normed sequence embeddings s."""
    hidden = torch.nn.functional.gelu(_linear(weights, "hidden", s))
    return _linear(weights, "output", hidden)


def classify(
    weights: dict[str, Tensor], xi: Float[Tensor, "runs d points"]
) -> Float[Tensor, "runs vocabulary points"]:
    """Logits at sequence embeddings xi."""
    return weights["embedding"] @ (xi + mlp(weights, norm(xi, 1)[0]))


def logits(
    weights: dict[str, Tensor], chosen: Sequences, p: int
) -> Float[Tensor, "runs vocabulary sequences"]:
    """Logits of every sequence."""
    return classify(weights, embed(weights, chosen, p))


def gradients(weights: dict[str, Tensor], data: Data | Batch, out: dict[str, Tensor]) -> None:
    """Write the gradient of every run's mean cross-entropy over a batch, or all, into ``out``."""
    chosen = data.train
    embedding, query, value_weight = (weights[n] for n in ("embedding", "query", "value.weight"))
    runs, length, d = weights["position"].shape
    p = chosen.absent.shape[1] // length
    e, z, score, value = tables(weights, p)
    alpha = attention(score, chosen)
    xi = value.mT @ alpha
    s, divisor = norm(xi, 1)
    z1 = _linear(weights, "hidden", s)
    h = torch.nn.functional.gelu(z1)
    m = _linear(weights, "output", h)
    r = xi + (m if chosen.kept is None else m * chosen.kept)

    back = loss.logit_gradient(embedding @ r, chosen.target, 1).div_(chosen.target.shape[2])
    out["embedding"].copy_(back @ r.mT)
    by_r = embedding.mT @ back
    back = by_r if chosen.kept is None else by_r * chosen.kept
    out["output.weight"].copy_(back @ h.mT)
    if "output.bias" in out:
        out["output.bias"].copy_(back.sum(2, keepdim=True))
    back = torch.ops.aten.gelu_backward(weights["output.weight"].mT @ back, z1)
    out["hidden.weight"].copy_(back @ s.mT)
    if "hidden.bias" in out:
        out["hidden.bias"].copy_(back.sum(2, keepdim=True))
    by_xi = _norm_back(weights["hidden.weight"].mT @ back, xi, divisor, 1).add_(by_r)

    by_value = alpha @ by_xi.mT
    by_score = torch.ops.aten._softmax_backward_data(value @ by_xi, alpha, 1, alpha.dtype)
    by_score = by_score.sum(2, keepdim=True) / d**0.5
    out["value.weight"].copy_(by_value.mT @ z)
    out["query"].copy_(by_score.mT @ z)
    by_z = torch.baddbmm(by_score * query, by_value, value_weight)
    by_e = _norm_back(by_z, e, norm(e, 2)[1], 2).view(runs, p, length, d)
    out["embedding"][:, :p] += by_e.sum(2)
    out["position"].copy_(by_e.sum(1))


def metrics(weights: dict[str, Tensor], data: Data) -> dict[str, Float[Tensor, " runs"]]:
    """Loss (nat) and accuracy (0..1) of every run on its train and test set."""
    measured: dict[str, Tensor] = {}
    p = data.parameters["p"]
    for part in ("train", "test"):
        chosen: Sequences = getattr(data, part)
        runs = len(chosen.target)
        # On a CPU a few runs at a time, so that the caches hold them.
        size = runs if chosen.target.is_cuda else EVALUATED
        values = []
        for some in (slice(i, i + size) for i in range(0, runs, size)):
            target = chosen.target[some]
            some_weights = {name: array[some] for name, array in weights.items()}
            o = logits(some_weights, Sequences(chosen.absent[some], target), p)
            values.append(torch.stack(loss.metrics(o, target, 1)))
        names = (f"{part}_loss", f"{part}_accuracy")
        measured |= dict(zip(names, torch.cat(values, 1), strict=True))
    return measured
