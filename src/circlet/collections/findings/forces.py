"""Forces of Mușat's particle model at a network's embedding, compared with the loss gradient.

Particle i stands for the embedding x_i of the number i. Every pair of numbers P = (i, j), i <= j,
has the sum x_P = x_i + x_j and the class (i + j) mod p. For two distinct pairs P and Q, with
u = x_Q - x_P, the pair Q puts on both particles of P (twice if i = j) the force

    same class:       g_a u/|u|    + f_a [x_P . x_Q > 0] x_Q/|x_Q|
    different class: -g_r u/|u|^2  - f_a [x_P . x_Q > 0] x_Q/|x_Q|

where couples of different class are weighted down so that both kinds weigh the same in total. The
unit forces are attraction (g_a = 1), repulsion (g_r = 1) and alignment (f_a = 1), each with the
other two strengths 0: the total force is their weighted sum.

Before a gradient is compared with forces, `projected` removes shift and scale from both: the model
undoes them after every step, and changes of scale would otherwise dominate both.
"""

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

FORCES = ("attraction", "repulsion", "alignment")


class Couples(NamedTuple):
    """The n = p (p + 1) / 2 pairs of numbers, and couples of two distinct pairs P and Q."""

    incidence: Float[Tensor, "p n"]  # how often a number is in a pair, 0, 1 or 2
    same: Int[Tensor, "2 n_same"]  # P and Q, 0..n - 1, of the couples of the same class
    all_couples: Int[Tensor, "2 n_couples"]  # P and Q of all couples


@cache
def couples(p: int) -> Couples:
    """The couples of a modulus."""
    pairs = torch.tensor(list(itertools.combinations_with_replacement(range(p), 2)))
    classes = pairs.sum(1) % p
    is_couple = ~torch.eye(len(pairs), dtype=torch.bool)
    is_same = is_couple & (classes[:, None] == classes)
    incidence = torch.nn.functional.one_hot(pairs, p).sum(1).T.double()
    return Couples(incidence, is_same.nonzero().T, is_couple.nonzero().T)


def placed(embedding: Float[Tensor, "*batch p d"]) -> Float[Tensor, "*batch p d"]:
    """An embedding where the model keeps its particles: mean 0, standard deviation 0.5.

    It is scaled as a whole, which changes neither its shape nor the direction of its gradient.
    Repulsion is the only force whose strength depends on the scale.
    """
    centred = embedding - embedding.mean(-2, keepdim=True)
    return 0.5 * centred / centred.square().mean((-2, -1), keepdim=True).sqrt()


def _over_norm(vectors: Float[Tensor, "*batch d n"]) -> Float[Tensor, "*batch 1 n"]:
    """1 / norm of the columns; 0 for columns that are 0, as sums that coincide exert no force."""
    squared = vectors.square().sum(-2, keepdim=True)
    return torch.where(squared > 0, squared.rsqrt(), 0.0)


def _totals(
    positions: Float[Tensor, "*batch p d"], of: Int[Tensor, "2 n"]
) -> Float[Tensor, "*batch 3 p d"]:
    """Sums of u/|u|, u/|u|^2 and [x_P . x_Q > 0] x_Q/|x_Q| over some couples, on each particle."""
    incidence = couples(positions.shape[-2]).incidence
    sums = positions.mT @ incidence  # couples are the last axis, along which elementwise passes run
    x, y = sums.index_select(-1, of[0]), sums.index_select(-1, of[1])
    u = y - x
    inverse = _over_norm(u)
    facing = (x * y).sum(-2, keepdim=True) > 0
    away = (sums * _over_norm(sums)).index_select(-1, of[1])
    on_particles = incidence.T[of[0]]
    parts = (u * inverse, u * inverse * inverse, facing * away)
    return torch.stack([(part @ on_particles).mT for part in parts], -3)


def unit_forces(
    positions: Float[Tensor, "p d"], labels: Int[Tensor, "k p"]
) -> Float[Tensor, "k 3 p d"]:
    """Attraction, repulsion and alignment when the number i is the particle ``labels[:, i]``.

    The forces stand in the order of the numbers; positions are float64.
    """
    _, same, all_couples = couples(len(positions))
    # Over all couples the sums do not depend on the labels, and few couples are of the same class.
    whole = _totals(positions, all_couples)[:, labels].transpose(0, 1)
    alike = _totals(positions[labels], same)
    other = (whole - alike) * (same.shape[1] / (all_couples.shape[1] - same.shape[1]))
    return torch.stack([alike[:, 0], -other[:, 1], alike[:, 2] - other[:, 2]], 1)


def labellings(p: int, n: int) -> Int[Tensor, "n+1 p"]:
    """The numbers as they are, then ``n`` permutations of them, the same in every call.

    This is the null model. Other labels leave the embedding, its gradient and the number of couples
    unchanged; only the assignment of sums to classes changes. So the null model keeps what holds
    for any cloud of points: sums repel each other whatever their class, and most couples are of
    different class. Exchanging the gradients of numbers instead would destroy this, and a force
    that only spreads the points would seem to act.
    """
    stream = np.random.default_rng(0)
    return torch.tensor(np.stack([np.arange(p), *(stream.permutation(p) for _ in range(n))]))


def projected(
    field: Float[Tensor, "*batch p d"], positions: Float[Tensor, "*batch p d"]
) -> Float[Tensor, "*batch p d"]:
    """Return a field without shift and scale of each coordinate, which the model undoes."""
    centred = positions - positions.mean(-2, keepdim=True)
    along = centred / centred.norm(dim=-2, keepdim=True)
    field = field - field.mean(-2, keepdim=True)
    return field - along * (along * field).sum(-2, keepdim=True)


class Fit(NamedTuple):
    """A direction as a weighted sum of forces."""

    cosine: Float[Tensor, "*batch 3"]  # of each force with the direction
    coefficient: Float[Tensor, "*batch 3"]  # of each force, for a direction of norm 1
    r2: Float[Tensor, "*batch"]  # share of the squared norm that the three explain


def fit(direction: Float[Tensor, "*batch m"], forces: Float[Tensor, "*batch 3 m"]) -> Fit:
    """Least squares without a constant; NaN where the direction or a force is 0. m is above 3.

    A negative coefficient shows that the model is wrong; without the force, the mean over runs is
    0. Non-negative least squares would hide both.
    """
    norms = forces.norm(dim=-1)
    units = forces / norms[..., None]
    cosine = (units @ (direction / direction.norm(dim=-1, keepdim=True))[..., None])[..., 0]
    weights = torch.linalg.solve_ex(units @ units.mT, cosine[..., None]).result[..., 0]
    return Fit(cosine, weights / norms, (weights * cosine).sum(-1))


def fits(
    directions: Float[Tensor, "n p d"], positions: Float[Tensor, "p d"], labels: Int[Tensor, "k p"]
) -> Fit:
    """Directions at an embedding as sums of the projected forces under each labelling, (n, k)."""
    ordered = positions[labels]
    forces = projected(unit_forces(positions, labels), ordered[:, None])
    return fit(projected(directions[:, labels], ordered).flatten(-2), forces.flatten(-2))
