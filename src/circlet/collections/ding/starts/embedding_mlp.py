"""Initial weights, train pairs and kernel settings of a run of embedding_mlp."""

from typing import Any

import numpy as np

from circlet import native
from circlet.study.seeds import Seeds


def pairs(p: int) -> np.ndarray:
    """All ordered pairs (a, b), shape (p^2, 2), in lexicographic order."""
    return np.stack(np.divmod(np.arange(p * p), p), axis=1)


def train_mask(parameters: dict[str, Any], seeds: Seeds) -> np.ndarray:
    """Return which pairs are train pairs of one run, (p^2,), bool."""
    n = parameters["p"] ** 2
    chosen = seeds.stream("data").permutation(n)[: int(parameters["train_fraction"] * n)]
    mask = np.zeros(n, dtype=bool)
    mask[chosen] = True
    return mask


def initial(parameters: dict[str, Any], seeds: Seeds) -> dict[str, np.ndarray]:
    """Parameters of one run at step 0, float64: weights (outputs, inputs), biases (outputs, 1)."""
    p, d, hidden = parameters["p"], parameters["d"], parameters["hidden"]
    embedding = parameters["embedding_std"] * seeds.stream("embedding").normal(size=(p, d))
    arrays = {"embedding": embedding}
    network = seeds.stream("network")
    layers = {"hidden1": (hidden, 2 * d), "hidden2": (hidden, hidden), "output": (p, hidden)}
    for layer, (outputs, inputs) in layers.items():
        for name, shape in (("weight", (outputs, inputs)), ("bias", (outputs, 1))):
            if parameters["initialisation"] == "torch":
                values = network.uniform(-1, 1, shape) / np.sqrt(inputs)
            else:
                values = network.normal(size=shape)
            arrays[f"{layer}.{name}"] = values
    return arrays


def kernel(parameters: dict[str, Any], seeds: Seeds) -> native.PairNetwork:
    """The settings of the native kernel for one run."""
    activation = {"relu": native.RELU, "silu": native.SILU}[parameters["activation"]]
    return native.PairNetwork.of(
        pairs(parameters["p"]),
        train_mask(parameters, seeds),
        **{n: parameters[n] for n in ("p", "d", "hidden")},
        has_first_layer=True,
        activation=activation,
        is_exact=parameters["residual"] == "exact",
    )
