"""What the live simulations begin with: the parameters that a study has by default."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from circlet.collections.musat.systems import constant_attention, particles

TABLES = ()

_PARTICLES = ("p", "f_a", "g_a", "g_r", "step_size", "std")
_NETWORK = ("p", "d", "hidden", "train_fraction", "learning_rate", "weight_decay")


def data(tables: Mapping[str, pd.DataFrame], trained: set[str]) -> dict[str, Any]:
    """Parameters of both, and how many weights the network has."""
    count = constant_attention.SYSTEM.weights
    assert count
    network = {name: constant_attention.SYSTEM.defaults[name] for name in _NETWORK}
    return {
        "particles": {name: particles.SYSTEM.defaults[name] for name in _PARTICLES},
        "network": network,
        "weights": int(count(**network)),
    }
