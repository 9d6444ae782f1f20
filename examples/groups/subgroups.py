"""The subgroups of a finite group, and representations among functions of their cosets.

A function on G that is constant on each coset of a subgroup H is a sum of parts of those rho that
have nonzero vectors fixed by H; the dimension of their space is the character's mean over H.
"""

import numpy as np

from circlet.collections.groups.representations import Representations

LARGEST = 120  # order of the group: S6 would take minutes


def subgroups(table: np.ndarray) -> set[frozenset[int]]:
    """Return all subgroups, as sets of elements, by adding one element at a time."""
    found: set[frozenset[int]] = set()
    todo = {frozenset([0])}
    while todo:
        one = todo.pop()
        found.add(one)
        # All elements of a coset generate the same subgroup with `one`: one of each is enough.
        first = {min(coset) for coset in table[:, sorted(one)].tolist()} - one
        todo |= {_generated(table, one, element) for element in first} - found
    return found


def _generated(table: np.ndarray, subgroup: frozenset[int], element: int) -> frozenset[int]:
    """Return the smallest subgroup that contains a subgroup and an element."""
    members = np.append(sorted(subgroup), element)
    while True:
        larger = np.unique(table[np.ix_(members, members)])
        if len(larger) == len(members):
            return frozenset(larger.tolist())
        members = larger


def fewest_cosets(group: Representations) -> list[int | None]:
    """Return for each representation the fewest cosets of a subgroup with a function in it.

    This is 1 for the trivial representation, because the group is one coset of itself.
    """
    n = len(group.table)
    if n > LARGEST:
        return [None] * len(group.characters)
    every = sorted(subgroups(group.table), key=len, reverse=True)
    fixed = np.array([group.characters.real[:, list(one)].mean(1) > 1e-6 for one in every])
    return [n // len(every[first]) for first in fixed.argmax(0)]
