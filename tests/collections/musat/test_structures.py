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


STREAM = np.random.default_rng(0)
EMBEDDINGS = {
    **{f"random {p}, {d}": STREAM.normal(size=(p, d)) for p, d in ((7, 2), (6, 3), (11, 2))},
    **{f"grid {columns}": grid(17, columns) for columns in (4, 5)},
    # Some sums are equally far from several others: the first of these counts.
    "whole numbers": np.random.default_rng(0).integers(0, 3, (7, 2)).astype(float),
}


@pytest.mark.parametrize("embedding", EMBEDDINGS.values(), ids=EMBEDDINGS)
def test_imperfections_equal_the_pseudo_code(embedding):
    assert count_imperfections(embedding) == imperfections_as_printed(embedding)


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
