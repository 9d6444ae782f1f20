"""Finite groups by name: their multiplication tables.

A name is one factor, or several joined by ``x``, the direct product:

======  ===================================================================  ========
``Cn``  cyclic                                                               n
``Dn``  dihedral, the symmetries of a regular polygon with n corners         2 n
``Qn``  generalised quaternion (dicyclic), n = 8, 12, 16, ...                n
``Sn``  symmetric, all permutations of n things                              n!
``An``  alternating, the even permutations of n things                       n! / 2
======  ===================================================================  ========

Elements are numbered from 0, the identity:

- ``Cn``: k is the k-th power of the generator, so the product is addition mod n.
- ``Dn`` and ``Qn``: the rotations r^0, r^1, ..., then r^0 s, r^1 s, ...
- ``Sn`` and ``An``: permutations as lists of images, in alphabetical order; a b is "first b, then
  a".
- Products: as the digits of a number, the last factor fastest.
"""

import itertools
import math
import re

import numpy as np

FACTOR = "(C|D|Q|S|A)[1-9][0-9]?[0-9]?"
NAME = re.compile(f"{FACTOR}(x{FACTOR})*")
LARGEST = 720  # order of S6: 518 400 pairs


def is_name(text: str) -> bool:
    """Return whether a text names a group."""
    is_one = NAME.fullmatch(text) is not None
    return is_one and all(n % 4 == 0 and n > 4 for letter, n in factors(text) if letter == "Q")


def factors(name: str) -> list[tuple[str, int]]:
    """The letter and the number of each factor: "C2xA4" is [("C", 2), ("A", 4)]."""
    return [(factor[0], int(factor[1:])) for factor in name.split("x")]


def order(name: str) -> int:
    """Number of elements, without making the group."""
    return math.prod(_order(letter, n) for letter, n in factors(name))


def _order(letter: str, n: int) -> int:
    match letter:
        case "D":
            return 2 * n
        case "S":
            return math.factorial(n)
        case "A":
            return max(1, math.factorial(n) // 2)
    return n


def multiplication(name: str) -> np.ndarray:
    """Return the multiplication table, (order, order): the number of a b at row a and column b."""
    table = np.zeros((1, 1), dtype=int)
    for letter, n in factors(name):
        own = _table(letter, n)
        m, size = len(own), len(table) * len(own)
        # Rows (a, c) and columns (b, d): the product is (a b, c d).
        table = (table[:, None, :, None] * m + own[None, :, None, :]).reshape(size, size)
    return table


def _table(letter: str, n: int) -> np.ndarray:
    match letter:
        case "C":
            return np.add.outer(np.arange(n), np.arange(n)) % n
        case "D":
            return _with_flips(n, 0)
        case "Q":
            return _with_flips(n // 2, n // 4)
    return _permutations(n, letter == "A")


def _with_flips(n: int, square: int) -> np.ndarray:
    """Return the table of r^k s^f, numbered k + n f, where s r = r^-1 s and s s = r^square."""
    flip, k = np.divmod(np.arange(2 * n), n)
    sign = 1 - 2 * flip[:, None]
    power = k[:, None] + sign * k + square * (flip[:, None] & flip)
    return power % n + n * (flip[:, None] ^ flip)


def _permutations(n: int, even: bool) -> np.ndarray:
    every = np.array(list(itertools.permutations(range(n))))
    if even:
        first, second = np.triu_indices(n, 1)
        every = every[(every[:, first] > every[:, second]).sum(1) % 2 == 0]
    digits = n ** np.arange(n)[::-1]
    products = every[:, every]  # row a, column b: the images of b, mapped by a
    return np.searchsorted(every @ digits, products @ digits)
