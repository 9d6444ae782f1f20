"""Curvature of the loss of a trained network: the largest eigenvalue of its Hessian."""

import math

import numpy as np
import torch
from torch import Tensor

from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.systems import loss

ITERATIONS = 16  # at most
CONVERGED = 1e-9  # relative change of the largest eigenvalue, usually after six or seven iterations
TOGETHER = 2**18  # values of a layer that are held at once


def _hessian_product(weights: list[Tensor], gradient: list[Tensor], vector: Tensor) -> Tensor:
    """Return H v of each run, (runs, values), from a gradient that has its graph."""
    parts = vector.split([w[0].numel() for w in weights], dim=1)
    product = sum((g * v.view_as(g)).sum() for g, v in zip(gradient, parts, strict=True))
    return torch.cat(
        [h.flatten(1) for h in torch.autograd.grad(product, weights, retain_graph=True)], 1
    )


def largest(weights: dict[str, Tensor], chosen: system.Sequences, p: int) -> np.ndarray:
    """Largest eigenvalue of the Hessian of the mean cross-entropy of every run, (runs,).

    By Lanczos' method with full reorthogonalisation, from a fixed random vector; the Hessian
    itself is never made. ``weights`` are arrays by name, (runs, ...); ``chosen`` are the sequences
    of the mean loss, for as many runs.
    """
    size = max(1, TOGETHER // (chosen.target.shape[2] * weights["hidden.weight"].shape[1]))
    eigenvalues = []
    for part in (slice(i, i + size) for i in range(0, len(chosen.target), size)):
        part_weights = {name: array[part] for name, array in weights.items()}
        eigenvalues.append(
            _lanczos(part_weights, system.Sequences(chosen.absent[part], chosen.target[part]), p)
        )
    return np.concatenate(eigenvalues)


@torch.enable_grad()
def _lanczos(weights: dict[str, Tensor], chosen: system.Sequences, p: int) -> np.ndarray:
    leaves = {name: array.double().requires_grad_() for name, array in weights.items()}
    sequences = system.Sequences(chosen.absent.double(), chosen.target)
    losses, _ = loss.metrics(system.logits(leaves, sequences, p), sequences.target, 1)
    arrays = list(leaves.values())
    gradient = torch.autograd.grad(losses.sum(), arrays, create_graph=True)
    n = sum(array[0].numel() for array in arrays)
    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(1, n, generator=generator, dtype=torch.float64).expand(len(losses), n)
    basis = [vector / math.sqrt(vector[0].square().sum())]
    diagonal, beside = [], []
    values = torch.full((len(losses),), torch.nan, dtype=torch.float64)
    with torch.no_grad():
        for _ in range(min(ITERATIONS, n)):
            with torch.enable_grad():
                following = _hessian_product(arrays, gradient, basis[-1])
            diagonal.append((following * basis[-1]).sum(1))
            before, values = values, _largest_of_tridiagonal(diagonal, beside)
            if torch.allclose(values, before, rtol=CONVERGED, atol=0, equal_nan=True):
                break
            vectors = torch.stack(basis, 1)  # (runs, vectors, n)
            for _ in range(2):  # twice, because rounding leaves a remainder
                following = following - ((vectors @ following[..., None]).mT @ vectors)[:, 0]
            norm = torch.linalg.vector_norm(following, dim=1)
            beside.append(norm)
            basis.append(following / norm.clamp(min=1e-300)[:, None])
    return values.numpy()


def _largest_of_tridiagonal(diagonal: list[Tensor], beside: list[Tensor]) -> Tensor:
    """Return the largest eigenvalue of each run's matrix; NaN if the matrix is not finite."""
    matrix = torch.diag_embed(torch.stack(diagonal, 1))
    if beside:
        off = torch.diag_embed(torch.stack(beside, 1), 1)
        matrix = matrix + off + off.mT
    finite = torch.isfinite(matrix).all((1, 2))
    matrix[~finite] = 0
    values = torch.linalg.eigvalsh(matrix)[:, -1]
    values[~finite] = torch.nan
    return values
