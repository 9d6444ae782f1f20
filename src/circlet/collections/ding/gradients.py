"""How fast signals change in the first steps (Ding et al., section 3.2.2)."""

import numpy as np

GRADIENT_STEPS = (1, 2, 3, 4)  # the last is the initial gradient, as in figure 7


def relative_gradients(signals: np.ndarray) -> np.ndarray:
    """(signal(s) - signal(s - 1)) / signal(0) at steps s = 1, 2, ... (Ding et al., 3.2.2).

    NaN for a frequency that an intervention has removed.

    Parameters
    ----------
    signals
        Shape (steps, frequencies), of steps 0, 1, 2, ...
    """
    start = np.where(signals[0] > 1e-3 * signals[0].max(), signals[0], np.nan)
    return np.diff(signals, axis=0) / start
