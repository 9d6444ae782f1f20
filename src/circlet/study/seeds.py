"""Random streams: one per seed and purpose, the same on every device and in every block."""

from dataclasses import dataclass

import numpy as np

PURPOSES = ("embedding", "network", "data", "order")

# Number of the stream for each purpose. Changing a number would change results.
_KEYS = {"embedding": 0, "network": 1, "data": 2, "intervention": 3, "order": 4}


@dataclass(frozen=True)
class Seeds:
    """The seeds of a run: initial embedding, initial network, data, and the order of batches."""

    embedding: int
    network: int
    data: int
    order: int

    def stream(self, purpose: str, *number: int) -> np.random.Generator:
        """Return the generator of a purpose: ``embedding``, ``network``, ``data`` or ``order``.

        Interventions draw from a stream of the embedding seed, because they belong to the initial
        embedding. Each ``number``, such as that of an epoch, gives a stream of its own.

        Draws are float64 on the CPU; callers cast and move them, so that a run does not depend on
        the device, the precision or the other runs in its block.
        """
        seed = self.embedding if purpose == "intervention" else getattr(self, purpose)
        sequence = np.random.SeedSequence(seed, spawn_key=(_KEYS[purpose], *number))
        return np.random.Generator(np.random.PCG64(sequence))

    def order_words(self) -> np.ndarray:
        """Return the seed of the streams of orders as SeedSequence hashes it, (words,) uint32.

        The number of an epoch follows. NumPy pads a seed with zeros to four words before that.
        """
        size = max(16, 4 * -(-self.order.bit_length() // 32))  # bytes
        words = np.frombuffer(self.order.to_bytes(size, "little"), "<u4")
        return np.append(words, np.uint32(_KEYS["order"]))
