"""One network at one step, layer by layer, for the panels of the visual sandbox.

Probe sequences go through the network; every layer's vectors are projected on a plane, so that any
d can be drawn. For d = 2 that is the plane itself; else the plane through the origin that holds
most of the squared length of the layer's vectors.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from circlet.collections.odonnat import clusters
from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.config.schedules import evenly

PER_SUM, SUFFIXES, MAX_SUMS = 2, 4, 12
GRID = 60  # points of a decision map, across and down
MARGIN = 0.15  # of a map around its points

View = dict[str, np.ndarray]
"""Arrays by name: ``_xy``, places in a layer's plane; ``_box``, left, right, bottom, top of it."""


def probe_tokens(p: int, length: int, k: int) -> np.ndarray:
    """Sequences for the panels, (probes, length): up to two prefixes per sum, four suffixes each.

    At most 12 sums, evenly from the least to the largest. They are the same for all runs.
    """
    stream = np.random.default_rng(0)
    prefixes = np.unique(stream.integers(p, size=(20_000, k)), axis=0)
    ends = np.stack([np.zeros(k, int), np.full(k, p - 1)])  # the only prefixes with these sums
    prefixes = np.unique(np.concatenate([prefixes, ends]), axis=0)
    sums = prefixes.sum(1)
    chosen = []
    for s in evenly(range(k * (p - 1) + 1), MAX_SUMS):
        alike = prefixes[sums == s]
        chosen += list(stream.permutation(alike)[:PER_SUM])
    suffixes = stream.integers(p, size=(len(chosen) * SUFFIXES, length - k))
    return np.hstack([np.repeat(chosen, SUFFIXES, axis=0), suffixes])


def _plane(points: Tensor) -> np.ndarray:
    """Two columns that span a plane of R^d, for points (..., d)."""
    d = points.shape[-1]
    if d <= 2:
        return np.eye(d, 2)
    _, _, directions = np.linalg.svd(points.reshape(-1, d).numpy(), full_matrices=False)
    plane = directions[:2].T
    return plane * np.sign(plane[np.abs(plane).argmax(0), [0, 1]])  # fixes the sign


def _box(*places: np.ndarray, origin: bool = True) -> np.ndarray:
    """Left, right, bottom and top of a square that holds some places, (..., 2), with a margin."""
    points = np.concatenate([xy.reshape(-1, 2) for xy in (*places, np.zeros((int(origin), 2)))])
    low, high = points.min(0), points.max(0)
    half = max((high - low).max(), 1e-6) * (0.5 + MARGIN)
    middle = (low + high) / 2
    return np.array([middle[0] - half, middle[0] + half, middle[1] - half, middle[1] + half])


def _grid(box: np.ndarray, plane: np.ndarray, points: Tensor) -> Tensor:
    """Return grid points of a plane in R^d, (1, d, grid), shifted off it by the mean of points."""
    x, y = (np.linspace(low, high, GRID) for low, high in (box[:2], box[2:]))
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    mean = points.mean(1).numpy()
    outside = mean - plane @ (plane.T @ mean)
    return torch.as_tensor((plane @ places.T + outside[:, None])[None])


def _map(logits: Tensor) -> np.ndarray:
    """Probabilities on a grid, (down, across, vocabulary)."""
    return torch.softmax(logits, 1)[0].T.reshape(GRID, GRID, -1).numpy()


def _clusters(network: dict[str, Tensor], parameters: dict[str, Any], tokens: np.ndarray) -> View:
    """The sum that each probe's cluster stands for, and whether the signature is legal."""
    p, k, length = (parameters[name] for name in ("p", "k", "length"))
    of = clusters.probes(p, length, k)
    weights = {name: array.float() for name, array in network.items()}
    signature = clusters.signature(clusters.embed(weights, of, p), of.tokens, p, k)
    return {"cluster": tokens @ signature.integers[0].numpy(), "legal": signature.legal.numpy()}


