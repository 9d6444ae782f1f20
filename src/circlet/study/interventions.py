"""Interventions: transforms of the initial state, most of them of the embedding.

A config names them in ``interventions``, in the order in which they act. `schemas` has the
arguments of each. ``freeze``, which keeps the embedding as it is, and those of
`circlet.training.changes` transform nothing, but act in training.

A collection adds interventions in ``interventions/NAME.py``, which must not import torch:

``ARGUMENTS``
    its arguments by name, as `circlet.systems.spec.Parameter`;
``READS``
    optional: ``parameters`` or ``signals``, the log of another experiment whose last step it reads;
    its argument ``of`` then names that experiment;
``apply(arrays, stream, parent, **arguments)``
    returns the changed arrays of a run, by name, of the same shapes, float64. It draws from
    ``stream``, a numpy generator; ``parent`` has the arrays of the log that it reads, by name.
"""

import importlib
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from circlet.errors import CircletError, ConfigError
from circlet.study import registry
from circlet.systems.spec import Parameter

VERSION = 1  # raised whenever their numbers change; runs with interventions are then made again


def _argument(type: str, description: str, **more: Any) -> dict[str, Any]:
    return {"description": description, "type": type} | more


_SHIPPED: dict[str, dict[str, dict[str, Any]]] = {
    "scale": {
        "frequency": _argument(
            "integer", "The frequency whose Fourier coefficient is multiplied.", minimum=1
        ),
        "factor": _argument("number", "By what it is multiplied.", minimum=0),
    },
    "construct": {
        "ratio": _argument(
            "number",
            "Signal of the second of two random frequencies, as a share of the first one's; all "
            "others are nearly zero.",
            minimum=0,
            maximum=1,
        ),
        "size": _argument(
            "number", "Signal of the first frequency.", exclusiveMinimum=0, default=80.0
        ),
    },
    "keep": {
        "frequencies": _argument(
            "array",
            "The frequencies that are kept; the rest is set to zero.",
            minItems=1,
            uniqueItems=True,
            items={"type": "integer", "minimum": 1},
            default=None,
        ),
        "random": _argument(
            "integer",
            "Keep this number of frequencies, drawn at random for each run.",
            minimum=1,
            default=None,
        ),
        "strongest": _argument(
            "integer",
            "Keep this number of frequencies, those with the strongest final signals in the run of "
            "the same seed and parameters of the experiment `of`.",
            minimum=1,
            default=None,
        ),
        "of": _argument(
            "string", "Name of the experiment that `strongest` looks at.", default=None
        ),
    },
    "freeze": {},
    "warm_up": {
        "steps": _argument(
            "integer",
            "Number of steps in which the learning rate rises linearly from zero to its value.",
            minimum=1,
        )
    },
    "change": {
        "step": _argument(
            "integer",
            "The last step with the settings of `parameters`; up to this step, the run equals one "
            "without `change`.",
            minimum=0,
        ),
        "over": _argument(
            "integer",
            "Number of steps in which the settings change, linearly.",
            minimum=1,
            default=1,
        ),
        "weight_decay": _argument("number", "The later weight decay.", minimum=0, default=None),
        "learning_rate": _argument("number", "The later learning rate.", minimum=0, default=None),
    },
    "clamp": {
        "step": _argument("integer", "The last step without the constraint.", minimum=0),
        "factor": _argument(
            "number",
            "After each later step, all trained weights are multiplied by one number, so that "
            "their norm is this multiple of their norm at `step`.",
            exclusiveMinimum=0,
            default=1.0,
        ),
    },
    "transfer": {
        "of": _argument(
            "string",
            "Name of the experiment from whose last parameters, of the run of the same seed, all "
            "parameters start; the optimiser starts anew.",
        )
    },
}

# Interventions on frequencies, which need the log of signals, and all on the embedding.
SPECTRAL = ("scale", "construct", "keep")
OF_EMBEDDING = (*SPECTRAL, "freeze")
IN_TRAINING = ("freeze", "warm_up", "change", "clamp")
SETTINGS = ("learning_rate", "weight_decay")  # that `change` changes

FLOOR = 1e-6  # signal of the frequencies that `construct` leaves out, as in the released code


def module_of(name: str) -> str:
    """Return the module of a user's intervention; empty if it is circlet's or does not exist."""
    return registry.user_modules("interventions").get(name, "")


def _user_module(name: str) -> ModuleType:
    """Import the module of a user's intervention; raises ConfigError if it is not valid."""
    path = registry.path_of(module_of(name))
    with registry.explained(path):
        user_module = importlib.import_module(module_of(name))
    arguments = getattr(user_module, "ARGUMENTS", None)
    if not isinstance(arguments, dict) or not all(
        isinstance(argument, Parameter) for argument in arguments.values()
    ):
        raise ConfigError(
            f"{path}: must declare ARGUMENTS, a dictionary of circlet.systems.spec.Parameter"
        )
    if "of" in arguments:
        raise ConfigError(f"{path}: ARGUMENTS: 'of' is taken: with READS it names an experiment")
    if not callable(getattr(user_module, "apply", None)):
        raise ConfigError(f"{path}: does not define apply()")
    if getattr(user_module, "READS", "") not in ("", "signals", "parameters"):
        raise ConfigError(f"{path}: READS must be 'signals' or 'parameters'")
    return user_module


