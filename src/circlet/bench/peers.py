"""The same training in JAX on one core: as a user would write it, and as circlet formulates it.

``written`` is a network on examples, its mean cross-entropy and ``jax.grad``. ``formulated`` has
what makes circlet fast: arrays with the examples last, the first layer on p numbers in place of
pairs, tables of (token, position), and the residual of `circlet.systems.loss` pulled back by
``jax.vjp``. Both are ``jit(vmap(scan))`` with AdamW. A collection has the networks of its
systems in ``peers/NAME.py``, as ``PEER``. Weights, examples and orders of a run come from
circlet's NumPy starts, so that all train the same networks.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from circlet.bench import training
from circlet.errors import CircletError
from circlet.lazy_import import load
from circlet.native import starts
from circlet.study import registry
from circlet.study.points import Point
from circlet.systems.matmul import matmul
from circlet.training.run import run_group

# One thread, on the CPU; before JAX is imported.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false"

import jax
from jax import numpy as jnp

Arrays = dict[str, Any]
"""Arrays of one run by name; of a group they have the runs as their first axis."""

TOLERANCE = 1e-4
"""Largest relative difference of losses after `CHECKED` steps.

float32 rounds to 6e-8. AdamW divides a gradient by its size, so that a value whose gradient is near
zero moves by the rounding of a sum over all examples, and training amplifies that.
"""
CHECKED = 64  # steps
SIZE = 1024  # side of the square matrices of `products`
WAYS = ("jax_written", "jax_formulated")


@dataclass(frozen=True)
class Peer:
    """A system in JAX."""

    examples: Callable[[Arrays, Any, Any], Arrays]
    """NumPy arrays of the train set of one run, from parameters, starts and seeds."""
    written: Callable[[Arrays, Arrays], Any]
    """Logits (examples, classes), from the weights and examples of one run."""
    formulated: Callable[[Arrays, Arrays], Any]
    """Logits (classes, examples)."""
    groups: tuple[int, ...]  # numbers of runs to try
    steps: int  # steps of a call
    is_products: bool = True  # whether nearly all operations of a step are products of matrices


def rows(weights: Arrays, layer: str, x: Any) -> Any:
    """Apply a linear layer to x (examples, inputs)."""
    return x @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"][:, 0]


def columns(weights: Arrays, layer: str, x: Any) -> Any:
    """Apply a linear layer to x (inputs, examples)."""
    return weights[f"{layer}.weight"] @ x + weights[f"{layer}.bias"]


def pair_examples(parameters: Arrays, starts_module: Any, seeds: Any) -> Arrays:
    """Return train pairs (examples, 2), their incidence of numbers (p, examples), and sums."""
    p = parameters["p"]
    pairs = starts_module.pairs(p)[starts_module.train_mask(parameters, seeds)]
    incidence = np.eye(p, dtype=np.float32)[pairs].sum(1).T
    return {"pairs": pairs, "incidence": incidence, "target": pairs.sum(1) % p}


def systems() -> dict[str, str]:
    """Return the modules with the JAX code of circlet's systems, by system."""
    return {name: m for c in registry.SHIPPED for name, m in c.modules("peers").items()}


def of(system: str) -> Peer:
    """Return a system in JAX."""
    peer: Peer = load(systems()[system]).PEER
    return peer


