"""How many seeds a block has, and where blocks begin."""

import math
from typing import Any

from circlet.systems.spec import SystemSpec

SIZES = (50, 20, 10, 5, 2, 1)  # seeds per block, if the config does not say


def balanced_group_size(count: int, most: int) -> int:
    """Size of groups of at most ``most``, as few and as alike as ``count`` allows."""
    return math.ceil(count / math.ceil(count / most))


def default_size(system: SystemSpec, parameters: dict[str, Any]) -> int:
    """Most seeds of a block, if the config does not say.

    Fifty runs if ten thousand steps of them take less than a minute; otherwise the largest of
    the other ``SIZES`` for which they take less than ten minutes. This depends only on the
    parameters, so no other edit changes a block. Systems whose cost is measured have twenty.
    """
    if not system.flops_per_step:
        return SIZES[1]
    seconds = 1e4 * system.flops_per_step(**parameters) / system.flops_per_second
    if SIZES[0] * seconds <= 60:
        return SIZES[0]
    return next((size for size in SIZES[1:] if size * seconds <= 600), 1)


def first_seeds(seeds: range, size: int, is_given: bool) -> list[int]:
    """The first seeds of the blocks of some seeds.

    Without ``block`` in the config they are the first of all seeds and the multiples of the size;
    with fifty also 20. So adding seeds changes at most the last block, and only if it ends
    elsewhere.
    """
    first = seeds.start if is_given else seeds.start // size * size + size
    starts = {seeds.start, *range(first, seeds.stop, size)}
    if size == SIZES[0] and not is_given and SIZES[1] in seeds:
        starts.add(SIZES[1])
    return sorted(starts)
