"""Initial weights, sequences and kernel settings of a run of sparse_transformer."""

from typing import Any

import numpy as np

from circlet import native
from circlet.study.seeds import Seeds

_SIZES = ("p", "d", "length", "k", "vocabulary", "hidden", "batch_size")


def sequences(parameters: dict[str, Any], seeds: Seeds) -> tuple[np.ndarray, np.ndarray]:
    """Tokens of the train and of the test set of one run, (n_train, length), (n_test, length)."""
    p, length = parameters["p"], parameters["length"]
    stream = seeds.stream("data")
    sizes = (parameters["n_train"], parameters["n_test"])
    train, test = (stream.integers(p, size=(n, length), dtype=np.uint8) for n in sizes)
    return train, test


def initial(parameters: dict[str, Any], seeds: Seeds) -> dict[str, np.ndarray]:
    """Parameters of one run at step 0, float64: weights (outputs, inputs), biases (outputs, 1).

    Neurons are drawn one after the other, so networks of different widths share their first ones.
    """
    d, hidden = parameters["d"], parameters["hidden"]
    embedding, network = seeds.stream("embedding"), seeds.stream("network")
    arrays = {
        "embedding": embedding.normal(size=(parameters["vocabulary"], d)),
        "position": embedding.normal(size=(parameters["length"], d)),
        "query": network.uniform(-1, 1, (1, d)) / np.sqrt(d),
        "value.weight": network.uniform(-1, 1, (d, d)) / np.sqrt(d),
    }
    output_bias = network.uniform(-1, 1, (d, 1)) / np.sqrt(hidden)
    neurons = network.uniform(-1, 1, (hidden, 2 * d + 1))
    arrays |= {
        "hidden.weight": neurons[:, :d] / np.sqrt(d),
        "output.weight": neurons[:, d : 2 * d].T / np.sqrt(hidden),
    }
    if parameters["bias"]:
        arrays |= {"hidden.bias": neurons[:, 2 * d :] / np.sqrt(d), "output.bias": output_bias}
    return arrays


def learning_rate_multipliers(parameters: dict[str, Any]) -> dict[str, float]:
    """Multiples of the learning rate by array, where they are not 1."""
    mlp = ("hidden.weight", "output.weight", "hidden.bias", "output.bias")
    return dict.fromkeys(mlp if parameters["bias"] else mlp[:2], 1 / parameters["mlp_divisor"])


class Settings(native.Settings):
    """See native/kernels/sparse_transformer.hpp.

    ``tokens`` (sequences, length) uint8 are the train sequences, then the test sequences.
    """

    maker = "sparse_transformer"
    _fields_ = (
        *((name, native.WHOLE) for name in _SIZES),
        ("has_bias", native.FLAG),
        ("dropout", native.REAL),
        ("sizes", native.WHOLE * 2),
        ("tokens", native.ADDRESS),
    )


def kernel(parameters: dict[str, Any], seeds: Seeds) -> Settings:
    """The settings of the native kernel for one run."""
    return Settings(
        **{name: parameters[name] for name in (*_SIZES, "dropout")},
        has_bias=parameters["bias"],
        sizes=(parameters["n_train"], parameters["n_test"]),
        tokens=np.concatenate(sequences(parameters, seeds)),
    )
