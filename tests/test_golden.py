"""Results of short runs of each shipped system, and of interventions, are the stored ones."""

import json

import golden
import numpy as np
import pytest


@pytest.mark.parametrize("name", [*golden.SYSTEMS, "interventions"])
def test_golden_values(name):
    """Rounding is far below 1e-4 in 50 steps."""
    stored, computed = json.loads(golden.path_of(name).read_text()), golden.values_of(name)
    code = stored.pop("code")
    assert computed["version"] == stored["version"], "new version: run `python tests/golden.py`"
    assert computed.keys() == stored.keys()
    for key, values in computed.items():
        said = f"{key} changed: raise the version in the system's file"
        np.testing.assert_allclose(values, stored[key], atol=1e-4, err_msg=said)
    assert golden.code_of(name) == code, (
        "other code, but the same values: run `python tests/golden.py`, and commit what it "
        "writes; if more than rounding changed, raise the version in the system's file"
    )
