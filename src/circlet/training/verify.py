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
from torch import Tensor

from circlet.config.experiment import Logs, Schedule
from circlet.errors import CircletError, lacks_memory
from circlet.study.points import Point
from circlet.study.registry import path_of
from circlet.systems import trees
from circlet.systems.trees import Tree
from circlet.training import autograd, rounding
from circlet.training.group import Arrays
from circlet.training.plain_loop import PlainLoop, Values
from circlet.training.rounding import CLOSE, Shares
from circlet.training.run import RunGroup, group_size, initials, run_group

FEWEST, MOST = 4, 8  # steps; a CUDA graph is replayed from the fourth step on
SHARE = 0.05  # of the steps of all runs of a block
SHARE_AT_END = 1e-3  # runs compared at the end for each step of each run: about 3 % of the time
MOST_AT_END, TOGETHER = 32, 8  # runs compared on a GPU, at most; and runs compared at once

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
    return min(point.steps, max(FEWEST, min(MOST, int(share))))


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


@torch.no_grad()
def verify_end(
    group: RunGroup, ends: Collection[int], parents: dict[int, Arrays] | None = None
) -> None:
    """Compare runs of a trained group with fresh networks.

    At its first weights, and near its last ones, a run must have the same gradient and metrics in
    both networks, after a call with its last weights. They differ if the network, or a module of
    its collection, has stored something that matters, or acts late in training in another way than
    in a plain loop. Seeds in ``ends`` are compared at both weights, others near their last weights
    only: all of them if the runs have at least 1000 steps, fewer otherwise, and on a GPU at most
    32. Raises CircletError.
    """
    if not isinstance(autograd.equations(group.point.system), autograd.FromLoss):
        return
    seeds, finite = list(group.seeds), group.stack.finite().tolist()
    device = next(iter(group.stack.tensors.values())).device
    most = MOST_AT_END if device.type == "cuda" else len(seeds)
    count = min(most, int(SHARE_AT_END * len(seeds) * group.point.steps))
    also = np.linspace(0, len(seeds) - 1, count, dtype=int)
    places = [i for i, seed in enumerate(seeds) if finite[i] and (seed in ends or i in also)]
    for first in range(0, len(places), TOGETHER):
        _compare_end(group, places[first : first + TOGETHER], ends, parents or {}, device)


def _compare_end(
    group: RunGroup,
    places: list[int],
    ends: Collection[int],
    parents: dict[int, Arrays],
    device: torch.device,
) -> None:
    """Compare the runs at some places of the group, as `verify_end` describes."""
    last = {
        group.seeds[i]: {k: values[i].cpu().numpy() for k, values in group.stack.arrays.items()}
        for i in places
    }
    for dtype in ("float64", "float32"):
        trial = _Trial(group.point, list(last), device, parents, 1, dtype)
        try:
            data = _of_runs(group.data, places, trial.dtype)
            trial.compare_ends(last, data, group.point.steps, ends)
            return
        except CircletError:
            raise
        except Exception as error:  # any error of the author's code with another dtype
            if lacks_memory(error):
                raise
            if dtype == group.point.settings.dtype:
                line = " ".join(str(error).split())[:200]
                raise CircletError(
                    f"{trial.path}: after {group.point.steps} steps the network that was trained "
                    f"cannot be called for other runs: loss() or metrics() keep what no checkpoint "
                    f"has ({line})"
                ) from error


def _of_runs(data: Any, places: list[int], dtype: torch.dtype) -> Any:
    """Return the data of some runs of a group, with the network that the group has trained."""

    def own(tree: Tree) -> Tree:
        return trees.typed(trees.mapped(lambda values: values[places], tree), dtype)

    return replace(
        data,
        parts=own(data.parts),
        buffers=own(data.buffers),
        network=data.network and trees.cast(data.network, dtype),
        seeds=[data.seeds[i] for i in places],
        orders={},
    )


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
        if hasattr(self.equations.own, "gradients") and self.dtype == torch.float64:
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
            if hasattr(self.equations.own, "gradients"):
                causes = "gradients() must be those of loss()"
            raise CircletError(
                f"{self.path}: this network does not train as in a plain PyTorch loop: after "
                f"{steps} steps {name} of seed {seed} differs by {100 * worst:.2g} % of its "
                f"change; {causes}"
            )
        return worst

    def compare_ends(
        self, last: dict[int, Arrays], data: autograd.Examples, steps: int, ends: Collection[int]
    ) -> None:
        """Compare gradients and metrics as `verify_end` describes; raises CircletError."""
        near = {
            seed: {name: 0.99 * values for name, values in arrays.items()}
            for seed, arrays in last.items()
        }
        stacked = {
            of: {
                name: torch.as_tensor(np.stack([starts[seed][name] for seed in last]))
                for name in next(iter(last.values()))
            }
            for of, starts in (("first", self.starts), ("last", last), ("near", near))
        }
        n = autograd.count(data.parts["train"])
        per_epoch = math.ceil(n / min(self.point.parameters.get("batch_size") or n, n))
        step = max(per_epoch, steps - steps % per_epoch)  # the last batch of an epoch may be small
        batch = self.equations.batch(data, step)
        # State that a call with the last weights leaves must not matter.
        for of in ("first", "near"):
            tried = [seed for seed in last if of == "near" or seed in ends]
            if not tried:
                continue
            for end in ("last", of):
                weights = {k: v.to(self.device, self.dtype) for k, v in stacked[end].items()}
                gradient = {name: torch.zeros_like(values) for name, values in weights.items()}
                self.equations.gradients(weights, batch, gradient)
            measured = self.equations.metrics(weights, data)
            ours = _by_seed(list(last), gradient | {f"metric {k}": v for k, v in measured.items()})

            def fresh(
                seeds: Collection[int], noise: float = 0.0, of: str = of
            ) -> dict[int, Values]:
                weights = [self.starts] if of == "first" else [last, near]
                groups = [[seed] for seed in seeds if seed in ends]  # with newly imported modules
                groups.append([seed for seed in seeds if seed not in ends])
                parts = (
                    self.plain.gradients(group, weights, step, noise) for group in groups if group
                )
                return {seed: values for part in parts for seed, values in part.items()}

            plain = fresh(tried)
            shares = rounding.relative(ours, plain)
            if max(shares.values()) > CLOSE and (
                beyond := rounding.beyond(shares, plain, fresh, rounding.relative, self.path)
            ):
                (seed, name), worst = beyond
                what = name if rounding.is_metric(name) else f"the gradient of {name}"
                words = {"first": "its first", "near": "nearly its last"}[of]
                raise CircletError(
                    f"{self.path}: after {steps} steps {what} of seed {seed} is not that of a "
                    f"fresh network with {words} weights ({100 * worst:.2g} % apart): what loss() "
                    "or metrics() keep, a condition on it, or weights that are also kept in a list "
                    "or a closure have changed it, and no checkpoint has it"
                )

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
        """Return each array's difference, divided by how far it moved plus a step of the optimiser.

        Differences of metrics are relative, absolute if they are below 1.
        """
        rate = self.point.parameters["learning_rate"]

        def scale(seed: int, name: str, expected: Tensor) -> Tensor:
            if name not in self.starts[seed]:
                return 1 + expected.abs()
            start = torch.as_tensor(self.starts[seed][name]).to(expected)
            return (expected - start).norm() + rate * math.sqrt(expected.numel())

        return rounding.shares(trained, plain, scale)


def _by_seed(seeds: list[int], arrays: Values) -> dict[int, Values]:
    return {
        seed: {name: values[i] for name, values in arrays.items()} for i, seed in enumerate(seeds)
    }
