"""Which representations of a run survive."""

import numpy as np

from circlet.collections.groups.representations import Representations

BAR = 1 / 3  # of the strongest signal per dimension


def relative(signals: np.ndarray, group: Representations) -> np.ndarray:
    """Signals per dimension, divided by that of the strongest nontrivial representation.

    At a normal initialisation, a signal is on average about sqrt(|G| d) d_rho: P_rho has the rank
    d_rho^2. So the signals divided by d_rho start alike, whatever the dimensions. ``signals`` and
    the result are (..., representations). The first representation, the trivial one, is the mean of
    all rows of the embedding; its signal is divided like the others, but cannot be the strongest.
    """
    scaled = signals / group.dimensions
    strongest = scaled[..., 1:].max(-1, keepdims=True)
    return np.divide(scaled, strongest, out=np.zeros_like(scaled), where=strongest > 0)


def survives(relative: np.ndarray) -> np.ndarray:
    """Return whether a signal per dimension is more than a third of the strongest.

    circlet's rule for circles, above twice the mean, needs many frequencies of which few survive.
    S4 has only four nontrivial representations: if three survive, none is above twice the mean.
    README.md says why it is a third.
    """
    return relative > BAR
