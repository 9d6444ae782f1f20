"""AdamW, the optimiser of all trained systems."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

BETAS = (0.9, 0.999)
EPS = 1e-8

_fused = getattr(torch, "_fused_adamw_", None)  # private: another release may have none


class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), PyTorch's defaults.

    Every operation is elementwise. Runs stacked in one tensor match single runs up to rounding: the
    kernel's last values of a tensor miss a fused multiplication.

    It calls the kernel of ``torch.optim.AdamW(fused=True)``, one pass over all values, the same on
    every device, without the class itself: making one imports torch's compiler, 0.9 s in
    every job, as long as many blocks take. ``values`` are tensors by the multiple of the learning
    rate that they have; those at 0 are frozen, and neither move nor decay.
    """

    def __init__(
        self,
        values: dict[float, Float[Tensor, "runs values"]],
        learning_rate: float,
        weight_decay: float,
    ):
        self.values = {multiple: tensor for multiple, tensor in values.items() if multiple}
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.means = {key: torch.zeros_like(tensor) for key, tensor in self.values.items()}
        self.squares = {key: torch.zeros_like(tensor) for key, tensor in self.values.items()}
        # Where the values are, so that a step needs nothing of the CPU (see cuda_graphs.py).
        device = next(iter(values.values())).device
        self.steps = torch.zeros((), dtype=torch.float32, device=device)

    def step(self, gradients: dict[float, Float[Tensor, "runs values"]]) -> None:
        """Update the values in place, given their gradients of the same shapes."""
        self.steps += 1
        for multiple, tensor in self.values.items():
            (_fused or _plain)(
                [tensor],
                [gradients[multiple]],
                [self.means[multiple]],
                [self.squares[multiple]],
                [],
                [self.steps],
                lr=multiple * self.learning_rate,
                beta1=BETAS[0],
                beta2=BETAS[1],
                weight_decay=self.weight_decay,
                eps=EPS,
                amsgrad=False,
                maximize=False,
            )

    @property
    def state(self) -> dict[str, Any]:
        """The tensors that change from step to step, beside the values."""
        return {"steps": self.steps, "means": self.means, "squares": self.squares}


def _plain(
    values, gradients, means, squares, _, steps, *, lr, beta1, beta2, weight_decay, eps, **_k
):
    """The kernel in public operations, for releases of PyTorch without it; several times slower."""
    [x], [gradient], [mean], [square], [step] = values, gradients, means, squares, steps
    mean.lerp_(gradient, 1 - beta1)
    square.lerp_(gradient.square(), 1 - beta2)
    first, second = (1 - beta ** step.double() for beta in (beta1, beta2))  # 1 - 0.999 cancels
    size, root = (lr / first).to(x.dtype), second.sqrt().to(x.dtype)
    x.mul_(1 - lr * weight_decay).sub_(size * mean / (square.sqrt() / root + eps))
