"""The optimisers of all trained systems: AdamW, Adam, and gradient descent with momentum.

Every operation is elementwise. Runs stacked in one tensor match single runs up to rounding: kernels
compute the last values of a tensor without fused multiply-add.

AdamW and Adam call the kernels of ``torch.optim`` with ``fused=True``, one pass over all values,
the same on every device, without its classes: making one imports torch's compiler, 0.9 s in every
job, as long as many blocks take.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

BETAS = (0.9, 0.999)
EPS = 1e-8

Values = dict[tuple[float, float], Float[Tensor, "runs values"]]
"""Tensors by the multiples of learning rate and weight decay that they have; those with a learning
rate of 0 are frozen, and neither move nor decay."""


class Adam:
    """Adam (Kingma and Ba 2015), PyTorch's defaults.

    Its weight decay is decoupled (Loshchilov and Hutter 2019), or else added to the gradient.
    """

    def __init__(
        self, values: Values, learning_rate: float, weight_decay: float, decoupled: bool = True
    ):
        self.values = {key: tensor for key, tensor in values.items() if key[0]}
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.decoupled = decoupled
        # Private functions, which other releases of PyTorch may lack.
        self.kernel = getattr(torch, "_fused_adamw_" if decoupled else "_fused_adam_", None)
        self.means = {key: torch.zeros_like(tensor) for key, tensor in self.values.items()}
        self.squares = {key: torch.zeros_like(tensor) for key, tensor in self.values.items()}
        # On the device of the values, so that a step does not involve the CPU (see cuda_graphs.py).
        device = next(iter(values.values())).device
        self.steps = torch.zeros((), dtype=torch.float32, device=device)
        # The tensors, other than the values, that change from step to step, in place.
        self.state = {"steps": self.steps, "means": self.means, "squares": self.squares}

    def step(self, gradients: Values) -> None:
        """Update the values in place, given their gradients of the same shapes."""
        self.steps += 1
        for key, tensor in self.values.items():
            if self.kernel is None:
                self._step(key, gradients[key])
                continue
            rate, decay = key
            self.kernel(
                [tensor],
                [gradients[key]],
                [self.means[key]],
                [self.squares[key]],
                [],
                [self.steps],
                lr=rate * self.learning_rate,
                beta1=BETAS[0],
                beta2=BETAS[1],
                weight_decay=decay * self.weight_decay,
                eps=EPS,
                amsgrad=False,
                maximize=False,
            )

    def _step(self, key: tuple[float, float], gradient: Tensor) -> None:
        """Take the same step by public operations, several times slower than the kernel."""
        x, mean, square = self.values[key], self.means[key], self.squares[key]
        learning_rate, weight_decay = key[0] * self.learning_rate, key[1] * self.weight_decay
        if self.decoupled:
            x.mul_(1 - learning_rate * weight_decay)
        else:
            gradient = gradient + weight_decay * x
        mean.lerp_(gradient, 1 - BETAS[0])
        square.lerp_(gradient.square(), 1 - BETAS[1])
        # In double precision, because 1 - 0.999 cancels.
        first, second = (1 - beta ** self.steps.double() for beta in BETAS)
        size, root = (learning_rate / first).to(x.dtype), second.sqrt().to(x.dtype)
        x.sub_(size * mean / (square.sqrt() / root + EPS))


class SGD:
    """Gradient descent with momentum, as ``torch.optim.SGD`` has it; weight decay is coupled."""

    def __init__(
        self, values: Values, learning_rate: float, weight_decay: float, momentum: float = 0.0
    ):
        self.values = {key: tensor for key, tensor in values.items() if key[0]}
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.momentum = momentum
        moving = self.values if momentum else {}
        self.velocities = {key: torch.zeros_like(tensor) for key, tensor in moving.items()}
        self.state = {"velocities": self.velocities}  # as in Adam

    def step(self, gradients: Values) -> None:
        """Update the values in place, given their gradients of the same shapes."""
        for key, tensor in self.values.items():
            (rate, decay), change = key, gradients[key]
            if self.weight_decay:
                change = change.add(tensor, alpha=decay * self.weight_decay)
            if self.momentum:
                change = self.velocities[key].mul_(self.momentum).add_(change)
            tensor.add_(change, alpha=-rate * self.learning_rate)


def optimizer(parameters: dict[str, Any], values: Values) -> Adam | SGD:
    """Return the optimiser that a point's parameters name; AdamW by default."""
    arguments = parameters["learning_rate"], parameters.get("weight_decay", 0.0)
    match parameters.get("optimizer", "adamw"):
        case "adamw":
            return Adam(values, *arguments)
        case "adam":
            return Adam(values, *arguments, decoupled=False)
        case "sgd":
            return SGD(values, *arguments, parameters.get("momentum", 0.0))
        case name:
            raise NotImplementedError(name)
