"""Irreducible representations of a finite group, and the signals of an embedding.

A function on a cyclic group is a sum of waves, one per frequency. On any finite group it is a sum
of parts, one per irreducible representation rho; the part is the projection P_rho of the function
(Serre, *Linear Representations of Finite Groups*, section 2.6):

    P_rho = (d_rho / |G|) sum_g conj(chi_rho(g)) L(g)

with chi_rho the character, d_rho = chi_rho(1) the dimension, and L(g) the matrix that moves the
row of x to that of g x. P_rho has the rank d_rho^2, and all of them sum to the identity.

The signal of rho in an embedding E, a row per element, is sqrt(|G|) ||P_rho E||. For a cyclic group
this is ||F_k||, circlet's signal of the frequency k. Because E is real, rho and its complex
conjugate have the same signal, like k and p - k, and share one entry.
"""

import string
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from circlet.collections.groups import finite_groups


@dataclass(frozen=True)
class Representations:
    """Irreducible representations of a group; a pair of complex conjugates has one entry.

    Sorted by dimension, then by their characters at elements 1, 2, ...: the largest real part
    first, then the largest imaginary part. So the trivial representation comes first, and those
    of a cyclic group are in the order of their frequency.
    """

    table: np.ndarray  # (n, n), the number of a b
    characters: np.ndarray  # (representations, n), complex

    @cached_property
    def dimensions(self) -> np.ndarray:
        """Dimension d_rho of each representation."""
        return self.characters[:, 0].real.round().astype(int)

    @cached_property
    def is_pair(self) -> np.ndarray:
        """Whether each representation stands for a pair of complex conjugates."""
        return np.abs(self.characters.imag).max(1) > 1e-6

    @cached_property
    def in_kernel(self) -> np.ndarray:
        """Whether each representation maps each element to the identity, (representations, n)."""
        return np.abs(self.characters - self.characters[:, :1]) < 1e-6

    @property
    def kernels(self) -> np.ndarray:
        """Size of each representation's kernel; 1: faithful."""
        return self.in_kernel.sum(1)

    @cached_property
    def names(self) -> list[str]:
        """Names of dimension and letter: 1a (trivial), 1b, ..., 2a, 2b, ..."""
        ranks = [int((self.dimensions[:i] == d).sum()) for i, d in enumerate(self.dimensions)]
        return [f"{d}{_letters(r)}" for d, r in zip(self.dimensions, ranks, strict=True)]

    def signals(self, embedding: np.ndarray) -> np.ndarray:
        """Signals sqrt(|G|) ||P_rho E|| of an embedding (n, d), one per representation.

        ||P E||^2 is the trace of E^T P E, and P is a sum over g of L(g). So the signals follow
        from the overlaps of E with L(g) E, its copies moved by g.
        """
        n = len(self.table)
        products = embedding.astype(float) @ embedding.T.astype(float)
        overlaps = products[self.table, np.arange(n)].sum(1)  # of E with its copy moved by g
        squares = self.dimensions * (self.characters.real @ overlaps)
        return np.sqrt(np.maximum(squares, 0))


@lru_cache(maxsize=16)
def of(name: str) -> Representations:
    """Return the representations of the group with this name."""
    return from_table(finite_groups.multiplication(name))


def from_table(table: np.ndarray) -> Representations:
    """Return the representations of the group with this multiplication table."""
    characters = _characters(table)
    characters = characters[sorted(range(len(characters)), key=lambda i: _rank(characters[i]))]
    conjugate = np.abs(characters @ characters.T).argmax(1)  # as characters are orthogonal
    return Representations(table, characters[conjugate >= np.arange(len(characters))])


def classes(table: np.ndarray) -> np.ndarray:
    """Return the number of each element's conjugacy class; classes are ordered by first element."""
    n = len(table)
    conjugates = table[table, _inverses(table)[:, None]]  # g x g^-1 at row g and column x
    return np.unique(conjugates.min(0), return_inverse=True)[1].reshape(n)


def _characters(table: np.ndarray) -> np.ndarray:
    """All irreducible characters, (classes, n), in no particular order.

    Burnside's method, in floating point. Sums over conjugacy classes commute, and their common
    eigenvectors are the characters. In the basis of class sums, each divided by the square root of
    its size, the matrix of the sum over a class and its inverse class is Hermitian; a random
    combination of these matrices has distinct eigenvalues.
    """
    of, n = classes(table), len(table)
    sizes = np.bincount(of)
    random = np.random.default_rng(0).normal(size=(len(sizes), 2)) @ [1, 1j]
    weights = random[of] + random[of[_inverses(table)]].conj()
    matrix = np.zeros((len(sizes), len(sizes)), dtype=complex)
    np.add.at(matrix, (of[table], of[None, :]), weights[:, None])  # x y from y, over all x
    _, vectors = np.linalg.eigh(matrix / np.sqrt(np.outer(sizes, sizes)))
    found = vectors.conj().T / np.sqrt(sizes) * np.sqrt(n)
    found = (found * (found[:, :1].conj() / np.abs(found[:, :1])))[:, of]
    dimensions = found[:, 0].real
    exact = np.abs(dimensions - dimensions.round()).max() < 1e-6
    if not exact or (dimensions.round() ** 2).sum() != n:
        raise ArithmeticError("the characters of this group could not be distinguished")
    return found


def _inverses(table: np.ndarray) -> np.ndarray:
    return (table == 0).argmax(1)


def _rank(character: np.ndarray) -> list[float]:
    """Return the sort key of a representation, without rounding noise."""
    values = -np.stack([character.real, character.imag], 1).round(6) + 0.0
    return [-values[0, 0], *values.ravel().tolist()]


def _letters(rank: int) -> str:
    """Return the letters of a rank: a, b, ..., z, aa, ab, ..."""
    before = rank // 26
    return (_letters(before - 1) if before else "") + string.ascii_lowercase[rank % 26]
