"""Check that circlet trains a user's network as a plain PyTorch loop trains it.

circlet calls one network with the weights of many runs (`circlet.training.autograd`). Hooks on
weights, weights that are held twice, and attributes that change may then have another effect, or
none. `verify` trains a few runs for a few steps in both ways, and refuses a network whose weights
differ by more than rounding.
"""

import copy
import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from msgspec import structs

from circlet.config.experiment import Logs, Schedule
from circlet.errors import CircletError
from circlet.study.points import Point
from circlet.study.registry import path_of
from circlet.training import autograd, rounding
from circlet.training.group import Arrays
from circlet.training.plain_loop import PlainLoop, Values
from circlet.training.rounding import CLOSE, Shares
from circlet.training.run import group_size, initials, run_group

MIN_STEPS, MAX_STEPS = 4, 8  # steps; a CUDA graph is replayed from the fourth step on
SHARE = 0.05  # of the steps of all runs of a block

_CAUSES = (
    "common causes are weights that are also kept in a list or a closure, attributes that differ "
    "between seeds (use self.register_buffer), hooks on gradients, variables that calls change, "
    "one module for several seeds, and code that asks for w.requires_grad, nn.Parameter or "
    "torch.is_grad_enabled()"
)


def steps_of(point: Point, count: int) -> int:
    """Return the steps of a trial of ``count`` runs: 5 % of the work of training, within bounds.

    Each of at most three runs takes each step three times.
    """
    share = SHARE * count * point.steps / (3 * min(3, count))
    return min(point.steps, max(MIN_STEPS, min(MAX_STEPS, int(share))))


