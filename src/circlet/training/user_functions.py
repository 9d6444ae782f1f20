"""A user's functions of a system, `network`, `data`, `loss` and `metrics`, with checks of results.

circlet calls them for many runs at once, and again when a run resumes. Their results and effects
are therefore checked at every call; errors say in one line what to write instead.
"""

import contextlib
import copy
import random
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from circlet.errors import CircletError, lacks_memory
from circlet.study.registry import path_of, place_in_user_code
from circlet.study.seeds import Seeds
from circlet.systems import trees
from circlet.systems.seeded import seeded
from circlet.systems.spec import SystemSpec
from circlet.systems.trees import Tree

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


class UserFunctions:
    """The functions that a user has written for a system, each checked when it is called.

    Raises CircletError if they return invalid values, or if they draw random numbers or change
    buffers where this is not allowed.
    """

    def __init__(self, module: ModuleType, system: SystemSpec):
        self.module, self.system = module, system
        self.has_network = hasattr(module, "network")

    def network(
        self, parameters: dict[str, Any], seeds: Seeds, purpose: str = "network"
    ) -> nn.Module:
        """Return the network, with PyTorch's random numbers from one stream of the run."""
        with seeded(seeds, purpose), torch.enable_grad(), self._no_global_streams("network()"):
            network = self.module.network(copy.deepcopy(parameters), seeds)
        if not isinstance(network, nn.Module):
            raise self._error(f"network() must return a torch.nn.Module, not {_kind(network)}")
        for name, values in network.named_parameters():
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
        """Return all data of a run, as the author's function returns them."""
        with seeded(seeds, "data"), self._no_global_streams("data()"):
            parts = self.module.data(copy.deepcopy(parameters), seeds)
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

    def _loss(self, network: Any, examples: Tree) -> Tensor:
        return self._scalar("loss() must return", self.module.loss(network, examples))

    def measured(self, network: Any, parts: dict[str, Tree]) -> dict[str, Tensor]:
        """Return the metrics of one run by name, each of shape ()."""
        names = self.system.metrics
        if hasattr(self.module, "metrics"):
            modes = [(m, m.training) for m in network.modules()] if self.has_network else []
            try:
                metrics = self.module.metrics(network, trees.copied(parts))
            finally:  # a call of network.eval() in a metric must not affect training
                for module, mode in modes:
                    module.training = mode
            if not isinstance(metrics, dict):
                raise self._error(f"metrics() must return a dictionary, not {_kind(metrics)}")
        else:
            if unknown := [n for n in names if n.removesuffix("_loss") not in parts]:
                raise self._error(
                    f"SYSTEM.metrics has {unknown[0]!r}, but there is no function metrics(), and "
                    f"data() has no such part (it has: {', '.join(parts)})"
                )
            metrics = {n: self._loss(network, parts[n.removesuffix("_loss")]) for n in names}
        for name in [*metrics, *names]:
            if name not in names:
                raise self._error(f"metrics() returns {name!r}, which SYSTEM.metrics does not have")
            if name not in metrics:
                raise self._error(f"metrics() does not return {name!r}, which SYSTEM.metrics has")
        return {n: self._scalar(f"metrics(): {n} must be", metrics[n]) for n in names}

    def _scalar(self, text: str, value: Any) -> Tensor:
        if not isinstance(value, Tensor) or value.shape or not value.is_floating_point():
            raise self._error(
                f"{text} one real number, a float tensor of shape (), not {_kind(value)}"
            )
        return value

    @contextlib.contextmanager
    def _stacked(self, what: str, alone: Callable[[], Any]) -> Iterator[None]:
        """Turn an error of vmap into one line that says what to write instead.

        If ``alone``, which computes one run, fails too, the author's error is raised instead.
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
                f"{place_in_user_code(error) or path_of(self.system.equations)}: {what} does what "
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
        with self._no_global_streams(what):
            yield
        if not torch.equal(before, torch.default_generator.get_state()):
            raise self._error(f"{what} {_RANDOM}")
        if versions != [buffer._version for buffer in buffers]:
            raise self._error(f"{what} {_CHANGES}")

    @contextlib.contextmanager
    def _no_global_streams(self, what: str) -> Iterator[None]:
        """Refuse the global generators of Python and NumPy, which follow no seed of a run."""
        before = _global_streams()
        yield
        for name, state in _global_streams().items():
            if state != before[name]:
                raise self._error(f'{what} uses {name}: draw from seeds.stream("data"), or with '
                                  "PyTorch, in network() or data()")  # fmt: skip

    def _error(self, text: str) -> CircletError:
        return CircletError(f"{path_of(self.system.equations)}: {text}")


def _global_streams() -> dict[str, Any]:
    """Return the states of the global generators of Python and NumPy."""
    of_numpy = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    return {"random": random.getstate(), "np.random": (of_numpy["key"].tobytes(), of_numpy["pos"])}


def _kind(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    if isinstance(value, str | int | float | bool) or value is None:
        return f"{value!r:.60}"
    return f"a {type(value).__name__}"
