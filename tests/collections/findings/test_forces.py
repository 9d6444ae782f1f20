import numpy as np
import pytest
import torch
from conftest import CPU

from circlet.collections.findings import forces
from circlet.collections.musat.equations import particles

STRENGTHS = {"g_a": 2.0, "g_r": 0.5, "f_a": 3.0}  # of attraction, repulsion, alignment


def cloud(p=17, d=2, seed=0):
    stream = np.random.default_rng(seed)
    return forces.placed(torch.tensor(stream.normal(size=(p, d))))


def mixed(positions):
    """Return the weighted sum of the unit forces at some positions."""
    unit = forces.unit_forces(positions, forces.labellings(len(positions), 0))[0]
    return torch.einsum("f,fpd->pd", torch.tensor([*STRENGTHS.values()], dtype=torch.float64), unit)


@pytest.mark.parametrize(("p", "d"), [(17, 2), (17, 3), (8, 2)])
def test_the_weighted_unit_forces_are_the_force_of_the_particle_model(p, d):
    parameters = STRENGTHS | {"p": p, "step_size": 1, "std": 0.5, "scaling": "global"}
    couplings = particles.data(parameters, [], torch.float64, CPU)
    expected = particles.forces(cloud(p, d)[None], couplings)[0]
    torch.testing.assert_close(mixed(cloud(p, d)), expected, rtol=1e-9, atol=1e-9)


def test_sums_that_coincide_exert_no_force():
    positions = torch.zeros(5, 2, dtype=torch.float64)
    unit = forces.unit_forces(positions, forces.labellings(5, 2))
    assert torch.equal(unit, torch.zeros(3, 3, 5, 2, dtype=torch.float64))


def test_relabelled_forces_are_those_of_particles_in_another_order():
    positions, labels = cloud(), forces.labellings(17, 3)
    alone = [forces.unit_forces(positions[x], forces.labellings(17, 0))[0] for x in labels]
    torch.testing.assert_close(forces.unit_forces(positions, labels), torch.stack(alone))


def test_the_projection_removes_shift_and_scale_and_nothing_else():
    positions, other = cloud(d=3), cloud(d=3, seed=1)
    radial = positions * torch.tensor([2.0, -1.0, 0.5]) + torch.tensor([1.0, 0.0, 7.0])
    assert forces.projected(radial, positions).abs().max() < 1e-12
    left = forces.projected(other, positions)
    torch.testing.assert_close(forces.projected(left + radial, positions), left)
    assert left.sum(0).abs().max() < 1e-12 and (left * positions).sum(0).abs().max() < 1e-12
    assert left.norm() > 0.5 * other.norm()


def test_a_network_is_put_where_particles_are():
    placed = forces.placed(3 * cloud(d=4) + 5)
    assert placed.mean(0).abs().max() < 1e-12
    assert float(placed.square().mean()) == pytest.approx(0.25)
    torch.testing.assert_close(placed, cloud(d=4))


def test_planted_strengths_are_recovered_and_those_of_other_labels_are_not():
    positions = cloud()
    direction = mixed(positions) + 10 * positions + 3
    fits = forces.fits(direction[None], positions, forces.labellings(17, 40))
    size = forces.projected(direction, positions).norm()
    np.testing.assert_allclose(size * fits.coefficient[0, 0], [*STRENGTHS.values()])
    assert float(fits.r2[0, 0]) == pytest.approx(1)
    assert (fits.r2[0, 1:] < 0.8).all()
    assert abs(size * fits.coefficient[0, 1:, 2].mean()) < 1 < STRENGTHS["f_a"]


def test_a_direction_that_knows_nothing_of_forces_is_not_explained():
    """Three forces explain 3 of the 30 dimensions that remain of 17 points in the plane."""
    stream = np.random.default_rng(0)
    directions = torch.tensor(stream.normal(size=(400, 17, 2)))
    fits = forces.fits(directions, cloud(), forces.labellings(17, 1))
    assert float(fits.r2.mean()) == pytest.approx(0.1, abs=0.01)
    assert fits.cosine.mean((0, 1)).abs().max() < 0.03


def test_a_fit_is_a_regression_on_the_forces():
    stream = np.random.default_rng(0)
    y, x = stream.normal(size=30), stream.normal(size=(3, 30))
    fit = forces.fit(torch.tensor(y), torch.tensor(x))
    left = y - x.T @ np.linalg.lstsq(x.T, y)[0]
    assert float(fit.r2) == pytest.approx(1 - left @ left / (y @ y))
    expected = np.linalg.lstsq(x.T, y / np.linalg.norm(y))[0]
    np.testing.assert_allclose(fit.coefficient, expected)
