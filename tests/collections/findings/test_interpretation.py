"""Measures of constructed networks whose answer is known."""

import numpy as np
import pytest
import torch
from conftest import circle

from circlet.collections.findings import interpretation as measures

P, K = 17, 3
W = 2 * np.pi * K / P
A, B, C = np.meshgrid(*[np.arange(P)] * 3, indexing="ij")
CLOCK = 60 * np.cos(W * (A + B - C))
PIZZA = np.abs(np.cos(W * (A - B) / 2)) * CLOCK
RANDOM = np.random.default_rng(0).normal(size=(P, P, P))


def losses(logits, *frequencies):
    """Loss, restricted loss and excluded loss over all pairs."""
    parts = (logits, *measures.restricted_and_excluded(logits, np.array(frequencies, int)))
    return [measures.cross_entropy(part).mean() for part in parts]


def test_cross_entropy_is_that_of_torch():
    logits, classes = torch.as_tensor(RANDOM), torch.as_tensor(measures.by_sum(P))
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), classes.flatten())
    assert measures.cross_entropy(RANDOM).mean() == pytest.approx(expected.item())


def test_a_clock_is_its_key_frequency():
    loss, restricted, excluded = losses(CLOCK, K)
    assert loss < 0.2 and restricted == pytest.approx(loss)
    assert excluded == pytest.approx(np.log(P))
    bias = np.random.default_rng(1).normal(size=P)
    assert losses(CLOCK + bias, K)[1] == pytest.approx(losses(CLOCK + bias, K)[0])


def test_what_is_memorised_is_not_in_the_key_frequencies():
    """Only some pairs have a correct logit of 10: the waves of one frequency have none of it."""
    memorised = np.random.default_rng(0).random((P, P, 1)) < 0.5
    table = 10.0 * (memorised & ((A + B - C) % P == 0))
    train = memorised[..., 0]
    restricted, excluded = (
        measures.cross_entropy(part)[train].mean()
        for part in measures.restricted_and_excluded(table, np.array([K]))
    )
    assert measures.cross_entropy(table)[train].mean() < 0.01 > excluded
    assert restricted > 2
    both = losses(table + CLOCK, K)
    assert both[0] < both[1] < 0.2 < 1 < both[2]


def test_restricted_logits_are_those_of_the_two_dimensional_transform():
    """They are the terms (0, 0), (k, k) and (-k, -k) over a and b, of each class."""
    kept = np.zeros((P, P, 1))
    for k in (0, 2, -2, 5, -5):
        kept[k, k] = 1
    expected = np.fft.ifft2(np.fft.fft2(RANDOM, axes=(0, 1)) * kept, axes=(0, 1)).real
    restricted, excluded = measures.restricted_and_excluded(RANDOM, np.array([2, 5]))
    np.testing.assert_allclose(restricted, expected, atol=1e-12)
    np.testing.assert_allclose(restricted + excluded - RANDOM.mean((0, 1)), RANDOM, atol=1e-12)


def test_without_key_frequencies_only_the_constant_is_left():
    restricted, excluded = measures.restricted_and_excluded(RANDOM, np.array([], int))
    assert np.ptp(restricted, axis=(0, 1)).max() < 1e-12
    np.testing.assert_allclose(excluded, RANDOM)


def test_a_circle_has_one_frequency():
    n = (P - 1) // 2
    signals = np.linalg.norm(np.fft.fft(circle(P, K), axis=0), axis=1)[1 : n + 1]
    assert measures.key_frequencies(circle(P, K)).tolist() == [K]
    assert measures.gini(signals) == pytest.approx(1 - 1 / n)
    assert measures.inverse_participation_ratio(signals) == pytest.approx(1)
    two = np.concatenate([circle(P, 2), circle(P, 5)], axis=1)
    assert measures.key_frequencies(two).tolist() == [2, 5]
    assert measures.inverse_participation_ratio(np.array([1, 1, 0, 0])) == 0.5
    assert measures.gini(np.ones(n)) == pytest.approx(0)
    assert measures.inverse_participation_ratio(np.ones(n)) == pytest.approx(1 / n)


def test_a_random_embedding_has_all_frequencies():
    embedding = np.random.default_rng(0).normal(size=(P, 1000))
    assert measures.key_frequencies(embedding).size == 0


def test_distance_matters_to_a_pizza_and_not_to_a_clock():
    assert measures.distance_irrelevance(PIZZA) == pytest.approx(0, abs=1e-9)
    by_sum = CLOCK * (1 + 0.1 * np.cos(W * (A + B)))
    assert measures.distance_irrelevance(by_sum) == pytest.approx(1)
    assert 0.8 < measures.distance_irrelevance(RANDOM) < 1
    assert np.isnan(measures.distance_irrelevance(CLOCK))  # all correct logits are equal
    half = PIZZA / PIZZA.std() + by_sum / by_sum.std()
    assert 0 < measures.distance_irrelevance(half) < 1


def test_gradients_that_are_alike_opposite_and_missing():
    left = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    assert measures.gradient_symmetricity(left, 3 * left) == pytest.approx(1)
    assert measures.gradient_symmetricity(left, -left) == pytest.approx(-1)
    some = left * (torch.arange(50) % 2)[:, None]
    assert measures.gradient_symmetricity(left, some) == pytest.approx(1)


def test_triples_are_the_same_for_all_networks_of_a_modulus():
    assert measures.triples(P).shape == (1000, 3)
    np.testing.assert_array_equal(measures.triples(P), measures.triples(P))
    assert set(measures.triples(P).ravel()) == set(range(P))


def planted(left, right, output, frequency=K):
    """Activations and output weights of neurons with these phases, each (neurons,)."""
    wave = 2 * np.pi * frequency / P * np.arange(P)[:, None]
    activations = np.cos(wave + left)[:, None] + np.cos(wave + right)
    return activations, np.cos(wave + output)


def test_phases_of_planted_neurons():
    u, v = np.random.default_rng(0).uniform(0, 2 * np.pi, (2, 400))
    assert measures.phase_alignment(*planted(u, u, 2 * u)) == pytest.approx(1)
    assert measures.phase_alignment(*planted(u, v, u + v)) == pytest.approx(1)
    assert measures.phase_alignment(*planted(u, u, 2 * u + np.pi)) == pytest.approx(-1)
    assert measures.phase_alignment(*planted(u, u, 2 * u + 1)) == pytest.approx(np.cos(1))
    assert abs(measures.phase_alignment(*planted(u, u, v))) < 0.15


def test_neurons_count_by_their_amplitudes_at_their_own_frequency():
    first = planted(np.ones(1), np.ones(1), np.ones(1) * 2)
    second = planted(np.ones(1), np.ones(1), np.ones(1) * (2 + np.pi), frequency=5)
    activations, output = (np.concatenate(x, axis=-1) for x in zip(first, second, strict=True))
    assert measures.phase_alignment(activations, output * [3, 1]) == pytest.approx(0.5)
    assert measures.phase_alignment(activations * [3, 1], output) == pytest.approx(0.5)
