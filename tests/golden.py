"""Write the golden values of all systems and of interventions: `python tests/golden.py`.

Run it when a test says so: after a new version of a system, or after an edit of code that leaves
its numbers as they are.
"""

import importlib
import json
import sys
from pathlib import Path

import numpy as np

from circlet.study import declared_systems, fingerprint, registry

TESTS = Path(__file__).parent
SYSTEMS = declared_systems.Systems(registry.SHIPPED)


def path_of(name):
    """File with the golden values of a system, or of interventions."""
    if name not in SYSTEMS:
        return TESTS / "golden" / f"{name}.json"
    return registry.path_of(SYSTEMS[name].module).parents[1] / "golden" / f"{name}.json"


def code_of(name):
    """Return the fingerprint of the code that computes the values."""
    if name in SYSTEMS:
        return fingerprint.of_system(SYSTEMS[name])
    return fingerprint.digest("circlet.study.interventions")


def values_of(name):
    """Compute the golden values of a system, or of interventions, by the function of its tests."""
    [file] = TESTS.rglob(f"test_{name}.py")
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    return importlib.import_module(file.stem).golden_values()


def rounded(value):
    """Round to six decimals, more than the tests compare."""
    return [rounded(v) for v in value] if isinstance(value, list) else round(value, 6)


def same(values, before):
    """Return whether values and version equal the stored ones, up to rounding."""
    return values.keys() == before.keys() and all(
        np.shape(values[k]) == np.shape(before[k]) and np.allclose(values[k], before[k], 0, 1e-5)
        for k in values
    )


if __name__ == "__main__":
    for name in (*SYSTEMS, "interventions"):
        values = {k: rounded(v) for k, v in values_of(name).items()}
        path = path_of(name)
        before = json.loads(path.read_text()) if path.exists() else {}
        before.pop("code", None)
        if same(values, before):  # so that rounding errors never accumulate
            values = before
        path.write_text(json.dumps({"code": code_of(name)} | values) + "\n")
