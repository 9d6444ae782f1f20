import numpy as np
import pandas as pd
import pytest

from circlet.collections.ding import ode


def planted(steps=400, n=6):
    """Return signals that follow dx/dt = A x + b, and the law."""
    rng = np.random.default_rng(0)
    a = -np.diag(np.linspace(0.005, 0.06, n))  # each with its own rate
    a[0, 1], a[2, 3], a[4, 0] = 0.015, -0.01, 0.012
    law = ode.Fit(a, rng.uniform(0.1, 0.5, n))
    x = np.empty((steps + 1, n))
    x[0] = rng.uniform(5, 60, n)
    for s in range(steps):
        x[s + 1] = x[s] + a @ x[s] + law.intercept
    return law, x


def test_least_squares_recovers_a_planted_law():
    law, x = planted()
    fit = ode.fit(x, "least_squares")
    np.testing.assert_allclose(fit.coefficients, law.coefficients, atol=1e-8)
    np.testing.assert_allclose(fit.intercept, law.intercept, atol=1e-6)
    assert ode.r2(fit, x) == pytest.approx(1)
    assert ode.error(ode.rollout(fit, x[0], 400), x) < 1e-6
    assert fit.nonzero == 1


def test_lasso_is_sparse_and_finds_who_acts_on_whom():
    _, x = planted()
    fit = ode.fit(x, "lasso", alpha=0.001)
    assert fit.converged
    assert fit.nonzero < 0.7
    off = np.abs(fit.coefficients - np.diag(np.diag(fit.coefficients)))
    assert {tuple(place) for place in np.argwhere(off > 0.005)} >= {(0, 1), (4, 0)}


def test_a_quadratic_law_is_recovered_and_predicts_other_runs():
    rng = np.random.default_rng(3)
    x = np.empty((500, 2))
    x[0] = 1.2, 0.7
    for s in range(499):
        prey, predator = x[s]
        x[s + 1] = x[s] + 0.01 * np.array([prey - prey * predator, prey * predator - predator])
    fit = ode.fit(x, "quadratic")
    law = 0.01 * np.array([[1, 0, 0, -1, 0], [0, -1, 0, 1, 0]])
    np.testing.assert_allclose(fit.coefficients, law, atol=1e-8)
    assert not fit.linear
    assert ode.r2(fit, x[rng.integers(300) :]) == pytest.approx(1)


def test_r2_is_that_of_scikit_learn():
    from sklearn.linear_model import LinearRegression

    x = np.random.default_rng(0).normal(size=(60, 4)).cumsum(0)
    model = LinearRegression().fit(x[:-1], np.diff(x, axis=0))
    expected = model.score(x[:-1], np.diff(x, axis=0))
    assert ode.r2(ode.fit(x, "least_squares"), x) == pytest.approx(expected)


def test_analytic_solution_is_equation_4():
    law, x = planted()
    path = ode.analytic(law, x[0], 400)
    values, vectors = np.linalg.eig(law.coefficients)
    exponential = (vectors * np.exp(250 * values)) @ np.linalg.inv(vectors)
    offset = np.linalg.solve(law.coefficients, law.intercept)
    expected = exponential @ x[0] + (exponential - np.eye(6)) @ offset
    np.testing.assert_allclose(path[250], expected.real, rtol=1e-9)


def test_analytic_solution_needs_no_inverse():
    law = ode.Fit(np.array([[0.0, 0.1], [0.0, 0.0]]), np.array([0.0, 2.0]))
    np.testing.assert_allclose(ode.analytic(law, np.zeros(2), 10)[10], [10, 20], rtol=1e-9)


def test_a_rollout_that_is_lost_has_an_infinite_error():
    law = ode.Fit(np.eye(2) * 5, np.zeros(2))
    x = np.ones((1001, 2))
    assert ode.error(ode.rollout(law, x[0], 1000), x) == np.inf


def log(steps, n=3):
    return pd.DataFrame(
        [(s, k, s + k) for s in steps for k in range(1, n + 1)],
        columns=["step", "frequency", "signal"],
    )


def test_only_unbroken_steps_are_fitted():
    assert ode.dense(log([0, 1, 2, 3, 5, 8])).shape == (4, 3)
    assert ode.dense(log(range(1200))).shape == (1001, 3)
    assert not ode.enough(ode.dense(log(range(4))))
    assert ode.enough(ode.dense(log(range(6))))
