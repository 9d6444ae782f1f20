import numpy as np
import pytest
from conftest import circle

from circlet.analysis import spectrum
from circlet.collections.ding import survivors


def circles(p, sizes, d=8, noise=0.0):
    """An embedding with circles of some frequencies, each in its own plane."""
    rng = np.random.default_rng(0)
    embedding = noise * rng.normal(size=(p, d))
    for i, (k, size) in enumerate(sizes.items()):
        embedding[:, 2 * i : 2 * i + 2] += size * circle(p, k)
    return embedding


@pytest.mark.parametrize("p", [12, 13])
def test_planted_survivors_are_found(p):
    relative, absolute = survivors.survivors(circles(p, {2: 5.0, 4: 4.0}, noise=0.01))
    assert list(spectrum.frequencies(p)[relative]) == [2, 4]
    assert list(spectrum.frequencies(p)[absolute]) == [2, 4]


def test_rules_differ_where_they_should():
    """Rule A is relative to the other signals; rule B is absolute."""
    small = circles(13, {2: 0.1}, noise=1e-4)
    assert [rule.sum() for rule in survivors.survivors(small)] == [1, 0]
    many = circles(31, dict.fromkeys(range(1, 16), 3.0), d=30)
    assert [rule.sum() for rule in survivors.survivors(many)] == [0, 15]


def test_rule_a_by_the_literal_formula():
    embedding = np.random.default_rng(1).normal(size=(11, 4)) ** 3
    p = len(embedding)
    norms = []
    for k in range(p):
        sums = sum(np.exp(-2j * np.pi * k * n / p) * embedding[n] for n in range(p))
        norms.append(np.sqrt((abs(sums) ** 2).sum()))
    expected = [norms[k] > 2 * sum(norms) / p for k in range(1, 6)]
    assert list(survivors.survivors(embedding)[0]) == expected


def test_what_was_removed_or_has_one_direction_has_no_circularity():
    """Circularity would be 0/0 for these frequencies, so it is NaN."""
    turns = 2 * np.pi * np.arange(13) / 13
    direction = np.array([0.6, 0.8, 0.0])
    constructed = np.cos(2 * turns)[:, None] * direction + 1e-6 * np.cos(turns)[:, None]
    assert np.isnan(survivors.circularity(constructed)).all()
    circularity = survivors.circularity(circles(13, {2: 5.0}))
    assert circularity[1] == pytest.approx(1)
    assert np.isnan(np.delete(circularity, 1)).all()


def test_circularity_by_the_literal_formula():
    embedding = np.random.default_rng(2).normal(size=(7, 5))
    p = 7
    for k in (1, 2, 3):
        f = sum(np.exp(-2j * np.pi * k * n / p) * embedding[n] for n in range(p))
        parts = []
        for direction in (f.real, f.imag):
            x = [embedding[n] @ direction / np.linalg.norm(direction) for n in range(p)]
            wave = sum(x[j] * np.exp(2j * np.pi * j * k / p) for j in range(p))
            parts.append(2 / (p * sum(v * v for v in x)) * abs(wave) ** 2)
        expected = np.sqrt((parts[0] ** 2 + parts[1] ** 2) / 2)
        assert survivors.circularity(embedding)[k - 1] == pytest.approx(expected)


def test_short_runs_are_judged_by_rule_a():
    assert survivors.rule(30_000) == ("B", "survived_absolute")
    assert survivors.rule(1000) == ("A", "survived")
