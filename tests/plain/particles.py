"""The particles, one run at a time."""

import itertools
from typing import Any

import torch

from circlet.collections.musat.equations import particles as equations
from circlet.study.seeds import Seeds


class Particles:
    """Mușat, section 6: the particles of one run, all couples of pairs at once."""

    def __init__(self, parameters: dict[str, Any], seeds: Seeds, dtype: torch.dtype):
        self.parameters, p = parameters, parameters["p"]
        start = equations.initial(parameters, seeds)["embedding"]
        self.positions = torch.as_tensor(start, dtype=dtype)
        pairs = torch.tensor(list(itertools.combinations_with_replacement(range(p), 2)))
        self.first, self.second = pairs.T
        classes = pairs.sum(1) % p
        same = classes[:, None] == classes
        self.other = ~same
        self.same = same & ~torch.eye(len(pairs), dtype=torch.bool)
        self.weight = self.same.sum().item() / self.other.sum().item()

    def step(self, number: int) -> None:
        """Move the particles along their forces, then centre and scale."""
        x, strength = self.positions, self.parameters
        sums = x[self.first] + x[self.second]
        across = sums[None, :] - sums[:, None]  # x_Q - x_P
        distance = across.norm(dim=2, keepdim=True)
        along = torch.nan_to_num(across / distance)
        closer = torch.nan_to_num(along / distance)
        heading = torch.nan_to_num(sums / sums.norm(dim=1, keepdim=True))
        facing = (sums @ sums.T > 0)[..., None] * heading[None, :]
        pull = strength["g_a"] * along + strength["f_a"] * facing
        push = self.weight * (-strength["g_r"] * closer - strength["f_a"] * facing)
        force = (self.same[..., None] * pull + self.other[..., None] * push).sum(1)
        total = torch.zeros_like(x).index_add(0, self.first, force)
        total = total.index_add(0, self.second, force)
        x = x + strength["step_size"] * total
        x = x - x.mean(0)
        scale = (
            x.std(0, correction=0)
            if strength["scaling"] == "per_coordinate"
            else x.std(correction=0)
        )
        self.positions = x * strength["std"] / scale


one = Particles
