"""The same training in JAX on one core: as a user would write it, and as circlet formulates it.

``written`` is a network on examples, its mean cross-entropy and ``jax.grad``. ``formulated`` has
what makes circlet fast: arrays with the examples last, the first layer on p numbers in place of
pairs, tables of (token, position), and the residual of `circlet.systems.loss` pulled back by
``jax.vjp``. Both are ``jit(vmap(scan))`` with AdamW. A collection has the networks of its
systems in ``peers/NAME.py``, as ``PEER``. Weights, examples and orders of a run come from
circlet's NumPy starts, so that all train the same networks.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from circlet.bench import training
from circlet.errors import CircletError
from circlet.lazy_import import load
from circlet.native import starts
from circlet.study import cost, registry
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
SIZE = 1024  # of the square matrices of the floor
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
    groups: tuple[int, ...]  # numbers of runs that are tried
    steps: int  # of a call


def rows(weights: Arrays, layer: str, x: Any) -> Any:
    """A linear layer on x (examples, inputs)."""
    return x @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"][:, 0]


def columns(weights: Arrays, layer: str, x: Any) -> Any:
    """A linear layer on x (inputs, examples)."""
    return weights[f"{layer}.weight"] @ x + weights[f"{layer}.bias"]


def pair_examples(parameters: Arrays, starts_module: Any, seeds: Any) -> Arrays:
    """Train pairs (examples, 2), how often a number is in them (p, examples), and their sums."""
    p = parameters["p"]
    pairs = starts_module.pairs(p)[starts_module.train_mask(parameters, seeds)]
    incidence = np.eye(p, dtype=np.float32)[pairs].sum(1).T
    return {"pairs": pairs, "incidence": incidence, "target": pairs.sum(1) % p}


def systems() -> dict[str, str]:
    """Modules with the JAX code of circlet's systems, by system."""
    return {name: m for c in registry.SHIPPED for name, m in c.modules("peers").items()}


def of(system: str) -> Peer:
    """A system in JAX."""
    peer: Peer = load(systems()[system]).PEER
    return peer


def cross_entropy(logits: Any, target: Any) -> Any:
    """Mean cross-entropy (nat) of logits (examples, classes)."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), target[:, None], 1).mean()


def residual(logits: Any, target: Any) -> Any:
    """Gradient of the mean cross-entropy by logits (classes, examples).

    As in `circlet.systems.loss.logit_gradient`: that of the right class is minus the sum of others.
    """
    right = jnp.arange(len(logits))[:, None] == target
    others = jnp.where(right, 0, jax.nn.softmax(logits, axis=0)) / len(target)
    return jnp.where(right, -others.sum(0), others)


def gradient(peer: Peer, is_formulated: bool) -> Callable[[Arrays, Arrays], Arrays]:
    """The gradient by the weights, from weights and examples."""
    if not is_formulated:
        return jax.grad(lambda w, e: cross_entropy(peer.written(w, e), e["target"]))

    def pulled_back(weights: Arrays, examples: Arrays) -> Arrays:
        logits, back = jax.vjp(lambda w: peer.formulated(w, examples), weights)
        return back(residual(logits, examples["target"]))[0]

    return pulled_back


def adamw(state: Any, change: Arrays, rate: float, decay: float) -> Any:
    """A step of AdamW (Loshchilov and Hutter 2019) on weights, both moments and the step's number.

    1 - 0.999^n by expm1, as the difference cancels.
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

    def __init__(self, point: Point, runs: int, is_formulated: bool):
        own: Any = starts(point.system.equations)
        parameters, self.seeds = point.parameters, [point.seeds(seed) for seed in range(runs)]
        self.peer = of(point.system.name)
        self.own, self.parameters = own, parameters
        self.size = parameters.get("batch_size")
        self.done = 0
        weights = _stacked([own.initial(parameters, seeds) for seeds in self.seeds], np.float32)
        zeros = jax.tree.map(jnp.zeros_like, weights)
        self.state: Any = (weights, zeros, jax.tree.map(jnp.copy, zeros), jnp.zeros(runs))
        self.examples = _stacked([self.peer.examples(parameters, own, s) for s in self.seeds])
        step = gradient(self.peer, is_formulated)
        rate, decay = parameters["learning_rate"], parameters["weight_decay"]

        def train(state: Any, examples: Arrays, orders: Any) -> Any:
            def advance(state: Any, order: Any) -> Any:
                batch = examples if order is None else {k: a[order] for k, a in examples.items()}
                return adamw(state, step(state[0], batch), rate, decay), None

            return jax.lax.scan(advance, state, orders, length=self.peer.steps)[0]

        self.train = jax.jit(jax.vmap(train), donate_argnums=0)

    def advance(self) -> None:
        """Take the steps of a call; of batches it is an epoch, whose order is drawn here."""
        orders, last = None, self.done + self.peer.steps
        if self.size:
            number = self.done // self.peer.steps
            drawn = np.stack([self.own.epoch(self.parameters, s, number)[0] for s in self.seeds])
            orders = drawn.reshape(len(drawn), -1, self.size)
        self.state = jax.block_until_ready(self.train(self.state, self.examples, orders))
        self.done = last

    def losses(self) -> np.ndarray:
        """Mean cross-entropy (nat) of every run on its train set, (runs,)."""
        losses_of_runs = jax.vmap(lambda w, e: cross_entropy(self.peer.written(w, e), e["target"]))
        return np.asarray(losses_of_runs(self.state[0], self.examples))