@torch.no_grad()
def verify(
    point: Point,
    seeds: Sequence[int],
    device: torch.device,
    parents: dict[int, Arrays] | None = None,
    steps: int = 0,
) -> float:
    """Compare the first, the middle and the last of some runs with a plain loop.

    Returns the largest difference of a weight or metric. Raises CircletError if it is more than
    rounding, or if numbers depend on when a run is logged or interrupted. The numbers are float64,
    unless the author's code needs the dtype of the experiment. A system without a ``loss`` is not
    checked.
    """
    if not isinstance(autograd.equations(point.system), autograd.FromLoss):
        return 0.0
    steps = steps or steps_of(point, len(seeds))
    tried = dict.fromkeys((seeds[0], seeds[len(seeds) // 2], seeds[-1]))
    # Both ways in which circlet trains: two runs in one stack, and one alone.
    size = 1 if group_size(point, len(seeds), device) == 1 else 2
    for dtype in ("float64", "float32"):
        trial = _Trial(point, [*tried], device, parents or {}, steps, dtype)
        try:
            return trial.compare(size)
        except CircletError:
            raise
        except Exception:  # any error of the author's code with another dtype
            if dtype == point.settings.dtype:
                raise
    raise AssertionError  # these are all types


class _Trial:
    """A few runs of a point, for a few steps."""

    def __init__(
        self,
        point: Point,
        seeds: Sequence[int],
        device: torch.device,
        parents: dict[int, Arrays],
        steps: int,
        dtype: str,
    ):
        settings = structs.replace(point.settings, steps=steps, dtype=dtype, keep_state=True)
        self.point = replace(point, settings=settings)
        self.device, self.dtype, self.parents = device, getattr(torch, dtype), parents
        self.equations: Any = autograd.equations(point.system)
        usual = point.settings.dtype == dtype
        self.plain = PlainLoop(self.point, parents, device, self.dtype, usual)
        self.path = path_of(point.system.equations)
        self.starts = {seed: initials(self.point, [seed], parents)[0] for seed in seeds}

    def compare(self, size: int) -> float:
        """Return the largest difference between both ways to train, in groups of ``size`` runs.

        Raises CircletError.
        """
        seeds = [
            seed
            for seed, start in self.starts.items()  # its parent may have diverged
            if not self.point.parent or all(np.isfinite(values).all() for values in start.values())
        ]
        groups = [seeds[i : i + size] for i in range(0, len(seeds), size)]
        if hasattr(self.equations.module, "gradients") and self.dtype == torch.float64:
            self._check_last_batch([group[0] for group in groups])
        steps, half = self.point.steps, self.point.steps // 2
        logged: dict[int, Values] = {}
        for group in groups:
            logged |= self._trained(group, Schedule(at=(half,)))
        plain = self._ends(logged)
        gaps = self._differences(logged, plain)
        unlogged = self._interrupted(groups[0], half) if groups else {}
        gaps |= {k: max(v, gaps[k]) for k, v in self._differences(unlogged, plain).items()}
        (seed, name), worst = max(gaps.items(), key=lambda item: item[1], default=((0, ""), 0.0))
        if worst > CLOSE and (
            beyond := rounding.beyond(gaps, plain, self._ends, self._differences, self.path)
        ):
            (seed, name), worst = beyond
            causes = _CAUSES
            if hasattr(self.equations.module, "gradients"):
                causes = "gradients() must be those of loss()"
            raise CircletError(
                f"{self.path}: this network does not train as in a plain PyTorch loop: after "
                f"{steps} steps {name} of seed {seed} differs by {100 * worst:.2g} % of its "
                f"change; {causes}"
            )
        return worst

    def _check_last_batch(self, seeds: list[int]) -> None:
        """Compare gradients() with autograd's in the last batch of an epoch, which may be small."""
        for seed in seeds:
            data = self.equations.data(
                self.point.parameters, [self.point.seeds(seed)], self.dtype, self.device
            )
            n = autograd.count(data.parts["train"])
            size = min(self.point.parameters.get("batch_size") or n, n)
            batch = self.equations.batch(data, math.ceil(n / size))
            weights = {
                name: torch.as_tensor(values).to(self.device, self.dtype)[None]
                for name, values in self.starts[seed].items()
            }
            written, expected = ({k: torch.zeros_like(v) for k, v in weights.items()} for _ in "12")
            self.equations.gradients(weights, batch, written)
            self.equations.autograd(weights, batch, expected)
            for name, values in expected.items():
                scale = values.norm() + 1e-3
                if not (written[name] - values).norm() < CLOSE * scale:
                    raise CircletError(
                        f"{self.path}: gradients() must be those of loss(): in the last batch of "
                        f"an epoch that of {name} differs"
                    )

    def _point(self, schedule: Schedule | None) -> Point:
        """Return the point with all its logs at some steps, or without logs."""
        schedules = {
            kind: schedule if usual or kind == "curves" else None
            for kind, usual in self.point.schedules.items()
        }
        settings = structs.replace(self.point.settings, log=Logs(**schedules))
        return replace(self.point, settings=settings)

    def _trained(self, seeds: list[int], schedule: Schedule) -> dict[int, Values]:
        """Train runs that log their first, last and some other steps."""
        *_, group = run_group(self._point(schedule), seeds, self.device, self.parents)
        metrics = group.recorder.last("curves")
        measured = {f"metric {k}": torch.from_numpy(v) for k, v in metrics.items()}
        return _by_seed(seeds, group.stack.arrays | measured)

    def _interrupted(self, seeds: list[int], half: int) -> dict[int, Values]:
        """Train runs that log nothing, and resume from a checkpoint half-way."""
        point, saved = self._point(None), None
        for group in run_group(point, seeds, self.device, self.parents):
            if group.done == half:
                saved = copy.deepcopy(group.state())
                break
        *_, group = run_group(point, seeds, self.device, self.parents, saved)
        return _by_seed(seeds, group.stack.arrays)

    def _ends(self, seeds: Collection[int], noise: float = 0.0) -> dict[int, Values]:
        return {seed: self.plain.ends(seed, self.starts[seed], noise) for seed in seeds}

    def _differences(self, trained: dict[int, Values], plain: dict[int, Values]) -> Shares:
        """Return the norm of each difference, divided by how far the weights moved plus a step.

        Differences of metrics are relative, absolute if they are below 1. Numbers that are finite
        in neither count as equal.
        """
        rate = self.point.parameters["learning_rate"]
        differences: Shares = {}
        for seed, values in trained.items():
            for name, value in values.items():
                expected = plain[seed][name].to(value)
                both = value.isfinite() | expected.isfinite()
                difference = torch.where(both, value - expected, 0).norm()
                if name in self.starts[seed]:
                    start = torch.as_tensor(self.starts[seed][name]).to(expected)
                    scale = (expected - start).norm() + rate * math.sqrt(expected.numel())
                else:
                    scale = 1 + expected.abs()
                share = (difference / scale.nan_to_num()).item() if difference != 0 else 0.0
                differences[seed, name] = share if math.isfinite(share) else math.inf
        return differences


def _by_seed(seeds: list[int], arrays: Values) -> dict[int, Values]:
    return {
        seed: {name: values[i] for name, values in arrays.items()} for i, seed in enumerate(seeds)
    }
