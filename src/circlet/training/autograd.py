"""Systems without a gradient of their own: a network, its examples and its loss.

`FromLoss` gives such a system the functions of one with a gradient (`circlet.systems`): it stacks
the networks of many runs with `torch.func`, ``functional_call`` under ``vmap``, and differentiates.
"""

import contextlib
import copy
import functools
import math
import random
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.parameter import is_lazy

from circlet.errors import CircletError, lacks_memory
from circlet.lazy_import import load
from circlet.study.registry import path_of, place_in_own
from circlet.study.seeds import Seeds
from circlet.systems import trees
from circlet.systems.seeded import seeded
from circlet.systems.spec import SystemSpec
from circlet.systems.trees import Tree
from circlet.training import hidden_state
from circlet.training.group import Arrays

# torch's messages about what vmap cannot do, and what to write instead.
_REFUSED = {
    ".item()": "use torch.where in place of `if`, no .item(), and make one-hot vectors in data()",
    "data-dependent control flow": "use torch.where in place of `if`",
    "modified by an inplace": "write x = x + y in place of x += y, and build tensors with "
    "torch.stack",
    "data pointer of Tensor": "use tensors in place of .numpy() and .tolist()",
    "dynamic shape": "use torch.where or a product with the mask in place of indexing by a mask, "
    "nonzero or unique",
    "broadcast shape": "write x = x + y in place of x += y",
    "inplace arithmetic": "build tensors with torch.stack or torch.cat in place of x[i] = y",
    "setup_context": "give your autograd.Function a setup_context and generate_vmap_rule = True, "
    "and modules no full backward hooks",
}
_RANDOM = "draws random numbers: draw them in data(), from its seeds; there is no dropout"
_CHANGES = (
    "changes a buffer, as nn.BatchNorm and spectral_norm do, which no run may: use LayerNorm, say"
)


def equations(system: SystemSpec) -> Any:
    """The functions of `circlet.systems` that compute a system, its own or from its loss."""
    own = load(system.equations)
    return FromLoss(own, system) if callable(getattr(own, "loss", None)) else own


@dataclass(frozen=True)
class Examples:
    """The training data of a group of runs: all of it, or a batch."""

    parts: dict[str, Tree]  # "train" and what else there is: tensors (runs, examples, ...)
    network: nn.Module | None  # of the first run; weights of any run are put into it
    buffers: dict[str, Tensor]  # of its buffers those that differ between runs, (runs, ...)
    parameters: dict[str, Any]
    seeds: Sequence[Seeds]
    orders: dict[int, np.ndarray] = field(default_factory=dict)  # of this epoch, (runs, examples)
    used: dict[int, set[str]] = field(default_factory=dict)
    """Weights that the loss depends on, by the number of examples; empty until step 1."""


