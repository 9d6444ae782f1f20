"""Sets of surviving frequencies: relations among their members, and sets drawn by chance."""

import itertools

import numpy as np
import pandas as pd

from circlet.analysis import spectrum

Array = np.ndarray


def folded(k: int, p: int) -> int:
    """The frequency 1..(p-1)//2 that is k mod p up to sign; 0 for 0."""
    return min(k % p, -k % p)


def relations(p: int) -> dict[str, Array]:
    """Return the index tuples (count, 2 or 3) of frequencies k - 1 in each relation, by its name.

    ``sum``: three different frequencies of which two add up to the third, mod p and up to sign.
    ``double``: one is twice the other. ``ratio r`` for prime p: one is r times the other; r and its
    inverse are one relation, and so is `ratio 2` with `double`, which is left out.
    """
    n = (p - 1) // 2
    frequencies = range(1, n + 1)
    by_name: dict[str, list[tuple[int, ...]]] = {
        "sum": [(a, b, c) for a, b, c in itertools.combinations(frequencies, 3)
                if c in (folded(a + b, p), folded(a - b, p))],
        "double": [(a, folded(2 * a, p)) for a in frequencies if folded(2 * a, p) not in (0, a)],
    }  # fmt: skip
    if spectrum.is_prime(p):
        for r in range(3, n + 1):
            if r < folded(pow(r, -1, p), p) and folded(2 * r, p) != 1:
                by_name[f"ratio {r}"] = [(a, folded(r * a, p)) for a in frequencies]
    return {
        name: np.array(rows, dtype=int).reshape(len(rows), 3 if name == "sum" else 2) - 1
        for name, rows in by_name.items()
    }


def count(sets: Array, tuples: Array) -> Array:
    """Count the index tuples whose members are all in a set; sets (..., n), bool."""
    return sets[..., tuples].all(-1).sum(-1)


def expected(sets: Array, tuples: Array) -> Array:
    """The mean of `count` over all sets of the same sizes; (...)."""
    n, size = sets.shape[-1], sets.sum(-1)
    share = np.ones(size.shape)
    for i in range(tuples.shape[-1]):
        share = share * (size - i) / (n - i)
    return len(tuples) * share


def ranked_sets(sets: Array, signals: Array, stream: np.random.Generator) -> Array:
    """Draw null sets that keep how often each rank of initial signal survives.

    Each run takes the surviving ranks of a random run with as many survivors, or keeps its set if
    there is no other. ``sets`` and ``signals`` are (runs, n). Everything else about strong
    frequencies is removed.
    """
    order = np.argsort(-signals, axis=1)
    by_rank = np.take_along_axis(sets, order, axis=1)
    sizes = sets.sum(1)
    for size in np.unique(sizes):
        same_size = np.flatnonzero(sizes == size)
        by_rank[same_size] = by_rank[stream.permutation(same_size)]
    drawn = np.empty_like(sets)
    np.put_along_axis(drawn, order, by_rank, axis=1)
    return drawn


def wide(survival: pd.DataFrame, value: str) -> pd.DataFrame:
    """A column of the table ``survival``: a row per run, a column per frequency."""
    return survival.pivot(index="run_id", columns="frequency", values=value)


def jaccard(a: Array, b: Array) -> Array:
    """Jaccard index of sets (..., n), bool; 1 if both are empty."""
    either = (a | b).sum(-1)
    return np.where(either > 0, (a & b).sum(-1) / np.maximum(either, 1), 1.0)
