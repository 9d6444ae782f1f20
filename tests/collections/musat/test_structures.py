import math

import numpy as np
import pytest
from conftest import circle, grid

from circlet.collections.musat.tables.structures import count_imperfections, norm_ratio


def imperfections_as_printed(embed):
    """Count imperfections by algorithm 2 of the paper, line by line."""
    n = len(embed)
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    imperfections = 0
    for i, j in pairs:
        min_dist = math.inf
        match = False
        for k, m in pairs:
            if (i, j) == (k, m):
                continue
            dist = np.linalg.norm(embed[i] + embed[j] - embed[k] - embed[m])
            if dist < min_dist:
                min_dist = dist
                match = (i + j) % n == (k + m) % n
        if not match:
            imperfections += 1
    return imperfections


@pytest.mark.parametrize(("p", "d"), [(7, 2), (6, 3), (11, 2)])
def test_imperfections_equal_the_pseudo_code(p, d):
    for seed in range(5):
        embedding = np.random.default_rng(seed).normal(size=(p, d))
        assert count_imperfections(embedding) == imperfections_as_printed(embedding)


def test_a_line_has_no_imperfections_but_at_its_ends():
    """In an arithmetic progression equal sums coincide, except sums of a single pair."""
    p = 17
    line = np.stack([np.arange(p), np.zeros(p)], axis=1).astype(float)
    # Sums 0 and 1, 2p - 3 and 2p - 2 belong to a single pair each.
    assert count_imperfections(line) == imperfections_as_printed(line) == 4


@pytest.mark.parametrize("columns", [3, 4, 5, 6])
def test_a_planted_grid_has_few_imperfections(columns):
    """Equal sums coincide; only sums of a single pair, at the rim, are imperfect."""
    planted = grid(17, columns)
    assert count_imperfections(planted) == imperfections_as_printed(planted)
    noise = np.random.default_rng(0).normal(size=(17, 2))
    assert count_imperfections(planted + 0.01 * noise) < 40
    assert count_imperfections(planted + 2 * noise) > 100


def test_ties_go_to_the_first_pair():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.5]])
    assert count_imperfections(square) == imperfections_as_printed(square)


def test_planted_circles_are_circles_and_grids_are_not():
    for k in (1, 3, 8):
        assert norm_ratio(circle(17, k)) == pytest.approx(1)
    assert norm_ratio(circle(17, 2) * np.array([1.15, 1.0])) < 1.2
    assert norm_ratio(circle(17, 2) * np.array([1.3, 1.0])) > 1.2
    assert norm_ratio(grid(17, 4) - grid(17, 4).mean(0)) > 1.2
    # Distances are from the origin: a circle around another point does not count.
    assert norm_ratio(circle(17, 1) + 0.5) > 1.2


def test_an_embedding_at_the_origin_is_no_circle():
    assert norm_ratio(np.vstack([circle(16, 1), [[0, 0]]])) == math.inf
