"""Planted laws are recovered, and others are not."""

import numpy as np
import pytest

from circlet.collections.findings import shared_laws
from circlet.collections.findings.tables import shared_law_rollouts
from circlet.collections.findings.tables import shared_laws as laws_table

P = 23
N = (P - 1) // 2
WINDOW = (0, 60)


def planted(change, runs=12, steps=60, noise=0.0):
    """Return signals (steps + 1, N) of runs whose change in a step is `change(s, v)`."""
    stream = np.random.default_rng(0)
    paths = []
    for _ in range(runs):
        s, v = stream.normal(50, 5, N), np.zeros(N)
        path = [s]
        for _ in range(steps):
            v = change(s, v) + noise * stream.normal(size=N)
            s = s + v
            path.append(s)
        paths.append(np.array(path))
    return paths


def r2_of(law, runs):
    return laws_table.r2(*laws_table.missed(law, runs, WINDOW))


def test_ratios_are_those_of_frequencies():
    partner = shared_laws.ratios(P)
    assert (np.sort(partner, axis=1) == np.arange(N)).all()
    assert (partner[:, 0] == np.arange(N)).all()
    k, r = 5, 3  # 3 x 17 = 51 = 5 mod 23, and 17 is 6 up to sign
    assert partner[k - 1, r - 1] == 6 - 1


def test_relabelling_numbers_keeps_an_equivariant_law():
    """If numbers are multiplied by u, the frequency k becomes k / u, and terms move with it."""
    s = np.random.default_rng(0).uniform(1, 9, (4, N))
    order = shared_laws.ratios(P)[:, 6]
    design = shared_laws.form("equivariant", N).design
    np.testing.assert_allclose(design(s[:, order], s), design(s, s)[:, order])


def test_a_planted_equivariant_law_is_recovered():
    stream = np.random.default_rng(1)
    coefficients = stream.normal(0, 2e-3, N)
    a = np.zeros((N, N))
    np.put_along_axis(a, shared_laws.ratios(P), coefficients[None], axis=1)  # by ratios of k and l
    runs = planted(lambda s, v: a @ s + 0.3, noise=0.003)
    law = shared_laws.fit("equivariant", runs[:6], WINDOW)
    np.testing.assert_allclose(law.coefficients[:N, 0], coefficients, atol=2e-4)
    assert law.coefficients[N, 0] == pytest.approx(0.3, abs=0.3)
    assert r2_of(law, runs[6:]).low > 0.99
    three = shared_laws.fit("three_numbers", runs[:6], WINDOW)
    assert r2_of(three, runs[6:]).high < 0.95


def test_three_numbers_are_recovered_and_thirty_add_nothing():
    runs = planted(lambda s, v: 4e-3 * s - 9e-3 * s.mean() + 0.2, noise=0.005)
    law = shared_laws.fit("three_numbers", runs[:6], WINDOW)
    np.testing.assert_allclose(law.coefficients[:, 0], [4e-3, -9e-3, 0.2], rtol=0.05)
    wide = r2_of(shared_laws.fit("equivariant", runs[:6], WINDOW), runs[6:])
    assert wide.value <= r2_of(law, runs[6:]).value + 0.001


def test_selection_finds_the_terms_that_were_planted():
    runs = planted(lambda s, v: 0.01 * s**2 / s.mean() - 0.02 * s.mean(), noise=0.01)
    law = shared_laws.fit("mean_field", runs, WINDOW)
    assert set(law.form.terms) == {"s^2/m", "m"}
    remembered = planted(lambda s, v: 0.8 * v - 0.01 * s, noise=0.01)
    assert {"v", "s"} <= set(shared_laws.fit("memory", remembered, WINDOW).form.terms)


def test_sums_add_up_to_least_squares():
    runs = planted(lambda s, v: -0.01 * s, noise=0.5)
    form = shared_laws.mean_field(["s", "m", "1"])
    parts = [shared_laws.sums(form, *shared_laws.inside(x, WINDOW)) for x in runs]
    rows, target = [], []
    for x in runs:
        s, v, y = shared_laws.inside(x, WINDOW)
        rows.append(form.design(s, v).reshape(-1, 3))
        target.append(y.reshape(-1, 1))
    direct = np.linalg.lstsq(np.concatenate(rows), np.concatenate(target), rcond=None)
    whole = shared_laws.total(parts)
    np.testing.assert_allclose(whole.solve(), direct[0], rtol=1e-6)
    assert whole.error(whole.solve()) == pytest.approx(float(direct[1][0]), rel=1e-6)
    np.testing.assert_allclose(whole.terms - parts[0].terms, shared_laws.total(parts[1:]).terms)


def test_a_rollout_of_the_true_law_is_the_run():
    runs = planted(lambda s, v: 4e-3 * s - 9e-3 * s.mean() + 0.2)
    law = shared_laws.fit("three_numbers", runs[:6], WINDOW)
    x = np.stack(runs[6:])
    for first in (0, 20):
        rollout = shared_laws.rollout([(WINDOW, law)], x, first)
        np.testing.assert_allclose(rollout, x.swapaxes(0, 1)[first:], rtol=1e-6)


def test_mean_field_laws_keep_the_order_of_signals():
    runs = planted(lambda s, v: 0.01 * s - 0.011 * s.mean())
    x = np.stack(runs)
    counts = np.full(len(x), 4)
    start, end = (shared_law_rollouts.strongest(x[:, step], counts) for step in (0, -1))
    assert (start == end).all() and (start.sum(1) == 4).all()