def _stacked(runs: list[Arrays], dtype: Any = None) -> Arrays:
    return {name: jnp.asarray(np.stack([run[name] for run in runs]), dtype) for name in runs[0]}


def difference(system: str, is_formulated: bool, runs: int = 2) -> float:
    """Largest relative difference of the losses of JAX and of circlet's PyTorch in 64 steps."""
    point = training.block(system, runs).point
    group = Group(point, runs, is_formulated)
    with torch.no_grad():
        for torch_group in run_group(point, list(range(runs)), training.CPU):
            if torch_group.done == CHECKED:
                expected = torch_group.metrics()["train_loss"].numpy()
                break
    while group.done < CHECKED:
        group.advance()
    return float(np.max(np.abs(group.losses() / expected - 1)))


def way(system: str, is_formulated: bool, runs: int) -> training.Way:
    """Runs in JAX, which continue with every call, without logs."""
    group = Group(training.block(system, runs).point, runs, is_formulated)

    def act() -> int:
        group.advance()
        return runs * group.peer.steps

    act()  # compiles
    return lambda seconds: training.window(training.repeated(act), seconds)


def fastest(system: str, is_formulated: bool, seconds: float) -> tuple[int, training.Way]:
    """The number of runs of a group that trains fastest, and the way with it."""
    tried = {}
    for runs in of(system).groups:
        candidate = way(system, is_formulated, runs)
        tried[runs] = (min(candidate(seconds / 2).cpu for _ in range(3)), candidate)
    runs = min(tried, key=lambda n: tried[n][0])
    return runs, tried[runs][1]


def products(system: str) -> training.Way:
    """Products of large matrices, with as many operations as those of the system's steps.

    They alternate with the training because the clock of a processor changes.
    """
    steps = 2 * SIZE**3 / cost.product_flops(training.block(system, 1).point)
    a = torch.randn(1, SIZE, SIZE)

    def act() -> float:
        matmul(a, a)
        return steps

    return lambda seconds: training.window(training.repeated(act), seconds)


def measure(names: list[str], repeats: int, seconds: float) -> Iterator[dict[str, Any]]:
    """A row per system: ``cpu_ms`` of each way, per run and step, on one core without logs.

    The ways alternate, in this process. ``groups`` and ``differences`` are the runs that JAX trains
    together and how far its losses are from circlet's; raises CircletError if they are not equal.
    """
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        for system in names:
            ours = WAYS if system in systems() else ()
            apart = {name: difference(system, name == "jax_formulated") for name in ours}
            if max(apart.values(), default=0.0) > TOLERANCE:
                raise CircletError(
                    f"bench: losses of {system} in JAX differ from circlet's: {apart}"
                )
            fast = {name: fastest(system, name == "jax_formulated", seconds) for name in ours}
            ways = training.ways(system, logs=False) | {
                name: peer_way for name, (_, peer_way) in fast.items()
            }
            ways["products"] = products(system)
            windows = training.alternating(ways, repeats, seconds)
            yield {
                "system": system,
                "cpu_ms": {k: training.spread([t.cpu for t in v]) for k, v in windows.items()},
                "groups": {name: runs for name, (runs, _) in fast.items()},
                "differences": apart,
            }
    finally:
        os.sched_setaffinity(0, cores)
