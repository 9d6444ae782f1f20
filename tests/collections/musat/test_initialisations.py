"""The whole of table 1 against an initialisation: planted runs, judged as the paper's."""

import numpy as np
import pandas as pd

from circlet.collections.musat.tables import initialisations


def runs(stream, n, share, level=50.0):
    """Runs whose accuracy falls with their imperfections; a share of them circles."""
    imperfections = stream.gamma(4, level / 4, n)
    circle = stream.random(n) < share
    accuracy = np.clip(0.8 - imperfections / 200 + 0.05 * stream.normal(size=n), 0, 1)
    return pd.DataFrame(
        {"is_circle": circle, "imperfections": imperfections, "test_accuracy": accuracy}
    )


def row(frame):
    """Return a row of the table, as a paper prints it, on the scales of the cells; its circles."""
    circle = frame["is_circle"].to_numpy()
    accuracy, imperfections = 100 * frame["test_accuracy"].to_numpy(), frame["imperfections"]
    parts = (accuracy[circle], accuracy[~circle], imperfections.to_numpy()[~circle])
    return initialisations.cells(circle.sum(), *parts), int(circle.sum())


def p_of(seed, shares=(0.0, 0.15), paper=(0.0, 0.15), level=50.0):
    """p of a paper of 100 runs at each of two settings, against 500 of ours."""
    stream = np.random.default_rng(seed)
    rows = [row(runs(stream, 100, s, level)) for s in paper]
    tables = [
        initialisations.drawn(runs(stream, 500, s), k, stream, 500)
        for s, (_, k) in zip(shares, rows, strict=True)
    ]
    return initialisations.judged(np.concatenate(tables, 1), np.concatenate([r for r, _ in rows]))


def test_the_same_networks_are_seldom_excluded_and_others_nearly_always():
    same = [p_of(seed)[3] for seed in range(60)]
    assert np.mean(np.array(same) < 0.05) < 0.15
    assert np.mean(np.array(same) < 0.5) > 0.25
    more_circles = [p_of(seed, paper=(0.0, 0.4))[3] for seed in range(20)]
    assert np.mean(np.array(more_circles) < 0.05) > 0.9
    smoother = [p_of(seed, level=35.0)[3] for seed in range(20)]
    assert np.mean(np.array(smoother) < 0.05) > 0.9


def test_a_cell_that_ours_never_have_is_told_by_its_own_spread():
    """If none of our 500 runs is a circle, one of 100 agrees, but ten do not."""
    z, _, n_cells, p = p_of(0, shares=(0.0, 0.0), paper=(0.0, 0.01))
    assert n_cells == 8  # without the accuracy of circles, of which there are none
    assert np.isfinite(z[[0, 5]]).all()
    assert p > 0.05
    assert p_of(0, shares=(0.0, 0.0), paper=(0.0, 0.2))[3] < 0.01
