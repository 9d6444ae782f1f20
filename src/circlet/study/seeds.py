"""Random streams: one per seed and purpose, the same on every device and in every block."""

from dataclasses import dataclass

import numpy as np

PURPOSES = ("embedding", "network", "data", "order")

# Each purpose's own stream of its seed. They never change: results would.
_KEYS = {"embedding": 0, "network": 1, "data": 2, "intervention": 3, "order": 4}


@dataclass(frozen=True)
class Seeds:
    """The seeds of a run: initial embedding, initial network, data, and the order of batches."""

    embedding: int
    network: int
    data: int
    order: int

    def stream(self, purpose: str, *number: int) -> np.random.Generator:
        """Independent generator of one purpose: ``embedding``, ``network``, ``data``, ``order``.

        What an ``intervention`` draws belongs to the initial embedding and follows its seed. A
        ``number``, as that of an epoch, gives each its own.

        Draws are float64 on the CPU; whoever uses them casts and moves them, so that a run does
        not depend on the device, the precision or its neighbours in a block.
        """
        seed = self.embedding if purpose == "intervention" else getattr(self, purpose)
        sequence = np.random.SeedSequence(seed, spawn_key=(_KEYS[purpose], *number))
        return np.random.Generator(np.random.PCG64(sequence))
