"""Write the golden values of all systems and of interventions: `python tests/golden.py`.

To be run after raising a VERSION.
"""

import importlib
import json
from pathlib import Path

from circlet.study.declarations import SYSTEMS


def rounded(value):
    """Six decimals are more than the tests compare."""
    return [rounded(v) for v in value] if isinstance(value, list) else round(value, 6)


if __name__ == "__main__":
    for name in (*SYSTEMS, "interventions"):
        values = importlib.import_module(f"test_{name}").golden_values()
        path = Path(__file__).parent / "golden" / f"{name}.json"
        path.write_text(json.dumps({k: rounded(v) for k, v in values.items()}) + "\n")
