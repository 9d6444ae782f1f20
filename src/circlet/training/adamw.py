"""AdamW, the optimiser of all trained systems."""

from typing import Any

import torch
from torch import Tensor

from circlet.training.stack import copy_exactly

BETAS = (0.9, 0.999)
EPS = 1e-8


class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), PyTorch's defaults.

    Every operation is elementwise, so runs stacked in one tensor are the runs by themselves, up to
    rounding: the kernel's last values of a tensor miss a fused multiplication.

    It calls the kernel of ``torch.optim.AdamW(fused=True)``, one pass over all values, the same on
    every device, without the class itself: making one imports torch's compiler, 0.9 s in
    every job, as long as many blocks take. ``values`` are tensors by the multiple of the learning
    rate that they have; those at 0 are frozen, and neither move nor decay.
    """

    def __init__(self, values: dict[float, Tensor], learning_rate: float, weight_decay: float):
        self.values = {rate: tensor for rate, tensor in values.items() if rate}
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.means = {rate: torch.zeros_like(tensor) for rate, tensor in self.values.items()}
        self.squares = {rate: torch.zeros_like(tensor) for rate, tensor in self.values.items()}
        # Where the values are, so that a step needs nothing of the CPU (see graphs.py).
        device = next(iter(values.values())).device
        self.steps = torch.zeros((), dtype=torch.float32, device=device)

    def step(self, gradients: dict[float, Tensor]) -> None:
        """Update the values in place, given their gradients of the same shapes."""
        self.steps += 1
        for rate, tensor in self.values.items():
            torch._fused_adamw_(
                [tensor],
                [gradients[rate]],
                [self.means[rate]],
                [self.squares[rate]],
                [],
                [self.steps],
                lr=rate * self.learning_rate,
                beta1=BETAS[0],
                beta2=BETAS[1],
                weight_decay=self.weight_decay,
                eps=EPS,
                amsgrad=False,
                maximize=False,
            )

    def state(self) -> dict[str, Any]:
        """What ``restore`` needs to go on from here, on the CPU."""
        return {
            "steps": self.steps.cpu(),
            "means": {rate: mean.cpu() for rate, mean in self.means.items()},
            "squares": {rate: square.cpu() for rate, square in self.squares.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state; raises ValueError if its tensors are not of the same shapes."""
        copy_exactly({0: state["steps"]}, {0: self.steps})
        copy_exactly(state["means"], self.means)
        copy_exactly(state["squares"], self.squares)
