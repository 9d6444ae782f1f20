"""Random streams: one per seed and purpose, the same on every device and in every block."""

from dataclasses import dataclass

import numpy as np

PURPOSES = ("embedding", "network", "data", "order")

# A stream for each purpose of a seed. They must never change, or results would.
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

        Interventions draw from a stream of the embedding seed, because they belong to the initial
        embedding. Each ``number``, such as that of an epoch, gives a stream of its own.

        Draws are float64 on the CPU; callers cast and move them, so that a run does not depend on
        the device, the precision or the other runs in its block.
        """
        seed = self.embedding if purpose == "intervention" else getattr(self, purpose)
        sequence = np.random.SeedSequence(seed, spawn_key=(_KEYS[purpose], *number))
        return np.random.Generator(np.random.PCG64(sequence))