class _Calling(nn.Module):
    """A module whose ``forward`` calls a function of a network, for functional_call."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, function: Callable[[nn.Module, Tree], Any], examples: Tree) -> Any:
        return function(self.network, examples)


class FromLoss:
    """The functions of a system with a gradient, made from its ``loss`` and its ``network``.

    Raises CircletError, in one line that says what to write, where the author's functions return
    what they should not, or do what ``torch.func.vmap`` cannot do.
    """

    def __init__(self, own: ModuleType, system: SystemSpec):
        self.own, self.system = own, system
        self.has_network = hasattr(own, "network")

    def initial(self, parameters: dict[str, Any], seeds: Seeds) -> Arrays:
        """The weights of one run at step 0, float64; an embedding's from the seed of embeddings."""
        if not self.has_network:
            return self.own.initial(parameters, seeds)
        arrays = _weights(self.network(parameters, seeds))
        name = self.system.embedding
        if not name:
            return arrays
        if name != "embedding" and "embedding" in arrays:
            raise self._error(f"the network has {name} and embedding; rename the latter: in logs "
                              "this is the name of the embedding")  # fmt: skip
        if name not in arrays:
            known = ", ".join(arrays)
            raise self._error(f"SYSTEM.embedding: the network has no {name!r} (it has: {known})")
        if arrays[name].ndim != 2:
            shape = arrays[name].shape
            raise self._error(f"SYSTEM.embedding: {name} must be (tokens, d), is {shape}")
        own = _weights(self.network(parameters, seeds, "embedding"))[name]
        return {"embedding": own} | {key: values for key, values in arrays.items() if key != name}

    def learning_rate_multipliers(self, parameters: dict[str, Any]) -> dict[str, float]:
        """The multipliers that the author gives; 0 for weights that do not require a gradient."""
        declared: Any = getattr(self.own, "learning_rate_multipliers", lambda parameters: {})
        given = {k: float(v) for k, v in declared(copy.deepcopy(parameters)).items()}
        frozen = self._usually_frozen(parameters) if self.has_network else []
        if moved := [name for name in frozen if given.get(name)]:
            raise self._error(
                f"learning_rate_multipliers() names {moved[0]!r}, which does not require a "
                "gradient: set requires_grad=True, or leave it out"
            )
        return {self.logged(name): m for name, m in (given | dict.fromkeys(frozen, 0)).items()}

    def _usually_frozen(self, parameters: dict[str, Any]) -> list[str]:
        """Names of the weights that do not require a gradient, of the runs of all seeds."""
        return _frozen(self.network(parameters, Seeds(0, 0, 0, 0)))

    def without_gradient(self, weights: dict[str, Tensor], data: Examples) -> set[str]:
        """Names of the weights of a run at step 0 that the loss does not depend on.

        PyTorch's optimisers leave them alone: what has no gradient neither moves nor decays.
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
        """The examples of all runs, and a network that takes the weights of any of them."""

        def stacked(*leaves: Tensor) -> Tensor:
            return torch.stack(leaves).to(device)

        each = [trees.typed(self.examples(parameters, own), dtype) for own in seeds]
        try:
            parts = trees.mapped(stacked, *each)
        except (ValueError, KeyError, RuntimeError) as error:
            raise self._error(f"data(): the examples of runs differ in shape: {error}") from error
        network, buffers = None, dict[str, Tensor]()
        if self.has_network:
            network = trees.cast(self.network(parameters, seeds[0]), dtype).to(device)
            others = [self.network(parameters, own) for own in seeds]
            self._check_alike(others)
            usual = self._usually_frozen(parameters)
            for other in map(_frozen, others):  # all runs have the multipliers of one network
                if differing := sorted({*usual} ^ {*other}):
                    raise self._error(
                        f"network(): whether {differing[0]} requires a gradient differs between "
                        "seeds"
                    )
            every = (trees.typed(dict(n.named_buffers()), dtype) for n in others)
            found = trees.mapped(stacked, *every)
            buffers = {k: v for k, v in found.items() if (v != v[:1]).any()}
        return Examples(parts, network, buffers, parameters, seeds)

    def batch(self, data: Examples, step: int) -> Examples:
        """The batch of a step, counted from 1: all examples unless there is a ``batch_size``.

        Every epoch has an order of its own, from the run's stream of orders.
        """
        size, n = data.parameters.get("batch_size"), count(data.parts["train"])
        if not size or size >= n:
            return data
        epoch, place = divmod(step - 1, math.ceil(n / size))
        if epoch not in data.orders:
            data.orders.clear()
            orders = [own.stream("order", epoch).permutation(n) for own in data.seeds]
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
        if hasattr(self.own, "gradients"):
            self.own.gradients(weights, train, out)
        else:
            self.autograd(weights, data, out)

    def autograd(self, weights: dict[str, Tensor], data: Examples, out: dict[str, Tensor]) -> None:
        """The same, always by automatic differentiation."""
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
        """Gradients of the loss of the first run; None where it does not depend on a weight."""
        own = {name: values.detach().requires_grad_() for name, values in weights.items()}

        # Differentiated while the network has these weights: checkpointed parts run again.
        def gradients(network: Any, examples: Tree) -> tuple[Tensor | None, ...]:
            loss = self._loss(network, examples)
            if not loss.requires_grad:
                raise self._error("loss() does not depend on the weights in a way that can be "
                                  "differentiated")  # fmt: skip
            try:
                found = torch.autograd.grad(loss, list(own.values()), allow_unused=True)
            except RuntimeError as error:
                if lacks_memory(error) or place_in_own(error):
                    raise
                line = " ".join(str(error).split())
                if "does not require grad" in line:
                    line = "it freezes weights, which only network() may"
                raise self._error(f"loss() cannot be differentiated: {line}") from error
            for name, values in zip(own, found, strict=True):
                if values is not None and values.layout != torch.strided:
                    raise self._error(f"loss() has a sparse gradient of {name}: set sparse=False")
            return found

        with torch.enable_grad(), self._unchanged("loss()", data.network):
            found = self._call(data.network, gradients, own, _first(data.buffers), _first(train))
        return dict(zip(own, found, strict=True))

    def metrics(self, weights: dict[str, Tensor], data: Examples) -> dict[str, Tensor]:
        """The metrics of every run by name, each of shape (runs,)."""
        call = functools.partial(self._call, data.network, self.measured)

        def of_one_run() -> dict[str, Tensor]:
            own = {name: values.detach().requires_grad_() for name, values in weights.items()}
            with self._unchanged("metrics()", data.network):
                return call(_first(own), _first(data.buffers), _first(data.parts))

        def differentiable(own: dict[str, Tensor], *others: Any) -> tuple[Tensor, Any]:
            return torch.stack([values.sum() for values in own.values()]).sum(), call(own, *others)

        def of_each(*arguments: Any) -> dict[str, Tensor]:
            # So that weights require a gradient, as those of a module do, and code may ask for it.
            return grad(differentiable, has_aux=True)(*arguments)[1]

        if len(next(iter(weights.values()))) == 1:
            return {name: value[None] for name, value in of_one_run().items()}
        # More examples than in a step: on a CPU fewer runs at a time.
        size, n = data.parameters.get("batch_size"), count(data.parts["train"])
        cpu = not next(iter(weights.values())).is_cuda
        chunk = max(1, len(data.seeds) * size // n) if cpu and size and size < n else None
        with self._stacked("metrics()", of_one_run):
            return vmap(of_each, chunk_size=chunk)(weights, data.buffers, data.parts)

    # What the author wrote, and what it returns.

    def network(
        self, parameters: dict[str, Any], seeds: Seeds, purpose: str = "network"
    ) -> nn.Module:
        """The network, whose PyTorch random numbers come from one stream of the run."""
        with seeded(seeds, purpose), torch.enable_grad(), self._own_streams("network()"):
            network = self.own.network(copy.deepcopy(parameters), seeds)
        if not isinstance(network, nn.Module):
            raise self._error(f"network() must return a torch.nn.Module, not {_kind(network)}")
        for name, values in network.named_parameters():
            if is_lazy(values):
                raise self._error(f"network(): {name} has no shape yet: call the network once with "
                                  "an example before you return it")  # fmt: skip
            if has_hooks(values):
                raise self._error(f"network(): {name} has a hook on its gradient, which torch.func "
                                  "does not call: change the weight in forward()")  # fmt: skip
            if not values.isfinite().all():
                raise self._error(f"network(): {name} is not finite at step 0: register it as a "
                                  "buffer, if it is a mask")  # fmt: skip
            if not values.is_floating_point():
                raise self._error(
                    f"network(): {name} is {values.dtype}, but weights must be real floats: "
                    "register it as a buffer, or as two real weights"
                )
        for name, values in network.named_buffers():
            if values.layout != torch.strided or values.is_meta or values.is_nested:
                raise self._error(f"network(): {name} must be a dense tensor with values")
        return network

    def examples(self, parameters: dict[str, Any], seeds: Seeds) -> dict[str, Tree]:
        """All data of a run, as its author returns it."""
        with seeded(seeds, "data"), self._own_streams("data()"):
            parts = self.own.data(copy.deepcopy(parameters), seeds)
        if not isinstance(parts, dict) or "train" not in parts:
            raise self._error(
                f'data() must return a dictionary {{"train": ..., "test": ...}}, not {_kind(parts)}'
            )
        for leaf in trees.leaves(parts):
            if not isinstance(leaf, Tensor | np.ndarray):
                raise self._error(
                    "data() must return tensors, or dictionaries, tuples or lists of them, not "
                    f"{_kind(leaf)}"
                )
        if any(not leaf.ndim for leaf in trees.leaves(parts["train"])):
            raise self._error("data(): under train, the first axis must count the examples")
        counts = sorted({len(leaf) for leaf in trees.leaves(parts["train"])})
        if len(counts) > 1:
            raise self._error(
                f"data(): the first axes under train differ, {counts}; each counts the examples"
            )
        return parts

    def _check_alike(self, networks: list[nn.Module]) -> None:
        """Check that networks of other seeds differ only in the values of weights and buffers."""
        first, *others = (
            {k: v for k, v in state.items() if not isinstance(v, hidden_state.Stream)}
            for state in map(hidden_state.of_network, networks)
        )
        for other in others:
            if differing := hidden_state.differences(first, other):
                raise self._error(
                    f"network(): {differing[0] or 'its class'} differs between seeds; what differs "
                    "must be a weight or a buffer, of one shape for all seeds: "
                    "self.register_buffer(name, tensor)"
                )

    @contextlib.contextmanager
    def _stacked(self, what: str, alone: Callable[[], Any]) -> Iterator[None]:
        """Turn an error of vmap into one line that says what to write instead.

        What ``alone`` cannot do for one run either is the author's error, which it raises.
        """
        try:
            yield
        except (RuntimeError, ValueError) as error:
            if lacks_memory(error):
                raise
            alone()
            text = " ".join(str(error).split())
            instead = next(
                (new for words, new in _REFUSED.items() if words in text), text[:200].rstrip(".")
            )
            raise CircletError(
                f"{place_in_own(error) or path_of(self.system.equations)}: {what} does what "
                f"torch.func.vmap cannot do for many runs at once: {instead}; or set batched=False "
                "in SYSTEM to train run by run"
            ) from error

    @contextlib.contextmanager
    def _unchanged(self, what: str, network: nn.Module | None) -> Iterator[None]:
        """Refuse random numbers from PyTorch's generator and changes of a buffer, as vmap does.

        Neither would be the same in a run that resumes from a checkpoint.
        """
        before = torch.default_generator.get_state()
        buffers = list(network.buffers()) if network is not None else []
        versions = [buffer._version for buffer in buffers]
        with self._own_streams(what):
            yield
        if not torch.equal(before, torch.default_generator.get_state()):
            raise self._error(f"{what} {_RANDOM}")
        if versions != [buffer._version for buffer in buffers]:
            raise self._error(f"{what} {_CHANGES}")

    @contextlib.contextmanager
    def _own_streams(self, what: str) -> Iterator[None]:
        """Refuse the global generators of Python and NumPy, which follow no seed of a run."""
        before = _global_streams()
        yield
        for name, state in _global_streams().items():
            if state != before[name]:
                raise self._error(f'{what} uses {name}: draw from seeds.stream("data"), or with '
                                  "PyTorch, in network() or data()")  # fmt: skip

    def _loss(self, network: Any, examples: Tree) -> Tensor:
        return self._scalar("loss() must return", self.own.loss(network, examples))

    def measured(self, network: Any, parts: dict[str, Tree]) -> dict[str, Tensor]:
        """The metrics of one run by name, each of shape ()."""
        names = self.system.metrics
        if hasattr(self.own, "metrics"):
            modes = [(m, m.training) for m in network.modules()] if self.has_network else []
            try:
                found = self.own.metrics(network, trees.copied(parts))
            finally:  # a call of network.eval() in a metric must not affect training
                for module, mode in modes:
                    module.training = mode
            if not isinstance(found, dict):
                raise self._error(f"metrics() must return a dictionary, not {_kind(found)}")
        else:
            if unknown := [n for n in names if n.removesuffix("_loss") not in parts]:
                raise self._error(
                    f"SYSTEM.metrics has {unknown[0]!r}, but there is no function metrics(), and "
                    f"data() has no such part (it has: {', '.join(parts)})"
                )
            found = {n: self._loss(network, parts[n.removesuffix("_loss")]) for n in names}
        for name in [*found, *names]:
            if name not in names:
                raise self._error(f"metrics() returns {name!r}, which SYSTEM.metrics does not have")
            if name not in found:
                raise self._error(f"metrics() does not return {name!r}, which SYSTEM.metrics has")
        return {n: self._scalar(f"metrics(): {n} must be", found[n]) for n in names}

    def _scalar(self, text: str, value: Any) -> Tensor:
        if not isinstance(value, Tensor) or value.shape or not value.is_floating_point():
            raise self._error(
                f"{text} one real number, a float tensor of shape (), not {_kind(value)}"
            )
        return value

    def _call(
        self,
        network: nn.Module | None,
        function: Callable[[Any, Tree], Any],
        weights: dict[str, Tensor],
        buffers: dict[str, Tensor],
        examples: Tree,
    ) -> Any:
        """A function of the network that has these weights, or of the weights themselves."""
        if network is None:
            return function(weights, examples)
        name = self.system.embedding
        own = {name if k == "embedding" and name else k: v for k, v in weights.items()} | buffers
        named = {f"network.{place}": own[key] for place, key in _places(network) if key in own}
        return functional_call(_Calling(network), named, (function, examples), tie_weights=False)

    def logged(self, name: str) -> str:
        """The name in logs of a parameter of the network."""
        return "embedding" if name == self.system.embedding else name

    def _error(self, text: str) -> CircletError:
        return CircletError(f"{path_of(self.system.equations)}: {text}")


def has_hooks(values: Tensor) -> bool:
    """Whether functions change the gradient of a tensor, as far as this PyTorch tells."""
    kinds = ("_backward_hooks", "_post_accumulate_grad_hooks")  # nothing public has them
    return any(getattr(values, kind, None) for kind in kinds)


_PLACES: weakref.WeakKeyDictionary[nn.Module, list[tuple[str, str]]] = weakref.WeakKeyDictionary()


def _places(network: nn.Module) -> list[tuple[str, str]]:
    """Where a network has its weights and buffers, each with its name: some are in two modules.

    A module that is there twice counts once; ``functional_call`` by itself would swap its weights
    twice, and leave those of the call in their place.
    """
    if network in _PLACES:
        return _PLACES[network]
    kinds = (nn.Module.named_parameters, nn.Module.named_buffers)
    names = {id(values): name for kind in kinds for name, values in kind(network)}
    _PLACES[network] = [
        (f"{path}.{name}".lstrip("."), names[id(values)])
        for path, module in network.named_modules()
        for kind in kinds
        for name, values in kind(module, recurse=False, remove_duplicate=False)
    ]
    return _PLACES[network]


def _frozen(network: nn.Module) -> list[str]:
    """Names of the weights that do not require a gradient."""
    return [name for name, values in network.named_parameters() if not values.requires_grad]


def _weights(network: nn.Module) -> Arrays:
    return {n: v.detach().double().numpy().copy() for n, v in network.named_parameters()}


def _global_streams() -> dict[str, Any]:
    """States of the generators that Python and NumPy share between all code."""
    of_numpy = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    return {"random": random.getstate(), "np.random": (of_numpy["key"].tobytes(), of_numpy["pos"])}


def _first(tree: Tree) -> Tree:
    """What belongs to the first run."""
    return trees.mapped(lambda values: values[0], tree)


def count(examples: Tree) -> int:
    """Number of examples of a run."""
    return trees.tensors(examples)[0].shape[1]


def _kind(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    if isinstance(value, str | int | float | bool) or value is None:
        return f"{value!r:.60}"
    return f"a {type(value).__name__}"
