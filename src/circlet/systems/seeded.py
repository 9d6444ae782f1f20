"""PyTorch's random numbers from a run's seeds."""

import contextlib
from collections.abc import Iterator

import torch

from circlet.study.seeds import Seeds


@contextlib.contextmanager
def seeded(seeds: Seeds, purpose: str) -> Iterator[None]:
    """Context: PyTorch's generator follows the stream of a purpose, and draws float64."""
    usual = torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(seeds.stream(purpose).integers(2**63)))
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(usual)
