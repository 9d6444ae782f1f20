"""Interventions: transforms of the initial state, most of them of the embedding.

A config names them in ``interventions``, in the order in which they act. ``INTERVENTIONS`` declares
the arguments of each as JSON schemas. ``freeze`` transforms nothing: it keeps the embedding as it
is throughout the training.
"""

from typing import Any

import numpy as np

VERSION = 1  # raised whenever their numbers change; runs with interventions are then made again

INTERVENTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "scale": {
        "frequency": {
            "description": "The frequency whose Fourier coefficient is multiplied.",
            "type": "integer",
            "minimum": 1,
        },
        "factor": {"description": "By what it is multiplied.", "type": "number", "minimum": 0},
    },
    "construct": {
        "ratio": {
            "description": (
                "Signal of the second of two random frequencies, as a share of the first one's; "
                "all others are nearly zero."
            ),
            "type": "number",
            "minimum": 0,
            "maximum": 1,
        },
        "size": {
            "description": "Signal of the first frequency.",
            "type": "number",
            "exclusiveMinimum": 0,
            "default": 80.0,
        },
    },
    "keep": {
        "frequencies": {
            "description": "The frequencies that are kept; the rest is set to zero.",
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"type": "integer", "minimum": 1},
            "default": None,
        },
        "random": {
            "description": "Keep this number of frequencies, drawn at random for each run.",
            "type": "integer",
            "minimum": 1,
            "default": None,
        },
        "strongest": {
            "description": (
                "Keep this number of frequencies, those with the strongest final signals in the "
                "run of the same seed and parameters of the experiment `of`."
            ),
            "type": "integer",
            "minimum": 1,
            "default": None,
        },
        "of": {
            "description": "Name of the experiment that `strongest` looks at.",
            "type": "string",
            "default": None,
        },
    },
    "freeze": {},
    "transfer": {
        "of": {
            "description": (
                "Name of the experiment from whose last parameters, of the run of the same seed, "
                "all parameters start; the optimiser starts anew."
            ),
            "type": "string",
        }
    },
}

# Logs of the experiment `of` that an intervention looks at.
READS = {"keep": "signals", "transfer": "parameters"}

# Those about frequencies, which need a system whose embedding has signals.
SPECTRAL = ("scale", "construct", "keep")

FLOOR = 1e-6  # signal of the frequencies that `construct` leaves out, as in the released code


def acts(interventions: list[dict[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Name and arguments of each of the interventions that a config lists."""
    return [act for intervention in interventions for act in intervention.items()]


def columns(name: str) -> dict[str, dict[str, Any]]:
    """Schemas of the key columns that an intervention gives a table: ``scale_factor``, ..."""
    if not INTERVENTIONS[name]:
        text = "whether the embedding stays as it is at step 0"
        return {name: {"description": text, "type": "boolean"}}
    return {f"{name}_{argument}": schema for argument, schema in INTERVENTIONS[name].items()}


def is_list_of_values(intervention: str, argument: str, value: Any) -> bool:
    """Whether an argument lists several values, each for a point of its own."""
    if argument == "of":  # names one experiment
        return False
    schema = INTERVENTIONS[intervention].get(argument, {})
    one = isinstance(value, list) and schema.get("type") == "array"
    return isinstance(value, list) and (not one or all(isinstance(v, list) for v in value))


def _component(embedding: np.ndarray, frequencies: list[int]) -> np.ndarray:
    """The part of an embedding (p, d) at some frequencies k and p - k."""
    coefficients = np.fft.rfft(embedding, axis=0)
    chosen = np.zeros_like(coefficients)
    chosen[frequencies] = coefficients[frequencies]
    return np.fft.irfft(chosen, len(embedding), axis=0)


def scale(embedding: np.ndarray, frequency: int, factor: float) -> np.ndarray:
    """Multiply F_k of an embedding (p, d); scaling by 1 / factor takes it back."""
    return embedding + (factor - 1) * _component(embedding, [frequency])


def keep(embedding: np.ndarray, frequencies: list[int]) -> np.ndarray:
    """Set all of an embedding (p, d) to zero but some frequencies; the mean goes, too."""
    return _component(embedding, frequencies)


def construct(
    stream: np.random.Generator, shape: tuple[int, int], ratio: float, size: float
) -> np.ndarray:
    """An embedding (p, d) of two random frequencies with signals ``size`` and ``ratio * size``.

    Every F_k is a random real direction times its signal, and F_(p-k) the same, so that the
    numbers lie on a line per frequency, not on a circle (arXiv 2405.17420, section 3.2.1; its
    released code for what the text leaves open).
    """
    p, d = shape
    first, second = draw(stream, p, 2)
    sizes = np.full((p - 1) // 2, FLOOR)
    sizes[[first - 1, second - 1]] = size, ratio * size
    directions = stream.normal(size=(len(sizes), d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    coefficients = np.zeros((p // 2 + 1, d), dtype=complex)
    coefficients[1 : len(sizes) + 1] = sizes[:, None] * directions
    return np.fft.irfft(coefficients, p, axis=0)


def draw(stream: np.random.Generator, p: int, n: int) -> list[int]:
    """Different frequencies of the modulus p, at random."""
    return [1 + int(k) for k in stream.choice((p - 1) // 2, n, replace=False)]


def apply(
    name: str,
    arguments: dict[str, Any],
    arrays: dict[str, np.ndarray],
    stream: np.random.Generator,
    parent: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """The arrays of a run after one intervention, which draws from ``stream``.

    Arrays are by name, float64; ``embedding`` is (p, d). ``parent`` is what it looks at of another
    run's end: ``signals``, ((p-1)//2,), or the arrays of a transfer. If they are not finite,
    neither is the result: the run cannot be made.
    """
    embedding, final = arrays["embedding"], parent.get("signals", np.array([np.nan]))
    match name:
        case "transfer":
            return {key: parent[key].astype(float) for key in arrays}
        case "scale":
            changed = scale(embedding, **arguments)
        case "construct":
            changed = construct(stream, embedding.shape, **arguments)
        case "keep" if "frequencies" in arguments:
            changed = keep(embedding, arguments["frequencies"])
        case "keep" if "random" in arguments:
            changed = keep(embedding, draw(stream, len(embedding), arguments["random"]))
        case "keep" if np.isfinite(final).all():
            order = np.argsort(-final, kind="stable")
            changed = keep(embedding, [1 + int(k) for k in order[: arguments["strongest"]]])
        case "keep":
            changed = np.full_like(embedding, np.nan)
        case "freeze":
            changed = embedding  # the trainer leaves it alone
        case _:
            raise NotImplementedError(name)
    return arrays | {"embedding": changed}
