"""Initial positions and kernel settings of a run of particles."""

from typing import Any

import numpy as np

from circlet import native
from circlet.study.seeds import Seeds


def initial(parameters: dict[str, Any], seeds: Seeds) -> dict[str, np.ndarray]:
    """Positions of one run before the first step, standard normal and then scaled."""
    x = seeds.stream("embedding").normal(size=(parameters["p"], parameters["d"]))
    x = x - x.mean(0)
    scale = x.std(0 if parameters["scaling"] == "per_coordinate" else None)
    return {"embedding": x * (parameters["std"] / scale)}


class Settings(native.Settings):
    """See native/kernels/particles.hpp."""

    maker = "particles"
    _fields_ = (
        *((name, native.WHOLE) for name in ("p", "d")),
        *((name, native.REAL) for name in ("g_a", "g_r", "f_a", "step_size", "std")),
        ("per_coordinate", native.FLAG),
    )


def kernel(parameters: dict[str, Any], seeds: Seeds) -> Settings:
    """The settings of the native kernel for one run; no part of them is random."""
    names = ("p", "d", "g_a", "g_r", "f_a", "step_size", "std")
    return Settings(
        **{name: parameters[name] for name in names},
        per_coordinate=parameters["scaling"] == "per_coordinate",
    )
