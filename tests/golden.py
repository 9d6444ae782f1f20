"""Write the golden values of all systems: `python tests/golden.py`, after raising a VERSION."""

import importlib
import json
from pathlib import Path

from circlet.source import SYSTEMS


def rounded(value):
    """Six decimals are more than the tests compare."""
    return [rounded(v) for v in value] if isinstance(value, list) else round(value, 6)


if __name__ == "__main__":
    for system in SYSTEMS:
        values = importlib.import_module(f"test_{system}").golden_values()
        path = Path(__file__).parent / "golden" / f"{system}.json"
        path.write_text(json.dumps({k: rounded(v) for k, v in values.items()}) + "\n")
