"""Check whether rounding explains the differences between two ways to compute."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from circlet.errors import CircletError
from circlet.systems import trees
from circlet.training import purity
from circlet.training.plain_loop import Values

CLOSE = 1e-5  # largest difference attributed to float64 rounding, as a share of a change
ROUNDING = 10  # largest allowed ratio of a difference to the effect of rounding

Shares = dict[tuple[int, str], float]
"""Differences by seed and name."""


def is_metric(name: str) -> bool:
    """Return whether a value is a metric, not a weight."""
    return name.startswith("metric ")


def beyond(
    differences: Shares,
    plain: dict[int, Values],
    compute: Callable[..., dict[int, Values]],
    compare: Callable[[dict[int, Values], dict[int, Values]], Shares],
    path: Any,
) -> tuple[tuple[int, str], float] | None:
    """Return the largest difference that noise of the size of rounding does not explain, or None.

    ``compute`` repeats the numbers of the plain loop with such noise. Differences of weights are
    compared with its largest effect on any of them, those of a metric with its largest effect on
    this metric.
    Raises CircletError, which names the file ``path``, if the loop does not repeat its numbers.
    """
    with _Coarsest() as coarsest:
        again = compute(plain)
    if not all(purity.equal(again[seed].values(), plain[seed].values()) for seed in plain):
        raise CircletError(
            f"{path}: a plain PyTorch loop of this network gives other numbers when it is "
            "repeated: draw from seeds.stream(), or with PyTorch in network() and data(), and "
            "use no clock or uninitialised memory"
        )
    usual: dict[str, float] = {}
    for of_metrics, eps in ((False, coarsest.of_loss), (True, coarsest.of_all)):
        noisy = compute(plain, noise=eps)
        for (_, name), share in compare(noisy, plain).items():
            if is_metric(name) == of_metrics:
                kind = name if of_metrics else ""
                usual[kind] = max(share, usual.get(kind, CLOSE / ROUNDING))
    larger = {
        key: share
        for key, share in differences.items()
        if share > ROUNDING * usual[key[1] if is_metric(key[1]) else ""]
    }
    return max(larger.items(), key=lambda item: item[1], default=None)


class _Coarsest(TorchDispatchMode):
    """Finds the lowest precision of the floating-point numbers that operations compute."""

    of_loss = 1e-15  # of operations with gradients
    of_all = 1e-15

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        floats = (t for t in trees.tensors(result) if t.is_floating_point() and t.dim())
        eps = max((torch.finfo(t.dtype).eps for t in floats), default=0.0)
        self.of_all = max(self.of_all, eps)
        if torch.is_grad_enabled():
            self.of_loss = max(self.of_loss, eps)
        return result
