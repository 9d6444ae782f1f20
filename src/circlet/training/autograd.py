"""Systems that declare a network, examples and a loss, but no gradient.

`FromLoss` gives such a system the functions of one with a gradient (`circlet.systems`): it stacks
the networks of many runs with `torch.func`, ``functional_call`` under ``vmap``, and differentiates.
"""

import copy
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from circlet.errors import lacks_memory
from circlet.lazy_import import load
from circlet.study.registry import place_in_user_code
from circlet.study.seeds import Seeds
from circlet.systems import trees
from circlet.systems.spec import SystemSpec
from circlet.systems.trees import Tree
from circlet.training.group import Arrays
from circlet.training.user_functions import UserFunctions


def equations(system: SystemSpec) -> Any:
    """Return the functions of `circlet.systems` for a system: declared, or made from its loss."""
    module = load(system.equations)
    return FromLoss(module, system) if callable(getattr(module, "loss", None)) else module


@dataclass(frozen=True)
class Examples:
    """The training data of a group of runs: all of it, or a batch."""

    parts: dict[str, Tree]  # "train" and other sets: tensors (runs, examples, ...)
    network: nn.Module | None  # of the first run; weights of any run are put into it
    buffers: dict[str, Tensor]  # the network's buffers that differ between runs, (runs, ...)
    parameters: dict[str, Any]
    seeds: Sequence[Seeds]
    orders: dict[int, np.ndarray] = field(default_factory=dict)  # of one epoch, (runs, examples)
    used: dict[int, set[str]] = field(default_factory=dict)
    """Weights that the loss depends on, by the number of examples; empty until step 1."""


