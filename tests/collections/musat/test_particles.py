import numpy as np
import pytest
import torch
from conftest import CPU, point_of, trained_logs

from circlet.collections.musat.equations import particles as system
from circlet.collections.musat.systems.particles import SYSTEM
from circlet.study.seeds import Seeds


def test_coinciding_sums_exert_no_infinite_force():
    couplings = system.data(SYSTEM.defaults, [], torch.float64, CPU)
    x = torch.zeros(1, 17, 2, dtype=torch.float64)
    x[0, :, 0] = torch.arange(17)
    assert torch.isfinite(system.forces(x, couplings)).all()


@pytest.mark.parametrize(("scaling", "over"), [("per_coordinate", 0), ("global", None)])
def test_a_start_has_its_mean_and_deviation(scaling, over):
    parameters = SYSTEM.defaults | {"scaling": scaling, "std": 0.4}
    start = system.initial(parameters, Seeds(3, 3, 3, 0))["embedding"]
    np.testing.assert_allclose(start.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(start.std(axis=over), 0.4)


def golden_values():
    """Return values that only a new VERSION may change: short simulations with either scaling."""
    final = {}
    for scaling in ("per_coordinate", "global"):
        settings = {"steps": 40, "dtype": "float64", "parameters": {"scaling": scaling}}
        tables = trained_logs(point_of(system="particles", **settings), [0, 41])
        frame = tables["embeddings"].to_pandas()
        final[scaling] = np.stack(frame[frame["step"] == 40]["vector"]).astype(float).tolist()
    return {"version": SYSTEM.version, **final}
