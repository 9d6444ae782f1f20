"""Interpretability measures of networks trained on modular addition.

Arrays belong to one network. ``logits`` (p, p, p) are scores of class c for operands a and b.
"""

import numpy as np
import torch
from scipy.special import logsumexp

from circlet.analysis import spectrum

_TRIPLES = 1000  # (a, b, c) that gradients are taken at


def by_sum(p: int) -> np.ndarray:
    """The class (a + b) mod p of every pair of operands, (p, p)."""
    return np.add.outer(np.arange(p), np.arange(p)) % p


def cross_entropy(logits: np.ndarray) -> np.ndarray:
    """Cross-entropy of every pair of operands, (p, p), nat."""
    classes = by_sum(len(logits))
    right = np.take_along_axis(logits, classes[..., None], axis=2)[..., 0]
    return logsumexp(logits, axis=2) - right


def key_frequencies(embedding: np.ndarray) -> np.ndarray:
    """Frequencies of an embedding (p, d) that survive by rule A; Nanda et al. choose by eye."""
    signals, p = spectrum.signals(embedding), len(embedding)
    frequencies = spectrum.frequencies(p)
    return frequencies[signals[frequencies] > spectrum.survival_threshold(signals.sum(), p)]


def restricted_and_excluded(
    logits: np.ndarray, frequencies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return logits of only some frequencies k, and logits without them (Nanda et al., 5.1).

    From the two-dimensional Fourier transform over a and b, restricted logits keep the constant
    and cos(2 pi k (a + b) / p) and sin(2 pi k (a + b) / p); excluded logits have all except these
    waves, and keep the constant. Both are (p, p, p). A network that has generalised by these
    frequencies has a restricted loss as low as its loss, and a high excluded loss; one that has
    memorised has a high restricted loss, and an excluded loss as low as its train loss.
    """
    p = len(logits)
    first, classes = np.arange(p)[:, None], by_sum(p)
    # These waves are functions of the sum: they are in the mean over all pairs of the same sum.
    means = logits[first, (np.arange(p) - first) % p].mean(0)  # (p sums, p classes)
    coefficients = np.fft.fft(means, axis=0)
    kept = np.zeros_like(coefficients)
    indices = np.concatenate([frequencies, p - frequencies]).astype(int)
    kept[indices] = coefficients[indices]
    waves = np.fft.ifft(kept, axis=0).real[classes]
    return waves + logits.mean((0, 1)), logits - waves


def gini(values: np.ndarray) -> float:
    """Return the Gini coefficient of n values >= 0: 0 if all are equal, 1 - 1/n if one is not 0.

    Nanda et al. (section 5.1, after Hurley and Rickard 2009) apply it to the norms of the Fourier
    components of weights.
    """
    n, ordered = len(values), np.sort(values)
    return float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * ordered.sum()))


def inverse_participation_ratio(values: np.ndarray) -> float:
    """Return the sum of squared shares of power of Fourier components with these norms.

    1/n if all n are equal, 1 if only one is not 0 (Gromov 2023, arXiv 2301.02679).
    """
    power = values**2
    return float((power**2).sum() / power.sum() ** 2)


def distance_irrelevance(logits: np.ndarray) -> float:
    """Return the share of the spread of correct logits that remains at fixed a - b (0..1).

    Definition 4.2 of Zhong et al.: the standard deviation of the correct logits of all pairs with
    the same a - b, averaged over a - b, divided by that of all correct logits. A pizza, whose
    logits are damped by |cos(pi k (a - b) / p)|, is near 0; a clock, to which a - b does not
    matter, is near 1. NaN if all correct logits are equal.
    """
    p = len(logits)
    first = np.arange(p)[:, None]
    second = (first + np.arange(p)) % p  # a column for each distance
    right = logits[first, second, (first + second) % p]
    return float(right.std(0).mean() / right.std()) if np.ptp(right) > 1e-9 else np.nan


def triples(p: int) -> np.ndarray:
    """The 1000 random (a, b, c), shape (1000, 3), at which gradients are taken.

    They are the same for all networks of a modulus, so that networks can be compared.
    """
    return np.random.default_rng(0).integers(p, size=(_TRIPLES, 3))


def gradient_symmetricity(by_left: torch.Tensor, by_right: torch.Tensor) -> float:
    """Mean cosine between the gradients of a logit by E_a and by E_b, both (triples, d), -1..1.

    Definition 4.1 of Zhong et al. A pizza, which only uses E_a + E_b, has 1; their clocks have
    about 0.3. Where a gradient is zero it has no direction, and the triple does not count.
    """
    cosines = torch.nn.functional.cosine_similarity(by_left, by_right, dim=1, eps=0)
    return float(cosines.nanmean())


def phase_alignment(activations: np.ndarray, output: np.ndarray) -> float:
    """Mean cosine of (output phase - sum of the two input phases) of neurons, -1..1.

    ``activations`` (p, p, neurons) are those before the nonlinearity, ``output`` (p, neurons) what
    each neuron adds to the logits. A neuron that responds to cos(wa + u) + cos(wb + v) and adds
    cos(wc + u + v) votes for a + b = c; with u = v the output phase is twice the input phase. A
    neuron's frequency w is the one at which it responds most. Its weight is the amplitude of the
    output at w times the geometric mean of those of a and b. 1: all neurons are aligned;
    about 0: phases are unrelated; -1: all vote against a + b.
    """
    p = len(output)
    frequencies = spectrum.frequencies(p)
    left, right, out = (
        np.fft.fft(x, axis=0)[frequencies]
        for x in (activations.mean(1), activations.mean(0), output)
    )
    strongest = (np.abs(left) ** 2 + np.abs(right) ** 2).argmax(0)[None]
    left, right, out = (np.take_along_axis(x, strongest, 0)[0] for x in (left, right, out))
    weight = np.abs(out) * np.sqrt(np.abs(left * right))
    difference = np.angle(out) - np.angle(left) - np.angle(right)
    return float((weight * np.cos(difference)).sum() / weight.sum())
