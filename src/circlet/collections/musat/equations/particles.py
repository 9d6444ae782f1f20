"""Particle model of the embeddings: clustering and alignment forces (Mușat, section 6).

Particle i stands for the embedding of the number i. Every pair of numbers P = (i, j), i <= j, has
the sum x_P = x_i + x_j; for two distinct pairs P and Q, with u = x_Q - x_P, the pair Q puts on
both particles of P the force

    same class:       g_a u/|u|    + f_a [x_P . x_Q > 0] x_Q/|x_Q|
    different class: -g_r u/|u|^2  - f_a [x_P . x_Q > 0] x_Q/|x_Q|

where the class is (i + j) mod p (i = j acts twice). Couples of different class are weighted
down so that both kinds weigh the same in total (1/18 at p = 17). A step moves the particles along
the total force and restores zero mean and constant standard deviation. The paper leaves the step
size, the standard deviation and the meaning of "constant variance" open; the defaults are the
ones that reproduce its table 2 (docs/re_musat.md, "What the paper leaves open").
"""

import itertools
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from circlet.collections.musat.starts.particles import initial  # noqa: F401
from circlet.study.seeds import Seeds


@dataclass(frozen=True)
class Couplings:
    """Which force acts between which pairs; n = p (p + 1) / 2 pairs."""

    incidence: Float[Tensor, "n p"]  # how often a particle is in a pair, 0, 1 or 2
    attraction: Float[Tensor, "n n"]  # g_a for distinct pairs of the same class, else 0
    repulsion: Float[Tensor, "n n"]  # g_r times the weight for pairs of different class, else 0
    alignment: Float[Tensor, "n n"]  # +f_a, or -f_a times the weight; 0 on the diagonal
    step_size: float
    std: float
    over: tuple[int, ...]  # axes that the standard deviation is taken over


def data(
    parameters: dict[str, Any],
    seeds: list[Seeds],  # unused: no part of the data is random
    dtype: torch.dtype,
    device: torch.device,
) -> Couplings:
    """The couplings, the same for all runs of a block."""
    p = parameters["p"]
    all_pairs = torch.tensor(list(itertools.combinations_with_replacement(range(p), 2)))
    classes = all_pairs.sum(1) % p
    other = classes[:, None] != classes
    same = ~other & ~torch.eye(len(all_pairs), dtype=torch.bool)
    weight = int(same.sum()) / int(other.sum())
    move = {"dtype": dtype, "device": device}
    same, other = same.to(**move), weight * other.to(**move)
    return Couplings(
        incidence=torch.nn.functional.one_hot(all_pairs, p).sum(1).to(**move),
        attraction=parameters["g_a"] * same,
        repulsion=parameters["g_r"] * other,
        alignment=parameters["f_a"] * (same - other),
        step_size=parameters["step_size"],
        std=parameters["std"],
        over=(1,) if parameters["scaling"] == "per_coordinate" else (1, 2),
    )


def forces(positions: Float[Tensor, "runs p d"], couplings: Couplings) -> Float[Tensor, "runs p d"]:
    """Total force on every particle."""
    sums = couplings.incidence @ positions  # (runs, n, d)
    across = sums.mT.contiguous()
    u = across[:, :, None, :] - across[..., None]  # (runs, d, P, Q): x_Q - x_P
    squared = u[:, 0] * u[:, 0]
    for k in range(1, u.shape[1]):
        squared.addcmul_(u[:, k], u[:, k])
    inverse = squared.rsqrt_()
    inverse.masked_fill_(inverse == torch.inf, 0.0)  # sums that coincide exert no force
    along = torch.addcmul(couplings.attraction, couplings.repulsion, inverse, value=-1)
    clustering = u.mul_(along.mul_(inverse)[:, None]).sum(3).mT
    facing = (sums @ sums.mT > 0) * couplings.alignment
    alignment = facing @ torch.nn.functional.normalize(sums, dim=2)
    return couplings.incidence.mT @ (clustering + alignment)


def step(state: dict[str, Tensor], couplings: Couplings) -> None:
    """Move the particles of every run along their forces, then centre and scale, in place."""
    x = state["embedding"]
    x += couplings.step_size * forces(x, couplings)
    x -= x.mean(1, keepdim=True)
    x *= couplings.std / x.std(couplings.over, correction=0, keepdim=True)
