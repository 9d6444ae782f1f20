"""Initial weights, train pairs and kernel settings of a run of constant_attention."""

import itertools
from typing import Any

import numpy as np

from circlet import native
from circlet.study.seeds import Seeds


def pairs(p: int) -> np.ndarray:
    """All unordered pairs a <= b, shape (p (p + 1) / 2, 2), in lexicographic order."""
    return np.array(list(itertools.combinations_with_replacement(range(p), 2)))


def train_mask(parameters: dict[str, Any], seeds: Seeds) -> np.ndarray:
    """Return which pairs are train pairs of one run, (pairs,), bool."""
    n = len(pairs(parameters["p"]))
    chosen = seeds.stream("data").permutation(n)[: int(parameters["train_fraction"] * n)]
    mask = np.zeros(n, dtype=bool)
    mask[chosen] = True
    return mask


def _linear(
    stream: np.random.Generator, kind: str, outputs: int, inputs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Weight (outputs, inputs) and bias (outputs, 1) of a layer at step 0."""
    match kind:
        case "glorot":
            bound = np.sqrt(6 / (inputs + outputs))
            weight = stream.uniform(-bound, bound, (outputs, inputs))
        case "lecun":
            weight = stream.standard_normal((outputs, inputs)) / np.sqrt(inputs)
        case "small_normal":
            weight = 0.02 * stream.standard_normal((outputs, inputs))
        case _:
            weight = stream.uniform(-1, 1, (outputs, inputs)) / np.sqrt(inputs)
    bias = stream.uniform(-1, 1, (outputs, 1)) / np.sqrt(inputs)
    return weight, bias if kind == "torch" else np.zeros_like(bias)


def initial(parameters: dict[str, Any], seeds: Seeds) -> dict[str, np.ndarray]:
    """Parameters of one run at step 0, float64; biases are columns."""
    p, d, hidden = parameters["p"], parameters["d"], parameters["hidden"]
    network = seeds.stream("network")
    hidden_weight, hidden_bias = _linear(network, parameters["initialisation"], hidden, d)
    output_weight, output_bias = _linear(network, parameters["initialisation"], p, hidden)
    return {
        "embedding": parameters["embedding_std"] * seeds.stream("embedding").normal(size=(p, d)),
        "hidden.weight": hidden_weight,
        "hidden.bias": hidden_bias,
        "output.weight": output_weight,
        "output.bias": output_bias,
    }


def kernel(parameters: dict[str, Any], seeds: Seeds) -> native.PairNetwork:
    """The settings of the native kernel for one run."""
    mask = train_mask(parameters, seeds)
    return native.PairNetwork.of(
        pairs(parameters["p"]),
        mask,
        **{n: parameters[n] for n in ("p", "d", "hidden")},
        has_first_layer=False,
        activation=native.RELU,
        is_exact=True,
    )
