"""Random streams: one per seed and purpose, the same on every device and in every block."""

from dataclasses import dataclass

import numpy as np

PURPOSES = ("embedding", "network", "data")


@dataclass(frozen=True)
class Seeds:
    """The three seeds of a run: initial embedding, initial network, and data (the split)."""

    embedding: int
    network: int
    data: int

    def stream(self, purpose: str) -> np.random.Generator:
        """Independent generator of one purpose: ``embedding``, ``network``, ``data``.

        What an ``intervention`` draws belongs to the initial embedding and follows its seed.

        Draws are float64 on the CPU; whoever uses them casts and moves them, so that a run does
        not depend on the device, the precision or its neighbours in a block.
        """
        key = ((*PURPOSES, "intervention").index(purpose),)
        seed = self.embedding if purpose == "intervention" else getattr(self, purpose)
        sequence = np.random.SeedSequence(seed, spawn_key=key)
        return np.random.Generator(np.random.PCG64(sequence))
