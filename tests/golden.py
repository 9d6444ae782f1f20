"""Write the golden values of all systems: `python tests/golden.py`, after raising a VERSION."""

import json
from pathlib import Path

import test_constant_attention
import test_particles

if __name__ == "__main__":
    for module in (test_constant_attention, test_particles):
        name = module.__name__.removeprefix("test_")
        path = Path(__file__).parent / "golden" / f"{name}.json"
        path.write_text(json.dumps(module.golden_values(), indent=1) + "\n")
