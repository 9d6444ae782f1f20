import numpy as np
from conftest import circle

from circlet.analysis import spectrum


def test_the_plane_of_a_circle_shows_it():
    plane = spectrum.plane(2 * circle(13, 3), 3)
    np.testing.assert_allclose(np.linalg.norm(plane, axis=1), 2, rtol=1e-12)


def test_delta_is_the_inverse_of_the_frequency():
    assert spectrum.delta(3, 59) == 20
    assert spectrum.delta(4, 12) is None
