"""Curvature of the loss of a trained network: the largest eigenvalue of its Hessian."""

import math

import numpy as np
import torch
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from torch import Tensor

from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.systems import loss


def largest(weights: dict[str, Tensor], chosen: system.Sequences, p: int) -> np.ndarray:
    """Largest eigenvalue of the Hessian of the mean cross-entropy of every run, (runs,).

    By Lanczos' method (ARPACK), from a fixed random vector, which stops at 1e-4 of the eigenvalue.
    Products with the Hessian, which itself is never made, are in single precision.
    ``weights`` are arrays by name, (runs, ...); ``chosen`` are the sequences of the mean loss, for
    as many runs.
    """
    eigenvalues = []
    for run in (slice(i, i + 1) for i in range(len(chosen.target))):
        own = system.Sequences(chosen.absent[run], chosen.target[run])
        eigenvalues.append(_of_run({name: array[run] for name, array in weights.items()}, own, p))
    return np.array(eigenvalues)


@torch.enable_grad()
def _of_run(weights: dict[str, Tensor], chosen: system.Sequences, p: int) -> float:
    leaves = {name: array.float().requires_grad_() for name, array in weights.items()}
    sequences = system.Sequences(chosen.absent.float(), chosen.target)
    losses, _ = loss.metrics(system.logits(leaves, sequences, p), sequences.target, 1)
    arrays = list(leaves.values())
    gradient = torch.autograd.grad(losses.sum(), arrays, create_graph=True)
    sizes = [array.numel() for array in arrays]
    n = sum(sizes)

    def product(vector: np.ndarray) -> np.ndarray:
        parts = torch.as_tensor(vector, dtype=torch.float32).split(sizes)
        along = sum((g * v.view_as(g)).sum() for g, v in zip(gradient, parts, strict=True))
        by_array = torch.autograd.grad(along, arrays, retain_graph=True)
        return torch.cat([part.flatten() for part in by_array]).numpy()

    start = np.random.default_rng(0).normal(size=n)
    hessian = LinearOperator((n, n), product, dtype=np.float64)
    try:
        (value,) = eigsh(hessian, 1, which="LA", v0=start, ncv=min(7, n), tol=1e-4,
                         return_eigenvectors=False)  # fmt: skip
    except ArpackError:  # of a loss that is not finite, or is zero; or it does not converge
        return math.nan
    return value
