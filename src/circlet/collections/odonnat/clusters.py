"""Sequence embeddings as clusters: variance ratios and the integer signature of a clustering head.

Odonnat et al. identify heads from pictures; these measures are ours, and the tables ``heads`` and
``odonnat_claims`` use them. All take the sequence embeddings xi of many networks at once,
(networks, d, sequences), float64, over one set of probe sequences.
"""

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from circlet.collections.odonnat.equations import sparse_transformer as system

PROBES = 4096
MAX_PREFIXES = 1024
LARGEST = 50  # largest integer of a signature; with larger ones each sequence would be a class
TOGETHER = 2**18  # values of xi, or scores, that are held at once

HEAD = 0.05  # largest rho_integer of a head at the end of a run
FORMING, MAX_CLUSTERS = 0.1, 24  # the same during training, with at most this many clusters


class Probes(NamedTuple):
    """Sequences that represent the whole input space."""

    tokens: np.ndarray  # (sequences, length)
    classes: dict[str, np.ndarray]  # by class map, the class of each sequence
    chosen: system.Sequences  # as input of one network


@cache
def probes(p: int, length: int, k: int) -> Probes:
    """All sequences if there are no more than 4096, else prefixes with random suffixes.

    All p^k prefixes, or 1024 random ones if there are more, with equally many suffixes each, about
    4096 sequences in all. Class maps: ``suffix``, the prefix itself; ``histogram``, its tokens
    without their order; ``sum``, their integer sum.
    """
    stream = np.random.default_rng(0)
    if p**length <= PROBES:
        tokens = np.array(list(itertools.product(range(p), repeat=length)))
    else:
        if p**k <= MAX_PREFIXES:
            prefixes = np.array(list(itertools.product(range(p), repeat=k)))
        else:
            prefixes = np.unique(stream.integers(p, size=(MAX_PREFIXES, k)), axis=0)
        each = max(1, PROBES // len(prefixes))
        suffixes = stream.integers(p, size=(len(prefixes) * each, length - k))
        tokens = np.hstack([np.repeat(prefixes, each, axis=0), suffixes])
    prefix = tokens[:, :k]
    classes = {
        "suffix": np.unique(prefix, axis=0, return_inverse=True)[1],
        "histogram": np.unique(np.sort(prefix, axis=1), axis=0, return_inverse=True)[1],
        "sum": prefix.sum(1),
    }
    chosen = system.encode(tokens[None], p, k, torch.float32, torch.device("cpu"))
    return Probes(tokens, classes, chosen)


def grouped(xi: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of xi in each class, (networks, d, classes), and the sizes, (networks, 1, classes).

    ``classes`` is (networks, sequences) or (1, sequences), with integers from 0.
    """
    n = int(classes.max()) + 1
    index = classes[:, None].expand(len(xi), 1, -1)
    sums = xi.new_zeros(*xi.shape[:2], n).scatter_add_(2, index.expand(xi.shape), xi)
    sizes = xi.new_zeros(len(xi), 1, n).scatter_add_(2, index, torch.ones_like(xi[:, :1]))
    return sums, sizes


def variance_ratio(xi: Tensor, classes: Tensor) -> Tensor:
    """Divide variance within classes by the total, (networks,): 0 for points, 1 without clusters.

    rho(c) = E |xi - E[xi | c]|^2 / E |xi - E xi|^2
    """
    centred = xi - xi.mean(2, keepdim=True)
    sums, sizes = grouped(centred, classes)
    total = centred.square().sum((1, 2))
    between = (sums.square() / sizes.clamp(min=1)).sum((1, 2))
    return (1 - between / total).clamp(min=0)


class Signature(NamedTuple):
    """Integer weights w_t by which xi depends on the tokens, of many networks."""

    integers: Tensor  # w_t, (networks, length)
    legal: Tensor  # (networks,): whether the label follows from the sum of w_t x_t
    rho: Tensor  # (networks,): variance ratio of the classes sum of w_t x_t
    n_clusters: Tensor  # (networks,): how many values that sum takes


def signature(xi: Tensor, tokens: np.ndarray, p: int, k: int) -> Signature:
    """The integer signature of sequence embeddings.

    The coefficients c_t of the least-squares fit xi = c_0 + sum_t c_t x_t are projected on their
    principal direction, divided by their median size over the prefix, and rounded to integers w_t.
    The sign is chosen so that the sum over the prefix is not negative. The w_t are legal if the
    label follows from sum_t w_t x_t: modulo p all w_t of the prefix are the same unit, and those of
    the distractors are 0. For p = 2, they are odd in the prefix and even in the distractors.
    """
    x = torch.as_tensor(np.insert(tokens, 0, 1, axis=1), dtype=xi.dtype)  # (sequences, 1 + length)
    coefficients = xi @ torch.linalg.pinv(x).T  # (networks, d, 1 + length)
    slopes = coefficients[..., 1:]
    direction = torch.linalg.eigh(slopes @ slopes.mT).eigenvectors[..., -1:]  # largest eigenvalue
    along = (direction.mT @ slopes)[:, 0]  # (networks, length)
    unit = along[:, :k].abs().median(1, keepdim=True).values
    ratios = torch.nan_to_num(along / unit, posinf=LARGEST, neginf=-LARGEST)
    integers = ratios.round().clamp(-LARGEST, LARGEST).long()
    positive = integers[:, :k].sum(1, keepdim=True) >= 0
    integers = torch.where(positive, integers, -integers)
    remainders = integers % p
    same = (remainders[:, :k] == remainders[:, :1]).all(1)
    unit_of_p = torch.gcd(remainders[:, 0], torch.tensor(p)) == 1
    legal = same & unit_of_p & (remainders[:, k:] == 0).all(1)
    sums = integers @ torch.as_tensor(tokens, dtype=torch.long).T
    classes = sums - sums.amin(1, keepdim=True)
    _, sizes = grouped(xi[:, :1], classes)
    return Signature(
        integers=integers,
        legal=legal,
        rho=variance_ratio(xi, classes),
        n_clusters=(sizes[:, 0] > 0).sum(1),
    )


def is_head(signatures: Signature, rho: float = HEAD, max_clusters: int | None = None) -> Tensor:
    """Whether a clustering head is present: a legal signature whose clusters are tight."""
    present = signatures.legal & (signatures.rho < rho)
    return present if max_clusters is None else present & (signatures.n_clusters <= max_clusters)


def embed(weights: dict[str, Tensor], of: Probes, p: int) -> Tensor:
    """Return sequence embeddings of probes in many networks, (networks, d, sequences), float64."""
    n, size = len(weights["embedding"]), max(1, TOGETHER // len(of.tokens))
    parts = (
        system.embed({name: a[i : i + size] for name, a in weights.items()}, of.chosen, p)
        for i in range(0, n, size)
    )
    return torch.cat([part.double() for part in parts])