class _Calling(nn.Module):
    """A module whose ``forward`` calls a function of a network, for functional_call."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, function: Callable[[nn.Module, Tree], Any], examples: Tree) -> Any:
        return function(self.network, examples)


class FromLoss(UserFunctions):
    """The functions of a system with a gradient, made from its ``loss`` and its ``network``.

    Raises CircletError, which says in one line what to write, if the author's functions return
    invalid values, or do what ``torch.func.vmap`` cannot do.
    """

    def initial(self, parameters: dict[str, Any], seeds: Seeds) -> Arrays:
        """Return the weights of one run at step 0, float64; the embedding follows its own seed."""
        if not self.has_network:
            return self.module.initial(parameters, seeds)
        arrays = _weights(self.network(parameters, seeds))
        name = self.system.embedding
        if not name:
            return arrays
        if name != "embedding" and "embedding" in arrays:
            raise self._error(f"the network has {name} and embedding; rename the latter: in logs "
                              "this is the name of the embedding")  # fmt: skip
        if name not in arrays:
            names = ", ".join(arrays)
            raise self._error(f"SYSTEM.embedding: the network has no {name!r} (it has: {names})")
        if arrays[name].ndim != 2:
            shape = arrays[name].shape
            raise self._error(f"SYSTEM.embedding: {name} must be (tokens, d), is {shape}")
        embedding = _weights(self.network(parameters, seeds, "embedding"))[name]
        return {"embedding": embedding} | {
            key: values for key, values in arrays.items() if key != name
        }

    def learning_rate_multipliers(self, parameters: dict[str, Any]) -> dict[str, float]:
        """Return the author's multipliers, and 0 for weights that do not require a gradient."""
        declared: Any = getattr(self.module, "learning_rate_multipliers", lambda parameters: {})
        multipliers = {k: float(v) for k, v in declared(copy.deepcopy(parameters)).items()}
        usual = self.network(parameters, Seeds(0, 0, 0, 0)) if self.has_network else nn.Module()
        frozen = [name for name, values in usual.named_parameters() if not values.requires_grad]
        if moved := [name for name in frozen if multipliers.get(name)]:
            raise self._error(
                f"learning_rate_multipliers() names {moved[0]!r}, which does not require a "
                "gradient: set requires_grad=True, or leave it out"
            )
        return {
            self.logged(name): m for name, m in (multipliers | dict.fromkeys(frozen, 0)).items()
        }

    def weight_decay_multipliers(self, parameters: dict[str, Any]) -> dict[str, float]:
        """Return the author's multipliers of the weight decay."""
        declared: Any = getattr(self.module, "weight_decay_multipliers", lambda parameters: {})
        multipliers = declared(copy.deepcopy(parameters))
        return {self.logged(name): float(m) for name, m in multipliers.items()}

    def without_gradient(self, weights: dict[str, Tensor], data: Examples) -> set[str]:
        """Return the names of the weights of a run at step 0 that the loss does not depend on.

        PyTorch's optimisers skip these: weights without a gradient neither move nor decay.
        """
        train = self.batch(data, 1).parts["train"]
        gradients = self._of_one_run(weights, data, train)
        data.used[count(train)] = {k for k, values in gradients.items() if values is not None}
        return weights.keys() - data.used[count(train)]

    def data(
        self,
        parameters: dict[str, Any],
        seeds: Sequence[Seeds],
        dtype: torch.dtype,
        device: torch.device,
    ) -> Examples:
        """Return the examples of all runs, and a network that takes the weights of any of them."""

        def stacked(*leaves: Tensor) -> Tensor:
            return torch.stack(leaves).to(device)

        each = [trees.typed(self.examples(parameters, run_seeds), dtype) for run_seeds in seeds]
        try:
            parts = trees.mapped(stacked, *each)
        except (ValueError, KeyError, RuntimeError) as error:
            raise self._error(f"data(): the examples of runs differ in shape: {error}") from error
        network, buffers = None, dict[str, Tensor]()
        if self.has_network:
            network = trees.cast(self.network(parameters, seeds[0]), dtype).to(device)
            others = [self.network(parameters, run_seeds) for run_seeds in seeds]
            usual = _kinds(self.network(parameters, Seeds(0, 0, 0, 0)))
            for other in map(_kinds, others):
                if differing := sorted(name for name, _ in usual.items() ^ other.items()):
                    raise self._error(
                        f"network(): {differing[0]} differs between seeds: in whether it is "
                        "there, in its shape or type, or in whether it requires a gradient"
                    )
            all_buffers = (trees.typed(dict(n.named_buffers()), dtype) for n in others)
            stacked_buffers = trees.mapped(stacked, *all_buffers)
            buffers = {k: v for k, v in stacked_buffers.items() if (v != v[:1]).any()}
        return Examples(parts, network, buffers, parameters, seeds)

    def batch(self, data: Examples, step: int) -> Examples:
        """Return the batch of a step, counted from 1; all examples if there is no ``batch_size``.

        Each epoch has a different order, from the run's stream of orders.
        """
        size, n = data.parameters.get("batch_size"), count(data.parts["train"])
        if not size or size >= n:
            return data
        epoch, place = divmod(step - 1, math.ceil(n / size))
        if epoch not in data.orders:
            data.orders.clear()
            orders = [run_seeds.stream("order", epoch).permutation(n) for run_seeds in data.seeds]
            data.orders[epoch] = np.stack(orders)
        device = trees.tensors(data.parts["train"])[0].device
        rows = data.orders[epoch][:, place * size : (place + 1) * size]
        chosen = torch.as_tensor(rows).to(device)
        runs = torch.arange(len(rows), device=device)[:, None]
        train = trees.mapped(lambda values: values[runs, chosen], data.parts["train"])
        return replace(data, parts={"train": train})

    def gradients(self, weights: dict[str, Tensor], data: Examples, out: dict[str, Tensor]) -> None:
        """Write the gradient of every run's loss on its train examples into ``out``."""
        train = data.parts["train"]
        if hasattr(self.module, "gradients"):
            self.module.gradients(weights, train, out)
        else:
            self.autograd(weights, data, out)

    def autograd(self, weights: dict[str, Tensor], data: Examples, out: dict[str, Tensor]) -> None:
        """Do the same as ``gradients``, always by automatic differentiation."""
        train, several = data.parts["train"], len(next(iter(weights.values()))) > 1
        if not several or (data.used and count(train) not in data.used):
            gradients = self._of_one_run(_first(weights), data, train)
            self._check_used(gradients, data)
        if not several:
            for name, value in gradients.items():
                if value is None:
                    out[name].zero_()
                else:
                    out[name].copy_(value[None])
            return
        alone = functools.partial(self._of_one_run, _first(weights), data, train)
        call = functools.partial(self._call, data.network, self._loss)
        with self._stacked("loss()", alone):
            stacked = vmap(grad(call))(weights, data.buffers, train)
        for name, values in stacked.items():
            out[name].copy_(values)

    def _check_used(self, gradients: dict[str, Tensor | None], data: Examples) -> None:
        """Check that the loss depends on the same weights as in step 1."""
        used = {name for name, values in gradients.items() if values is not None}
        for first in [*data.used.values()][:1]:
            if differing := used ^ first:
                name = min(differing)
                raise self._error(
                    f"loss() depends on {name} in some steps only: add 0 * {name}.sum() to the "
                    "loss, so that every step has a gradient of it"
                )
            data.used[count(data.parts["train"])] = used

    def _of_one_run(
        self, weights: dict[str, Tensor], data: Examples, train: Tree
    ) -> dict[str, Tensor | None]:
        """Return gradients of one run's loss; None for weights that it does not depend on."""
        leaves = {name: values.detach().requires_grad_() for name, values in weights.items()}

        # Differentiate while the network has these weights, because checkpointed parts run again.
        def gradients(network: Any, examples: Tree) -> tuple[Tensor | None, ...]:
            loss = self._loss(network, examples)
            if not loss.requires_grad:
                raise self._error("loss() does not depend on the weights in a way that can be "
                                  "differentiated")  # fmt: skip
            try:
                derivatives = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
            except RuntimeError as error:
                if lacks_memory(error) or place_in_user_code(error):
                    raise
                line = " ".join(str(error).split())
                raise self._error(f"loss() cannot be differentiated: {line}") from error
            for name, values in zip(leaves, derivatives, strict=True):
                if values is not None and values.layout != torch.strided:
                    raise self._error(f"loss() has a sparse gradient of {name}: set sparse=False")
            return derivatives

        with torch.enable_grad(), self._unchanged("loss()", data.network):
            derivatives = self._call(
                data.network, gradients, leaves, _first(data.buffers), _first(train)
            )
        return dict(zip(leaves, derivatives, strict=True))

    def metrics(self, weights: dict[str, Tensor], data: Examples) -> dict[str, Tensor]:
        """Return the metrics of every run by name, each of shape (runs,)."""
        call = functools.partial(self._call, data.network, self.measured)

        def of_one_run() -> dict[str, Tensor]:
            leaves = {name: values.detach().requires_grad_() for name, values in weights.items()}
            with self._unchanged("metrics()", data.network):
                return call(_first(leaves), _first(data.buffers), _first(data.parts))

        def differentiable(leaves: dict[str, Tensor], *others: Any) -> tuple[Tensor, Any]:
            return torch.stack([values.sum() for values in leaves.values()]).sum(), call(
                leaves, *others
            )

        def of_each(*arguments: Any) -> dict[str, Tensor]:
            # Code may ask whether weights require a gradient: as in a module, they then do.
            return grad(differentiable, has_aux=True)(*arguments)[1]

        if len(next(iter(weights.values()))) == 1:
            return {name: value[None] for name, value in of_one_run().items()}
        # Metrics use more examples than a step, so on a CPU take fewer runs at a time.
        size, n = data.parameters.get("batch_size"), count(data.parts["train"])
        cpu = not next(iter(weights.values())).is_cuda
        chunk = max(1, len(data.seeds) * size // n) if cpu and size and size < n else None
        with self._stacked("metrics()", of_one_run):
            return vmap(of_each, chunk_size=chunk)(weights, data.buffers, data.parts)

    def _call(
        self,
        network: nn.Module | None,
        function: Callable[[Any, Tree], Any],
        weights: dict[str, Tensor],
        buffers: dict[str, Tensor],
        examples: Tree,
    ) -> Any:
        """Call a function with the network that has these weights, or with only the weights."""
        if network is None:
            return function(weights, examples)
        name = self.system.embedding
        by_name = {
            name if k == "embedding" and name else k: v for k, v in weights.items()
        } | buffers
        named = {
            f"network.{place}": by_name[key] for place, key in _places(network) if key in by_name
        }
        return functional_call(_Calling(network), named, (function, examples), tie_weights=False)

    def logged(self, name: str) -> str:
        """Return the name in logs of a parameter of the network."""
        return "embedding" if name == self.system.embedding else name


@functools.lru_cache(1)
def _places(network: nn.Module) -> list[tuple[str, str]]:
    """Return the paths and names of a network's weights and buffers; some have several paths.

    A module that occurs twice counts once; ``functional_call`` alone would swap its weights twice,
    and leave the weights of the call in the network.
    """
    kinds = (nn.Module.named_parameters, nn.Module.named_buffers)
    names = {id(values): name for kind in kinds for name, values in kind(network)}
    return [
        (f"{path}.{name}".lstrip("."), names[id(values)])
        for path, module in network.named_modules()
        for kind in kinds
        for name, values in kind(module, recurse=False, remove_duplicate=False)
    ]


def _kinds(network: nn.Module) -> dict[str, Any]:
    """Return shape, type and whether a gradient is required, of weights and buffers by name."""
    arrays = [*network.named_parameters(), *network.named_buffers()]
    return {name: (a.shape, a.dtype, a.requires_grad) for name, a in arrays}


def _weights(network: nn.Module) -> Arrays:
    return {n: v.detach().double().numpy().copy() for n, v in network.named_parameters()}


def _first(tree: Tree) -> Tree:
    """Return the first run's part of a tree."""
    return trees.mapped(lambda values: values[0], tree)


def count(examples: Tree) -> int:
    """Return the number of examples of a run."""
    return trees.tensors(examples)[0].shape[1]