def names() -> list[str]:
    """Return the names of all interventions, circlet's and those of users' collections."""
    return [*_SHIPPED, *registry.user_modules("interventions")]


def schemas(name: str) -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of the arguments of an intervention; none if it does not exist."""
    if name in _SHIPPED or not module_of(name):
        return _SHIPPED.get(name, {})
    user_module = _user_module(name)
    declared = {k: a.schema | {"default": a.default} for k, a in user_module.ARGUMENTS.items()}
    if getattr(user_module, "READS", ""):
        text = (
            f"Name of the experiment whose last {user_module.READS} it looks at, of the same seed."
        )
        declared["of"] = {"description": text, "type": "string"}
    return declared


def reads(name: str) -> str:
    """Return the kind of log that an intervention reads from ``of``; empty if none."""
    if module_of(name):
        return getattr(_user_module(name), "READS", "")
    return {"keep": "signals", "transfer": "parameters"}.get(name, "")


def list_interventions(
    interventions: Iterable[Mapping[str, dict[str, Any]]],
) -> list[tuple[str, dict[str, Any]]]:
    """Return the name and the arguments of each intervention that a config lists."""
    return [named for intervention in interventions for named in intervention.items()]


def columns(name: str) -> dict[str, dict[str, Any]]:
    """Return schemas of the columns that an intervention adds to tables, as ``scale_factor``."""
    if not schemas(name):
        text = "whether the embedding stays as it is at step 0"
        if module_of(name):
            text = f"whether the run begins with {name}"
        return {name: {"description": text, "type": "boolean"}}
    return {f"{name}_{argument}": schema for argument, schema in schemas(name).items()}


def is_list_of_values(intervention: str, argument: str, value: Any) -> bool:
    """Return whether an argument is a list of values, each of which makes a separate point."""
    if argument == "of" or not isinstance(value, list):  # `of` names one experiment
        return False
    schema = schemas(intervention).get(argument, {})
    return schema.get("type") != "array" or all(isinstance(v, list) for v in value)


def scale(embedding: np.ndarray, frequency: int, factor: float) -> np.ndarray:
    """Multiply F_k of an embedding (p, d); scaling by 1 / factor takes it back."""
    return embedding + (factor - 1) * keep(embedding, [frequency])


def keep(embedding: np.ndarray, frequencies: list[int]) -> np.ndarray:
    """Keep only some frequencies of an embedding (p, d); the mean is removed, too."""
    coefficients = np.fft.rfft(embedding, axis=0)
    chosen = np.zeros_like(coefficients)
    chosen[frequencies] = coefficients[frequencies]
    return np.fft.irfft(chosen, len(embedding), axis=0)


def construct(
    stream: np.random.Generator, shape: tuple[int, int], ratio: float, size: float
) -> np.ndarray:
    """Return an embedding (p, d) with two random frequencies of signals ``size``, ``ratio * size``.

    Every F_k is a random real direction times its signal, and F_(p-k) the same, so that the
    numbers lie on a line per frequency, not on a circle (arXiv 2405.17420, section 3.2.1;
    details from its released code).
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
    """Draw ``n`` different frequencies of the modulus p."""
    return [1 + int(k) for k in stream.choice((p - 1) // 2, n, replace=False)]


def apply(
    name: str,
    arguments: dict[str, Any],
    arrays: dict[str, np.ndarray],
    stream: np.random.Generator,
    parent: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Return the arrays of a run after one intervention, which draws from ``stream``.

    Arrays are by name, float64; ``embedding`` is (p, d). ``parent`` has what the intervention reads
    from the end of another run: ``signals``, ((p-1)//2,), or the arrays of a transfer. If these are
    not finite, the result is not finite either, and the run cannot be made.
    """
    if module := module_of(name):
        keywords = {key: value for key, value in arguments.items() if key != "of"}
        copies = {key: values.copy() for key, values in arrays.items()}
        return _alike(arrays, _user_module(name).apply(copies, stream, parent, **keywords), module)
    if name in IN_TRAINING:  # the trainer applies it
        return arrays
    if name == "transfer":
        return {key: parent[key].astype(float) for key in arrays}
    embedding, final = arrays["embedding"], parent.get("signals", np.array([np.nan]))
    match name:
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
        case _:
            raise NotImplementedError(name)
    return arrays | {"embedding": changed}


def _alike(arrays: dict[str, np.ndarray], changed: Any, module: str) -> dict[str, np.ndarray]:
    """Return a user's changed arrays as floats; raises CircletError if names or shapes differ."""
    shapes = {key: values.shape for key, values in arrays.items()}
    changed_shapes = (
        {key: np.shape(values) for key, values in changed.items()} if changed else changed
    )
    if changed_shapes != shapes:
        raise CircletError(
            f"{registry.path_of(module)}: apply() must return the arrays that it gets, of the same "
            f"shapes {shapes}, not {changed_shapes}"
        )
    return {key: np.asarray(changed[key], dtype=float) for key in arrays}
