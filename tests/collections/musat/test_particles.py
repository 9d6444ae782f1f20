import numpy as np
import pytest
import torch
from conftest import config

from circlet.collections.musat.equations import particles as system
from circlet.collections.musat.systems.particles import SYSTEM
from circlet.study import planning
from circlet.study.seeds import Seeds
from circlet.training import run

CPU = torch.device("cpu")


def point(**changes):
    return planning.plan(config(system="particles", dtype="float64", **changes)).points[0]


def test_coinciding_sums_exert_no_infinite_force():
    couplings = system.data(point().parameters, [], torch.float64, CPU)
    x = torch.zeros(1, 17, 2, dtype=torch.float64)
    x[0, :, 0] = torch.arange(17)
    assert torch.isfinite(system.forces(x, couplings)).all()


@pytest.mark.parametrize(("scaling", "over"), [("per_coordinate", 0), ("global", None)])
def test_a_start_has_its_mean_and_deviation(scaling, over):
    parameters = point(parameters={"scaling": scaling, "std": 0.4}).parameters
    start = system.initial(parameters, Seeds(3, 3, 3, 0))["embedding"]
    np.testing.assert_allclose(start.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(start.std(axis=over), 0.4)


def golden_values():
    """Return values that only a new VERSION may change: short simulations with either scaling."""
    final = {}
    for scaling in ("per_coordinate", "global"):
        tables = run.run(point(steps=40, parameters={"scaling": scaling}), [0, 41], CPU)
        frame = tables["embeddings"].to_pandas()
        final[scaling] = np.stack(frame[frame["step"] == 40]["vector"]).astype(float).tolist()
    return {"version": SYSTEM.version, **final}
