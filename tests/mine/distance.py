"""Code that several modules of the collection use."""

import numpy as np


def of(vectors):
    """Mean distance from the origin."""
    return float(np.linalg.norm(np.stack(vectors), axis=1).mean())
