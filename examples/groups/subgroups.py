"""The subgroups of a finite group, and what functions of cosets can tell.

A function on G that is the same on each coset of a subgroup H is a sum of parts of those rho that
have a vector which H leaves alone; their number is the mean of the character over H.
"""

import numpy as np

from circlet.collections.groups.representations import Representations

LARGEST = 120  # order of the group: S6 would take minutes


def subgroups(table: np.ndarray) -> set[frozenset[int]]:
    """All subgroups, as sets of elements: made from smaller ones by one more element."""
    found: set[frozenset[int]] = set()
    todo = {frozenset([0])}
    while todo:
        one = todo.pop()
        found.add(one)
        # All elements x h of a coset of it generate the same with it: one of each is enough.
        first = {min(coset) for coset in table[:, sorted(one)].tolist()} - one
        todo |= {_generated(table, one, element) for element in first} - found
    return found


def _generated(table: np.ndarray, subgroup: frozenset[int], element: int) -> frozenset[int]:
    """The smallest subgroup that has a subgroup and an element."""
    members = np.append(sorted(subgroup), element)
    while True:
        larger = np.unique(table[np.ix_(members, members)])
        if len(larger) == len(members):
            return frozenset(larger.tolist())
        members = larger


def fewest_cosets(group: Representations) -> list[int | None]:
    """For each representation, the fewest cosets of a subgroup with a function in it.

    Of the trivial representation 1: the group is one coset of itself.
    """
    n = len(group.table)
    if n > LARGEST:
        return [None] * len(group.characters)
    every = sorted(subgroups(group.table), key=len, reverse=True)
    fixed = np.array([group.characters.real[:, list(one)].mean(1) > 1e-6 for one in every])
    return [n // len(every[first]) for first in fixed.argmax(0)]
