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
    return planning.plan(config("results", system="particles", dtype="float64", **changes)).points[
        0
    ]


def test_kinds_of_couples_weigh_the_same():
    couplings = system.data(point().parameters, [], torch.float64, CPU)
    assert (couplings.attraction > 0).sum() == 1224
    assert (couplings.repulsion > 0).sum() == 22032
    assert couplings.repulsion.max() == pytest.approx(1 / 18)
    assert couplings.alignment.sum() == pytest.approx(0, abs=1e-9)


def test_coinciding_sums_exert_no_infinite_force():
    couplings = system.data(point().parameters, [], torch.float64, CPU)
    x = torch.zeros(1, 17, 2, dtype=torch.float64)
    x[0, :, 0] = torch.arange(17)
    assert torch.isfinite(system.forces(x, couplings)).all()


@pytest.mark.parametrize("scaling", ["per_coordinate", "global"])
def test_every_step_restores_mean_and_deviation(scaling):
    parameters = point(parameters={"scaling": scaling, "std": 0.4}).parameters
    start = np.stack([system.initial(parameters, Seeds(s, s, s, 0))["embedding"] for s in range(3)])
    state = {"embedding": torch.tensor(start)}
    couplings = system.data(parameters, [], torch.float64, CPU)
    over = (1,) if scaling == "per_coordinate" else (1, 2)
    for _ in range(3):
        x = state["embedding"].numpy()
        np.testing.assert_allclose(x.mean(1), 0, atol=1e-12)
        np.testing.assert_allclose(x.std(axis=over), 0.4)
        system.step(state, couplings)
    assert np.abs(state["embedding"].numpy() - start).max() > 1e-3


def golden_values():
    """Return values that only a new VERSION may change: short simulations with either scaling."""
    final = {}
    for scaling in ("per_coordinate", "global"):
        tables = run.run(point(steps=40, parameters={"scaling": scaling}), [0, 41], CPU)
        frame = tables["embeddings"].to_pandas()
        final[scaling] = np.stack(frame[frame["step"] == 40]["vector"]).astype(float).tolist()
    return {"version": SYSTEM.version, **final}
