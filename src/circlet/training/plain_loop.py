"""A plain PyTorch loop of a user's network, with which `circlet.training.verify` compares."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from circlet.errors import CircletError, lacks_memory
from circlet.study import registry
from circlet.study.points import Point
from circlet.study.registry import path_of, place_in_user_code
from circlet.systems import trees
from circlet.systems.trees import Tree
from circlet.training import autograd, purity
from circlet.training.changes import Changes
from circlet.training.group import Arrays, multipliers
from circlet.training.optimizers import BETAS, EPS
from circlet.training.run import initials

Values = dict[str, Tensor]
"""Weights of a run after some steps, and its metrics, by name."""


@dataclass
class PlainLoop:
    """Training of a point's runs one by one, with autograd and the functions of ``torch.optim``.

    The author's modules are imported anew for every call, so that they hold nothing that they drew
    or counted before. Weights start from ``start``, with a little noise if requested.
    """

    point: Point
    parents: dict[int, Arrays]
    device: torch.device
    dtype: torch.dtype
    usual: bool  # whether the dtype is that of the experiment
    is_pure: bool = False  # whether it has been checked that calls leave nothing behind

    @property
    def path(self) -> Any:
        """The file of the author's functions."""
        return path_of(self.point.system.equations)

    def ends(self, seed: int, start: Arrays, noise: float = 0.0) -> Values:
        """Return the weights after the steps of the point, and the metrics at these weights.

        Raises CircletError if the network does not follow the seeds, or if functions are not pure.
        """
        try:
            with registry.imported_anew(self.point.system.equations), torch.enable_grad():
                return self._train(seed, start, noise)
        except (RuntimeError, TypeError) as error:
            if not self.usual or lacks_memory(error):
                raise
            line = " ".join(str(error).split())
            raise CircletError(
                f"{place_in_user_code(error) or self.path}: a plain PyTorch loop cannot train this "
                f"network: {line}"
            ) from error

    def _module(self, equations: Any, seed: int, start: Arrays, noise: float) -> tuple[Any, Values]:
        """Return the author's network with some weights, or only these, and the weights by name."""
        if not equations.has_network:
            weights = {
                k: torch.empty(v.shape, dtype=self.dtype, device=self.device).requires_grad_()
                for k, v in start.items()
            }
            self._set(weights, start, noise)
            return weights, weights
        network = equations.network(self.point.parameters, self.point.seeds(seed))
        network = trees.cast(network, self.dtype).to(self.device)
        by_name = {equations.logged(name): v for name, v in network.named_parameters()}
        self._set(by_name, start, noise)
        return network, by_name

    @staticmethod
    def _set(weights: Values, start: Arrays, noise: float) -> None:
        """Set weights to their start, with some noise."""
        random = np.random.default_rng(0)
        for name, values in start.items():
            noisy = values * (1 + noise * random.standard_normal(values.shape))
            weights[name].data.copy_(torch.as_tensor(noisy))

    def _parts(self, equations: Any, seed: int) -> dict[str, Tree]:
        parts = equations.examples(self.point.parameters, self.point.seeds(seed))
        return trees.mapped(lambda v: v.to(self.device), trees.typed(parts, self.dtype))

    def _batch(self, train: Tree, seed: int, step: int) -> Tree:
        """Return the examples of a step, counted from 1."""
        n = len(trees.tensors(train)[0])
        size = min(self.point.parameters.get("batch_size") or n, n)
        if size == n:
            return trees.copied(train)
        epoch, place = divmod(step - 1, math.ceil(n / size))
        order = self.point.seeds(seed).stream("order", epoch).permutation(n)
        rows = torch.as_tensor(order[place * size : (place + 1) * size])
        return trees.mapped(lambda values: values[rows.to(values.device)], train)

    def _train(self, seed: int, start: Arrays, noise: float) -> Values:
        point: Point = self.point
        equations: Any = autograd.equations(point.system)
        for name, values in initials(point, [seed], self.parents)[0].items():
            if not np.array_equal(values, start[name], equal_nan=True):
                raise CircletError(
                    f"{self.path}: network() does not follow the seeds: without other runs before "
                    f"it, seed {seed} has other {name}; draw with PyTorch or from seeds.stream(), "
                    "and keep nothing that is drawn"
                )
        parts = self._parts(equations, seed)
        network, weights = self._module(equations, seed, start, noise)
        trained = weights
        if equations.has_network:  # an author's parameters() may leave some out
            chosen = {id(values) for values in network.parameters()}
            trained = {k: values for k, values in weights.items() if id(values) in chosen}
        optimiser = _Optimiser(trained, point, equations)
        for step in range(1, point.steps + 1):
            batch = self._batch(parts["train"], seed, step)
            optimiser.step(equations.module.loss(network, batch), step)
        ended = {name: values.detach().clone() for name, values in weights.items()}
        with torch.no_grad():
            metrics = equations.measured(network, parts)
        if not self.is_pure:
            self.is_pure = True
            purity.check(equations, network, parts, point.parameters, point.seeds(seed))
        return ended | {f"metric {k}": v for k, v in metrics.items()}


class _Optimiser:
    """The functions of ``torch.optim``, whose classes would import torch's compiler."""

    def __init__(self, weights: Values, point: Point, equations: Any):
        self.weights, self.parameters = weights, point.parameters
        self.changes, self.norm = Changes(point), math.nan
        self.rates, self.decays = multipliers(point, equations)
        self.moments = {
            name: [torch.zeros_like(w), torch.zeros_like(w), torch.tensor(0.0)]
            for name, w in weights.items()
        }
        self.velocities: dict[str, list[Tensor | None]] = {name: [None] for name in weights}

    def step(self, loss: Tensor, number: int) -> None:
        """Take a step along the gradient; a weight without a gradient does not change."""
        parameters, clamp = self.parameters | self.changes.settings(number), self.changes.clamp
        for values in self.weights.values():
            values.grad = None
        loss.backward()
        with torch.no_grad():
            moved = {
                name: values
                for name, values in self.weights.items()
                if values.grad is not None and self.rates.get(name, 1)
            }
            if clamp and number == clamp["step"] + 1:
                self.norm = clamp["factor"] * _norm(moved)
            for name, values in moved.items():
                self._move(name, values, parameters)
            if clamp and number > clamp["step"]:
                shrink = self.norm / _norm(moved)
                for values in moved.values():
                    values.mul_(shrink)

    def _move(self, name: str, values: Tensor, parameters: dict[str, Any]) -> None:
        assert values.grad is not None
        kind = parameters.get("optimizer", "adamw")
        usual = {
            "lr": self.rates.get(name, 1) * parameters["learning_rate"],
            "weight_decay": self.decays.get(name, 1) * parameters.get("weight_decay", 0.0),
        }
        usual |= {"maximize": False, "foreach": False}
        if kind == "sgd":
            momentum = parameters.get("momentum", 0.0)
            sgd([values], [values.grad], self.velocities[name],
                momentum=momentum, dampening=0, nesterov=False, **usual)  # fmt: skip
            return
        mean, square, count = self.moments[name]
        function = {"adam": adam, "adamw": adamw}[kind]
        function([values], [values.grad], [mean], [square], [], [count],
                 beta1=BETAS[0], beta2=BETAS[1], eps=EPS, amsgrad=False, **usual)  # fmt: skip


def _norm(weights: Values) -> float:
    return math.sqrt(sum(values.double().square().sum().item() for values in weights.values()))