@torch.no_grad()
def view(weights: dict[str, np.ndarray], parameters: dict[str, Any]) -> View:
    """Return the data of one network that the panels draw, and the limits of its planes.

    ``weights`` are the arrays of one run at one step, by name, ``parameters`` those of its point.
    """
    p, k, length = (parameters[name] for name in ("p", "k", "length"))
    network = {n: torch.as_tensor(a, dtype=torch.float64)[None] for n, a in weights.items()}
    tokens = probe_tokens(p, length, k)
    chosen = system.encode(tokens[None], p, k, torch.float64, torch.device("cpu"))
    e, z, score, value = system.tables(network, p)
    alpha = system.attention(score, chosen)[0].unflatten(0, (p, length))
    xi = system.embed(network, chosen, p)
    s, _ = system.norm(xi, 1)
    m = system.mlp(network, s)
    # The vectors whose plane is drawn, (n, d), by layer.
    layers = {"embedding": z[0], "xi": xi[0].T, "s": s[0].T, "r": (xi + m)[0].T}
    vectors = {  # that are drawn, each with the layer in whose plane it lies
        "token": (network["embedding"][0], "embedding"),
        "position": (network["position"][0], "embedding"),
        "pair": (e[0].unflatten(0, (p, length)), "embedding"),
        "normed": (z[0].unflatten(0, (p, length)), "embedding"),
        "query": (network["query"][0], "embedding"),
        "value": (value[0].unflatten(0, (p, length)), "xi"),
        "xi": (layers["xi"], "xi"),
        "s": (layers["s"], "s"),
        "receptor": (network["hidden.weight"][0], "s"),
        "assembler": (network["output.weight"][0].T, "r"),
        "mlp": (m[0].T, "r"),
        "r": (layers["r"], "r"),
    }
    planes = {layer: _plane(points) for layer, points in layers.items()}
    xy = {name: points.numpy() @ planes[layer] for name, (points, layer) in vectors.items()}
    boxes = {name: _box(places) for name, places in xy.items()}
    boxes |= {"xi": _box(xy["xi"], origin=False), "r": _box(xy["r"], xy["mlp"], origin=False)}
    on_xi = system.classify(network, _grid(boxes["xi"], planes["xi"], layers["xi"].T))
    on_r = network["embedding"] @ _grid(boxes["r"], planes["r"], layers["r"].T)
    drawn = {
        "tokens": tokens,
        "prefix": np.array([k]),
        "label": tokens[:, :k].sum(1) % p,
        "sum": tokens[:, :k].sum(1),
        **_clusters(network, parameters, tokens),
        "attention": alpha.sum(0).T.numpy(),  # (probes, length)
        "xi_map": _map(on_xi),
        "r_map": _map(on_r),
        "probability": torch.softmax(network["embedding"] @ layers["r"].T, 1)[0].T.numpy(),
    }
    drawn |= {f"{name}_xy": places for name, places in xy.items()}
    drawn |= {f"{name}_box": box for name, box in boxes.items()}
    return drawn


IDEAL = {"p": 2, "d": 2, "length": 12, "k": 5, "vocabulary": 2}
SHARPNESS = 20.0  # of the hinges of the idealised MLP, so that a gelu is nearly a ramp
SCORE = 2.0  # of the right class at the idealised clusters


def idealised() -> dict[str, np.ndarray]:
    """A clustering head and its classifier, made by hand, for p = 2 and d = 2 (figure 1).

    Tokens lie left and right, positions of the prefix above and those of the distractors below;
    the query points up, and the value matrix is the identity: xi of a prefix with j ones is
    ((2 j - k) / k, 1). Between any two neighbouring clusters lies the edge of one neuron of the
    MLP. The neurons' weights solve the k + 1 equations that alternate the predicted class from one
    cluster to the next.
    """
    k, length = IDEAL["k"], IDEAL["length"]
    position = np.where(np.arange(length)[:, None] < k, [[0.0, 1.0]], [[0.0, -1.0]])
    x = (2 * np.arange(k + 1) - k) / k  # the clusters
    edges = (x[1:] + x[:-1]) / 2
    receptors = SHARPNESS * np.stack([np.ones(k), -edges], axis=1)
    s = np.stack([x, np.ones(k + 1)])
    s /= np.sqrt((s**2).mean(0))
    hidden = torch.nn.functional.gelu(torch.as_tensor(receptors @ s)).numpy()  # (k, clusters)
    scores = SCORE * np.where(np.arange(k + 1) % 2, 1, -1) - x
    solved = np.linalg.solve(np.vstack([hidden, np.ones(k + 1)]).T, scores)
    return {
        "embedding": np.array([[-1.0, 0.0], [1.0, 0.0]]),
        "position": position,
        "query": np.array([[0.0, 10.0]]),
        "value.weight": np.eye(2),
        "hidden.weight": receptors,
        "output.weight": np.stack([solved[:k], np.zeros(k)]),
        "hidden.bias": np.zeros((k, 1)),
        "output.bias": np.array([[solved[k]], [0.0]]),
    }


def rows(drawn: View) -> list[dict[str, Any]]:
    """A view as rows of a table, one per array."""
    return [
        {"name": name, "shape": array.shape, "values": array.astype(np.float32).ravel()}
        for name, array in drawn.items()
    ]
