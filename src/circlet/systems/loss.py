"""Cross-entropy without cancellation: the loss of every trained system, and its gradient.

With o_j the logits and y the right class, softmax_y - 1 cancels once the network is nearly certain:
in float32 it is noise below 1e-7, which Adam then scales up to full steps. Minus the sum of the
other probabilities is the same number and exact. Likewise for the loss, log(1 + sum_(j != y)
exp(o_j - o_y)) is the same as logsumexp(o) - o_y, without the difference of large numbers.
"""

import torch
from torch import Tensor


def logit_gradient(logits: Tensor, target: Tensor, dim: int) -> Tensor:
    """Return the exact gradient of each example's cross-entropy by its logits: softmax - onehot.

    The classes of ``logits`` are along ``dim``; ``target`` has the right ones, of the same shape
    but for a length of 1 along ``dim``. The gradient has the shape of ``logits`` and sums to zero
    along ``dim``.
    """
    result = torch.softmax(logits, dim).scatter_(dim, target, 0.0)
    return result.scatter_(dim, target, -result.sum(dim, keepdim=True))


def cancelling_logit_gradient(logits: Tensor, target: Tensor, dim: int) -> Tensor:
    """Return the gradient with softmax_y - 1, as PyTorch computes it, to show its effect."""
    result = torch.softmax(logits, dim)
    return result.scatter_add_(dim, target, result.new_full((), -1.0).expand(target.shape))


def cross_entropy(logits: Tensor, target: Tensor, dim: int) -> Tensor:
    """Return the cross-entropy (nat) of every example, of the shape of ``logits`` without ``dim``.

    Its gradient by autograd, also under ``torch.func.vmap``, is exact, too.
    """
    right = _classes(logits, dim) == target
    above = (logits - logits.gather(dim, target)).masked_fill(right, -torch.inf)
    return torch.nn.functional.softplus(above.logsumexp(dim))


def _classes(logits: Tensor, dim: int) -> Tensor:
    """Return the numbers of the classes, along ``dim``."""
    shape = [-1 if i == dim % logits.dim() else 1 for i in range(logits.dim())]
    return torch.arange(logits.shape[dim], device=logits.device).view(shape)


def metrics(logits: Tensor, target: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy (nat) and accuracy (0..1) of each run, shapes (runs,).

    An example counts as correct if its class has the largest logit; among equal logits the first
    counts. Arguments are as for ``logit_gradient``; the first dimension is the run.
    """
    above = (logits - logits.gather(dim, target)).scatter_(dim, target, -torch.inf)
    loss = torch.nn.functional.softplus(above.logsumexp(dim))
    # Equal to argmax, but several times faster.
    classes = _classes(logits, dim)
    wrong = (above > 0).logical_or_((above == 0).logical_and_(classes < target)).any(dim)
    right = wrong.logical_not_().logical_and_(loss == loss)
    return loss.mean(1), right.to(logits.dtype).mean(1)