def cross_entropy(logits: Any, target: Any) -> Any:
    """Return the mean cross-entropy (nat) of logits (examples, classes)."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), target[:, None], 1).mean()


def residual(logits: Any, target: Any) -> Any:
    """Return the gradient of the mean cross-entropy by logits (classes, examples).

    As in `circlet.systems.loss.logit_gradient`: for the right class, minus the sum of others.
    """
    right = jnp.arange(len(logits))[:, None] == target
    others = jnp.where(right, 0, jax.nn.softmax(logits, axis=0)) / len(target)
    return jnp.where(right, -others.sum(0), others)


def gradient(peer: Peer, way: str) -> Callable[[Arrays, Arrays], Arrays]:
    """Return a function that maps weights and examples to the gradient by the weights."""
    if way == "jax_written":
        return jax.grad(lambda w, e: cross_entropy(peer.written(w, e), e["target"]))

    def pulled_back(weights: Arrays, examples: Arrays) -> Arrays:
        logits, back = jax.vjp(lambda w: peer.formulated(w, examples), weights)
        return back(residual(logits, examples["target"]))[0]

    return pulled_back


def adamw(state: Any, change: Arrays, rate: float, decay: float) -> Any:
    """Take a step of AdamW (Loshchilov and Hutter 2019) on (weights, first, second moments, step).

    1 - 0.999^n is computed by expm1, because the difference cancels.
    """
    weights, means, squares, number = state
    number = number + 1
    means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, change)
    squares = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, squares, change)
    first, second = (-jnp.expm1(number * np.log(beta)) for beta in (0.9, 0.999))

    def moved(w: Any, m: Any, s: Any) -> Any:
        return w * (1 - rate * decay) - rate / first * m / (jnp.sqrt(s / second) + 1e-8)

    return jax.tree.map(moved, weights, means, squares), means, squares, number


class Group:
    """Runs of a system that JAX trains together, with seeds from 0."""

    def __init__(self, point: Point, runs: int, way: str):
        module: Any = starts(point.system.equations)
        self.seeds = [point.seeds(seed) for seed in range(runs)]
        self.peer, self.parameters, self.done = of(point.system.name), point.parameters, 0
        parameters = point.parameters
        weights = _stacked([module.initial(parameters, seeds) for seeds in self.seeds], np.float32)
        zeros = jax.tree.map(jnp.zeros_like, weights)
        self.state: Any = (weights, zeros, jax.tree.map(jnp.copy, zeros), jnp.zeros(runs))
        self.examples = _stacked([self.peer.examples(parameters, module, s) for s in self.seeds])
        step = gradient(self.peer, way)
        rate, decay = parameters["learning_rate"], parameters["weight_decay"]

        def train(state: Any, examples: Arrays, orders: Any) -> Any:
            def advance(state: Any, order: Any) -> Any:
                batch = examples if order is None else {k: a[order] for k, a in examples.items()}
                return adamw(state, step(state[0], batch), rate, decay), None

            return jax.lax.scan(advance, state, orders, length=self.peer.steps)[0]

        self.train = jax.jit(jax.vmap(train), donate_argnums=0)

    def advance(self) -> int:
        """Take the steps of a call; with batches, these are an epoch in a newly drawn order.

        Returns the steps taken, counted for each run.
        """
        orders = None
        if size := self.parameters.get("batch_size"):
            number, n = self.done // self.peer.steps, self.parameters["n_train"]
            drawn = [seeds.stream("order", number).permutation(n) for seeds in self.seeds]
            orders = np.stack(drawn).reshape(len(drawn), -1, size)
        self.state = jax.block_until_ready(self.train(self.state, self.examples, orders))
        self.done += self.peer.steps
        return len(self.seeds) * self.peer.steps

    def losses(self) -> np.ndarray:
        """Return the mean cross-entropy (nat) of every run on its train set, (runs,)."""
        losses_of_runs = jax.vmap(lambda w, e: cross_entropy(self.peer.written(w, e), e["target"]))
        return np.asarray(losses_of_runs(self.state[0], self.examples))


def _stacked(runs: list[Arrays], dtype: Any = None) -> Arrays:
    return {name: jnp.asarray(np.stack([run[name] for run in runs]), dtype) for name in runs[0]}


def difference(system: str, way: str, runs: int = 2) -> float:
    """Return the largest relative difference of the losses of JAX and PyTorch after 64 steps."""
    point = training.point(system, runs)
    group = Group(point, runs, way)
    while group.done < CHECKED:
        group.advance()
    trained = run_group(point, list(range(runs)), training.CPU)
    losses = next(g.metrics()["train_loss"] for g in trained if g.done == CHECKED)
    return float(np.max(np.abs(group.losses() / losses.numpy() - 1)))


def products(flops: float) -> training.Act:
    """Return a function that multiplies large matrices; ``flops`` operations count as a step."""
    a = torch.randn(1, SIZE, SIZE)

    def act() -> float:
        matmul(a, a)
        return 2 * SIZE**3 / flops

    return act


def measure(system: str) -> dict[str, Any]:
    """Return the times of a system (see `training.measure`) on one core, without logs, with JAX's.

    ``products`` is the time of as many operations in products of large matrices, which no kernel
    can beat. ``differences`` is how far JAX's losses are from circlet's; raises CircletError if
    they are not equal.
    """
    names = WAYS if system in systems() else ()
    apart = {name: difference(system, name) for name in names}
    if max(apart.values(), default=0.0) > TOLERANCE:
        raise CircletError(f"bench: losses of {system} in JAX differ from circlet's: {apart}")
    ways: dict[training.Way, training.Act] = {
        (name, runs): Group(training.point(system, runs, logs=False), runs, name).advance
        for name in names
        for runs in of(system).groups
    }
    point = training.point(system, 1)
    if names and of(system).is_products and (flops := point.system.flops_per_step):
        ways["products", 1] = products(flops(**point.parameters))
    times = training.measure(system, training.ways(system, logs=False) | ways)
    return times | {"differences": apart}
