"""Sizes of blocks, and the seeds at which they begin."""

import math
from typing import Any

from circlet.systems.spec import SystemSpec

SIZES = (50, 20, 10, 5, 2, 1)  # seeds per block, if the config does not say


def balanced_group_size(count: int, most: int) -> int:
    """Return the size of the fewest, nearly equal groups of at most ``most`` out of ``count``."""
    return math.ceil(count / math.ceil(count / most))


def default_size(system: SystemSpec, parameters: dict[str, Any]) -> int:
    """Return the largest number of seeds of a block, if the config does not set it.

    The number is fifty if ten thousand steps of fifty runs take at most a minute; otherwise the
    largest of the other ``SIZES`` for which they take at most ten minutes. It depends only on the
    parameters and on what the system declares, so no other edit changes a block. For systems whose
    cost is measured it is twenty.
    """
    if not system.flops_per_step:
        return SIZES[1]
    seconds = 1e4 * system.flops_per_step(**parameters) / system.flops_per_second
    if SIZES[0] * seconds <= 60:
        return SIZES[0]
    return next((size for size in SIZES[1:] if size * seconds <= 600), 1)


def first_seeds(seeds: range, size: int, is_given: bool) -> list[int]:
    """Return the first seed of each block of a range of seeds.

    Without ``block`` in the config these are the first of all seeds and the multiples of the size;
    for blocks of fifty also seed 20. So adding seeds changes at most the last block, and only if
    its last seed changes.
    """
    first = seeds.start if is_given else seeds.start // size * size + size
    starts = {seeds.start, *range(first, seeds.stop, size)}
    if size == SIZES[0] and not is_given and SIZES[1] in seeds:
        starts.add(SIZES[1])
    return sorted(starts)
